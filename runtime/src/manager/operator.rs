//! The life of an operator: start in order, wait, stop in order.

use std::{convert::Infallible, future::pending, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    Error,
    args::ManagerArgs,
    connect::{self, Cluster},
    debug_page::DebugPage,
    identity,
    leader::{Candidacy, Elector, LeaseLock, Timing},
    lifecycle::{End, Work},
    metrics::{Metrics, Queue},
    runnable_group::Stages,
    servers::{Readiness, Servers, health_handler},
    suggest::did_you_mean,
    task_group::Group,
};
use crate::{
    ApiResource,
    cache::SharedInformerFactory,
    client::{Connection, ConnectionSlot, Fence},
    controller::{ControllerRunner, HealthCheck, Runnable, Setup},
    events::{EventWriter, Recorder},
    workqueue::WorkQueue,
};

/// Where the connection comes from.
pub(super) enum Source {
    Flags,
    Config(Box<kube::Config>),
    Client(kube::Client),
}

/// An operator that was registered and is to be run.
pub(super) struct Operator {
    name: String,
    args: ManagerArgs,
    source: Source,
    product: String,
    slot: ConnectionSlot,
    connection: Connection,
    fence: Fence,
    timing: Timing,
    informers: SharedInformerFactory,
    events: EventWriter,
    metrics: Metrics,
    controllers: Vec<ControllerRunner>,
    /// Which kinds each controller looks at.
    kinds: Vec<(String, Vec<ApiResource>)>,
    /// Name, workers and queue of each.
    queues: Vec<(String, usize, Arc<WorkQueue>)>,
    health_checks: Vec<HealthCheck>,
    runnables: Vec<Runnable>,
}

impl Operator {
    /// Checks what was registered against the flags. `product` begins the user agent.
    pub(super) fn new(
        mut setup: Setup,
        (slot, fence): (ConnectionSlot, Fence),
        (recorder, events): (Recorder, EventWriter),
        source: Source,
        product: &str,
        args: ManagerArgs,
    ) -> Result<Self, Error> {
        let timing = args.election_timing().map_err(Error::LeaderElection)?;
        let errors = setup.errors();
        if !errors.is_empty() {
            return Err(Error::Registration(errors));
        }
        let names: Vec<String> = setup
            .controllers()
            .iter()
            .map(|spec| spec.name().to_owned())
            .collect();
        let chosen = args.chosen_controllers();
        if let Some(name) = chosen.iter().find(|name| !names.contains(name)) {
            let hint = match did_you_mean(name, names.iter().map(String::as_str)) {
                Some(near) => format!(": did you mean {near:?}?"),
                None => format!("; there are {}", names.join(", ")),
            };
            return Err(Error::NoSuchController {
                name: name.clone(),
                hint,
            });
        }
        let informers = setup.informers().clone();
        informers.set_namespaces(args.watched_namespaces());
        let mut metrics = Metrics::new(setup.operator(), informers.clone(), recorder);
        metrics.count_requests(slot.request_metrics());
        if let Some(applies) = setup.connection().apply_cache() {
            metrics.count_skipped_applies(applies);
        }
        setup
            .connection()
            .rate_limit()
            .set(args.kube_api_qps, args.kube_api_burst);
        let (mut controllers, mut kinds, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for spec in setup.take_controllers() {
            if chosen.is_empty() || chosen.iter().any(|name| name == spec.name()) {
                let (name, workers) = (spec.name().to_owned(), spec.worker_count());
                let counters = metrics.controller(&name, workers);
                let looks_at = spec
                    .primary()
                    .into_iter()
                    .chain(spec.owned())
                    .chain(spec.watched());
                kinds.push((name.clone(), looks_at.cloned().collect()));
                let runner = ControllerRunner::new(spec, counters)
                    .map_err(|error| Error::Registration(vec![error]))?;
                queues.push((name, workers, runner.queue().clone()));
                controllers.push(runner);
            } else {
                info!(controller = spec.name(), "switched off by --controllers");
            }
        }
        metrics.observe_queues(
            queues
                .iter()
                .cloned()
                .map(|(name, _, queue)| {
                    let read: Queue = Box::new(move || queue.stats());
                    (name, read)
                })
                .collect(),
        );
        Ok(Self {
            name: setup.operator().to_owned(),
            // Every replica says what happens to it.
            connection: setup.connection().unfenced(),
            fence,
            timing,
            runnables: setup.take_runnables(),
            health_checks: setup.take_health_checks(),
            kinds,
            queues,
            events,
            product: product.to_owned(),
            args,
            source,
            slot,
            informers,
            metrics,
            controllers,
        })
    }

    /// Runs until `stop`, or until something fails. Whatever happens, all that was started has ended when this returns.
    pub(super) async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let Connected {
            connection,
            address,
            in_cluster,
        } = self.source.connect(&self.args, &self.product).await?;
        self.slot.connect(&connection);
        let client = connection.kube_client();
        let elector = self.args.leader_elect.unwrap_or(in_cluster).then(|| {
            let flag = self.args.leader_election_namespace.as_deref();
            let namespace = identity::leader_namespace(flag, client.default_namespace());
            let lock = LeaseLock::new(client.clone(), &namespace, &self.name);
            Elector::new(lock, identity::identity(), self.timing, self.fence)
        });

        let readiness: Readiness = Arc::new(Mutex::new(Some("starting")));
        let grace = self.args.grace_period;
        let leading = self.metrics.leading();
        let mut servers = Servers::default();
        let health = health_handler(&readiness, &self.informers, self.kinds, self.health_checks);
        let page = DebugPage {
            operator: self.name,
            started: Instant::now(),
            readiness: readiness.clone(),
            leading: elector.is_some().then(|| leading.clone()),
            informers: self.informers.clone(),
            controllers: self.queues,
        };
        let (metrics, wanted) = (self.metrics.into_handler(), self.args.debug_page);
        let metrics = |address: SocketAddr| {
            if wanted.unwrap_or(address.ip().is_loopback()) {
                page.before(metrics)
            } else {
                metrics
            }
        };
        let served = async {
            servers
                .start(
                    "health checks",
                    self.args.health_bind_address,
                    in_cluster,
                    8081,
                    |_| health,
                )
                .await?;
            servers
                .start(
                    "metrics",
                    self.args.metrics_bind_address,
                    in_cluster,
                    8080,
                    metrics,
                )
                .await
        };
        if let Err(error) = served.await {
            servers.stop().await;
            return Err(error);
        }
        let (mut events, flush) = (Group::default(), CancellationToken::new());
        let (writer, connection, flushed) = (
            self.events.flush_within(grace / 10),
            self.connection,
            flush.clone(),
        );
        events.spawn("events", async move {
            writer.run(connection, flushed).await;
            Ok(())
        });

        let mut work = Work {
            stop,
            ..Work::default()
        };
        let life = Life {
            client,
            address,
            informers: &self.informers,
            readiness: &readiness,
            elector,
            leading,
            runnables: self.runnables,
            controllers: self.controllers,
        };
        let Err(end) = life.live(&mut work).await;

        *readiness.lock() = Some("stopping");
        let result = work.stop_all(end, grace).await;
        flush.cancel();
        events.drain(Instant::now() + grace / 5).await;
        self.informers.shutdown().await;
        if let Some(candidacy) = work.candidacy.take()
            && timeout(grace / 10, candidacy.give_up()).await.is_err()
        {
            warn!("the leader lease was not given back in time and must expire");
        }
        servers.stop().await;
        info!("stopped");
        result
    }
}

/// A client, and where it goes.
struct Connected {
    connection: Connection,
    /// The API server's, where it is known.
    address: Option<String>,
    /// Whether that is the cluster that the operator runs in.
    in_cluster: bool,
}

impl Source {
    async fn connect(self, args: &ManagerArgs, product: &str) -> Result<Connected, Error> {
        let Cluster { config, in_cluster } = match self {
            Self::Client(client) => {
                return Ok(Connected {
                    connection: Connection::new(client),
                    address: None,
                    in_cluster: false,
                });
            }
            Self::Config(config) => Cluster {
                config: *config,
                in_cluster: false,
            },
            Self::Flags => connect::configure(args.kubeconfig.as_deref(), args.context.as_deref()).await?,
        };
        Ok(Connected {
            address: Some(config.cluster_url.to_string()),
            connection: Connection::connect(config, product)?,
            in_cluster,
        })
    }
}

/// What is started, in the order in which it is.
struct Life<'a> {
    client: kube::Client,
    address: Option<String>,
    informers: &'a SharedInformerFactory,
    readiness: &'a Readiness,
    elector: Option<Elector>,
    leading: Gauge,
    runnables: Vec<Runnable>,
    controllers: Vec<ControllerRunner>,
}

impl Life<'_> {
    async fn live(self, work: &mut Work) -> Result<Infallible, End> {
        work.meanwhile(connect::wait_for_api_server(
            &self.client,
            self.address.as_deref(),
        ))
        .await?;
        *self.readiness.lock() = Some("waiting for the first lists");
        self.informers.start();
        work.meanwhile(self.informers.wait_for_cache_sync()).await?;
        *self.readiness.lock() = None;
        info!("caches are filled");

        let mut groups: Vec<String> = Vec::new();
        for group in self.runnables.iter().filter_map(Runnable::group_name) {
            if !groups.iter().any(|known| known == group) {
                groups.push(group.to_owned());
            }
        }
        let (leader_only, everywhere): (Vec<_>, Vec<_>) =
            self.runnables.into_iter().partition(Runnable::is_leader_only);
        work.leaders = Stages::new(leader_only, &groups, &work.cancel);
        work.everywhere = Stages::new(everywhere, &groups, &work.cancel);
        work.everywhere.start_loose();
        work.start_groups(|work| &mut work.everywhere).await?;
        if let Some(elector) = self.elector {
            work.candidacy = Some(Candidacy::start(elector, self.leading));
            work.until_leading().await?;
        }
        // What was written while this replica looked on, or while it listed from a cache of the API server's, is waited for.
        work.meanwhile(self.informers.wait_until_current()).await?;
        work.leaders.start_loose();
        work.start_groups(|work| &mut work.leaders).await?;
        work.until_loose_ones_stand().await?;
        for runner in self.controllers {
            let (stop, kill) = (work.cancel.clone(), work.kill.clone());
            let name = runner.name().to_owned();
            work.controllers.spawn(name, async move {
                let drained = runner.run_until(stop, kill.cancelled_owned()).await;
                if drained.cancelled.is_empty() {
                    return Ok(());
                }
                let keys: Vec<String> = drained.cancelled.iter().map(ToString::to_string).collect();
                Err(keys.join(", "))
            });
        }
        work.meanwhile(pending()).await
    }
}

#[cfg(test)]
#[path = "operator_tests/mod.rs"]
mod tests;
