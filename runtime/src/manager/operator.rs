//! Runs an operator: starts its parts in order, waits, stops them in order.

use std::{convert::Infallible, future::pending, net::SocketAddr, sync::Arc};

use futures::FutureExt as _;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use rustls::server::ResolvesServerCert;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    Error,
    address::BindAddress,
    args::ManagerArgs,
    component::{RunningComponent, connect_components},
    connection_source::{ConnectedClient, ConnectionSource},
    debug_page::DebugPage,
    health_and_metrics::HealthAndMetrics,
    identity, kubeconfig,
    leader::{ElectionTiming, Elector, ElectorHandle, LeaseLock},
    lifecycle::{OperatorTasks, StopReason},
    metrics::{Metrics, QueueStatsReader},
    runnable_group::RunnableGroups,
    served_webhooks::{ServedWebhooks, WebhookCertificate},
    servers::{HealthSources, ManagerServers, NotReadyReason},
    task_group::TaskGroup,
};
use crate::{
    ApiResource, Clock,
    cache::{InformerHandle, SharedInformerFactory},
    client::{Connection, Fence},
    controller::{ControllerRunner, HealthCheck, RegisteredComponents, Runnable, Setup},
    did_you_mean::did_you_mean,
    events::{EventWriter, Recorder},
    webhooks::{
        add_conversion,
        certificates::{ServerNames, client_verifier},
        router::Routes,
        server::ServerTls,
    },
    workqueue::WorkQueue,
};

/// A registered operator, ready to run.
pub(super) struct Operator {
    name: String,
    args: ManagerArgs,
    source: ConnectionSource,
    /// For the servers of health checks and metrics; none: plain HTTP.
    tls: Option<TlsAcceptor>,
    webhooks: ServedWebhooks,
    clock: Clock,
    user_agent: String,
    connection: Connection,
    fence: Fence,
    election_timing: ElectionTiming,
    informers: SharedInformerFactory,
    events: EventWriter,
    metrics: Metrics,
    /// Each with the index of its component.
    controllers: Vec<(Option<usize>, ControllerRunner)>,
    components: RegisteredComponents,
    /// The kinds that each controller reconciles, owns and watches.
    controller_kinds: Vec<(String, Vec<ApiResource>)>,
    /// Name, worker count and queue of each controller.
    queues: Vec<(String, usize, Arc<WorkQueue>)>,
    health_checks: Vec<HealthCheck>,
    runnables: Vec<Runnable>,
}

/// How long the informers may take to end: a call of a handler ends as usual.
const INFORMERS_TIMEOUT: Duration = Duration::from_secs(2);
/// Webhooks answer for this part of the grace period after the request to stop.
const REVIEWS_AFTER_STOP: u32 = 10;

impl Operator {
    /// Checks the registration against the flags. `user_agent` is the beginning of the User-Agent header.
    pub(super) fn new(
        mut setup: Setup,
        fence: Fence,
        (recorder, events): (Recorder, EventWriter),
        source: ConnectionSource,
        user_agent: &str,
        args: ManagerArgs,
    ) -> Result<Self, Error> {
        let election_timing = args.election_timing().map_err(Error::LeaderElection)?;
        let errors = setup.errors();
        if !errors.is_empty() {
            return Err(Error::Registration(errors));
        }
        let names: Vec<String> = setup
            .controllers()
            .iter()
            .map(|controller| controller.name().to_owned())
            .collect();
        let selected = args.selected_controllers();
        if let Some(name) = selected.iter().find(|name| !names.contains(name)) {
            let hint = match did_you_mean(name, names.iter().map(String::as_str)) {
                Some(similar) => format!(": did you mean {similar:?}?"),
                None => format!("; the controllers are {}", names.join(", ")),
            };
            return Err(Error::NoSuchController {
                name: name.clone(),
                hint,
            });
        }
        let informers = setup.informers().clone();
        informers.set_namespaces(args.watched_namespaces());
        let mut metrics = Metrics::new(setup.operator(), informers.clone(), recorder);
        if let Some(requests) = setup.connection().request_metrics() {
            metrics.count_requests(requests);
        }
        if let Some(applies) = setup.connection().apply_cache() {
            metrics.count_skipped_applies(applies);
        }
        let webhooks = ServedWebhooks::take(&mut setup, &mut metrics)?;
        metrics
            .add_operator(setup.take_metrics())
            .map_err(Error::Registration)?;
        setup
            .connection()
            .rate_limit()
            .set(args.kube_api_qps, args.kube_api_burst);
        let taken_controllers = setup.take_controllers();
        let components = setup.take_components();
        for component in &components.all {
            let limit = component.connection.rate_limit();
            limit.set(args.kube_api_qps, args.kube_api_burst);
        }
        let (mut controllers, mut controller_kinds, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for controller in taken_controllers {
            if selected.is_empty() || selected.iter().any(|name| name == controller.name()) {
                let (name, workers) = (controller.name().to_owned(), controller.worker_count());
                let counters = metrics.controller(&name, workers);
                let kinds = controller
                    .primary()
                    .into_iter()
                    .chain(controller.owned())
                    .chain(controller.watched());
                controller_kinds.push((name.clone(), kinds.cloned().collect()));
                let component = controller.component();
                let runner = ControllerRunner::standby(controller, counters)
                    .map_err(|error| Error::Registration(vec![error]))?;
                queues.push((name, workers, runner.queue().clone()));
                controllers.push((component, runner));
            } else {
                info!(
                    controller = controller.name(),
                    "controller disabled by --controllers"
                );
            }
        }
        metrics.observe_queues(
            queues
                .iter()
                .cloned()
                .map(|(name, _, queue)| {
                    let read: QueueStatsReader = Box::new(move || queue.stats());
                    (name, read)
                })
                .collect(),
        );
        Ok(Self {
            name: setup.operator().to_owned(),
            // Every replica writes events, not only the leader.
            connection: setup.connection().unfenced(),
            fence,
            election_timing,
            runnables: setup.take_runnables(),
            health_checks: setup.take_health_checks(),
            controller_kinds,
            queues,
            events,
            user_agent: user_agent.to_owned(),
            args,
            source,
            tls: None,
            webhooks,
            clock: setup.clock(),
            informers,
            metrics,
            controllers,
            components,
        })
    }

    /// Serves health checks and metrics over TLS.
    pub(super) fn with_tls(self, tls: Option<TlsAcceptor>) -> Self {
        Self { tls, ..self }
    }

    /// Serves webhooks with this certificate, if there is one.
    pub(super) fn with_webhook_certificate(
        mut self,
        certificate: Option<Arc<dyn ResolvesServerCert>>,
    ) -> Self {
        if let Some(certificate) = certificate {
            self.webhooks.certificate = WebhookCertificate::Given(certificate);
        }
        self
    }

    #[expect(clippy::too_many_lines, reason = "the order of start and stop in one place")]
    /// Runs until `stop`, or until something fails. All started tasks have ended when this returns.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), Error> {
        let ConnectedClient {
            connection,
            config,
            address,
            in_cluster,
        } = self.source.connect(&self.args, &self.user_agent).await?;
        self.connection.connect_to(&connection);
        connect_components(&self.components, &connection, config.as_ref(), &self.user_agent)?;
        let components = self.components.all.into_iter();
        let components: Vec<_> = components
            .map(|component| RunningComponent::new(component, &self.informers))
            .collect();
        let client = connection.kube_client();
        let elector = self.args.leader_elect.unwrap_or(in_cluster).then(|| {
            let flag = self.args.leader_election_namespace.as_deref();
            let namespace = identity::operator_namespace(flag, client.default_namespace());
            let lock = LeaseLock::new(connection.lease_client(), &namespace, &self.name);
            Elector::new(lock, identity::identity(), self.election_timing, self.fence)
        });

        if in_cluster && elector.is_none() {
            warn!(
                "leader election is off: run one replica only, with the Deployment's strategy Recreate; two would both write"
            );
        }

        let not_ready: NotReadyReason = Arc::new(Mutex::new(Some("starting")));
        let grace = self.args.grace_period;
        let leading = self.metrics.leading();
        let health_and_metrics = HealthAndMetrics::new(&self.args, in_cluster, self.tls);
        let mut servers = ManagerServers::default();
        // Webhooks are served before the caches sync, which may wait for them.
        let has_webhooks = self.webhooks.exist && self.args.webhook_bind_address != Some(BindAddress::Off);
        if has_webhooks {
            let folder = self.args.webhook_cert_dir.as_deref();
            let keeper = self.webhooks.take_configuration_keeper(folder);
            self.runnables.extend(keeper);
        }
        let not_synced = if has_webhooks {
            Arc::new(Mutex::new(Some("starting")))
        } else {
            not_ready.clone()
        };
        let health = HealthSources {
            not_ready: not_ready.clone(),
            not_synced: not_synced.clone(),
            has_webhooks,
            informers: self.informers.clone(),
            controllers: self.controller_kinds,
            components: components.clone(),
            users: self.health_checks,
        };
        let health = health.handler();
        let operator = self.name;
        let page = DebugPage {
            operator: operator.clone(),
            started: Instant::now(),
            not_ready: not_ready.clone(),
            leading: elector.is_some().then(|| leading.clone()),
            informers: self.informers.clone(),
            controllers: self.queues,
        };
        let (metrics, debug_page) = (self.metrics.into_handler(), self.args.debug_page);
        let metrics = |address: SocketAddr| {
            if debug_page.unwrap_or(address.ip().is_loopback()) {
                page.before(metrics)
            } else {
                metrics
            }
        };
        let webhooks = &self.webhooks.webhooks;
        let mut routes = Routes::default();
        let converters = self.webhooks.converters;
        webhooks.add_to(&mut routes, &self.informers, &converters, |index| {
            let (all, own) = (webhooks.synced.clone(), components[index].synced());
            // An informer that has not started yet would count as synced.
            async move {
                all.cancelled().await;
                own.await;
            }
            .boxed()
            .shared()
        });
        add_conversion(&mut routes, converters, &webhooks.metrics);
        let namespace = identity::operator_namespace(None, client.default_namespace());
        let (name, folder, clock) = (
            (&*operator, &*namespace),
            self.args.webhook_cert_dir,
            self.clock.clone(),
        );
        let (certificate, keeper) =
            self.webhooks
                .certificate
                .resolver(name, &self.connection, in_cluster, self.clock, folder);
        let client_ca = self.args.webhook_client_ca_file;
        let started = async {
            if self.webhooks.exist {
                let address = self.args.webhook_bind_address;
                let clients = client_verifier(client_ca.as_deref()).map_err(Error::Tls)?;
                let tls = ServerTls { certificate, clients };
                servers.start_webhooks(address, in_cluster, tls, routes).await?;
            }
            let names = ServerNames::of_service(&format!("{operator}-metrics"), &namespace);
            let certificate = (names.with_loopback(), clock);
            health_and_metrics
                .start(&mut servers, &self.connection, certificate, health, metrics)
                .await
        };
        if let Err(error) = started.await {
            servers.stop().await;
            return Err(error);
        }
        if has_webhooks {
            match keeper {
                Some(keeper) => servers.keep_certificate(keeper, not_ready.clone()),
                None => *not_ready.lock() = None,
            }
        }
        let (mut events, flush) = (TaskGroup::default(), CancellationToken::new());
        let (writer, connection, flushed) = (
            self.events.flush_within(grace / 10),
            self.connection,
            flush.clone(),
        );
        events.spawn("events", async move {
            writer.run(connection, flushed).await;
            Ok(())
        });

        let mut tasks = OperatorTasks {
            stop,
            informers: Some(self.informers.clone()),
            ..OperatorTasks::default()
        };
        // API servers keep sending reviews until the endpoint is removed and their idle connections close.
        let has_other_replicas = elector.is_some();
        let start = StartSequence {
            client,
            address,
            informers: &self.informers,
            not_synced: &not_synced,
            synced: &self.webhooks.webhooks.synced,
            elector,
            leading,
            runnables: self.runnables,
            controllers: self.controllers,
            components,
            other_informers: self.components.other_informers,
        };
        let Err(stop_reason) = start.run(&mut tasks).await;

        *not_ready.lock() = Some("stopping");
        servers.drain();
        let last_review = Instant::now() + grace / REVIEWS_AFTER_STOP;
        let is_requested = matches!(stop_reason, StopReason::Requested);
        let result = tasks.stop_all(stop_reason, grace).await;
        flush.cancel();
        events.drain(Instant::now() + grace / 5).await;
        if let Some(elector) = tasks.elector.take()
            && timeout(grace / 10, elector.release()).await.is_err()
        {
            warn!("releasing the leader lease timed out: other replicas wait until it expires");
        }
        if has_webhooks && has_other_replicas && is_requested {
            sleep_until(last_review).await;
        }
        // Validators may read the caches until here.
        let informers_ended = timeout(INFORMERS_TIMEOUT, self.informers.shutdown()).await;
        servers.stop().await;
        if informers_ended.is_err() {
            let parts = vec!["an event handler, which blocks its thread".to_owned()];
            error!("the informers did not end: {}", parts[0]);
            return result.and(Err(Error::GracePeriod { period: grace, parts }));
        }
        info!("stopped");
        result
    }
}

/// The parts of an operator that [`run`](Self::run) starts in order.
struct StartSequence<'a> {
    client: kube::Client,
    address: Option<String>,
    informers: &'a SharedInformerFactory,
    not_synced: &'a NotReadyReason,
    /// Cancelled when the caches have synced.
    synced: &'a CancellationToken,
    elector: Option<Elector>,
    leading: Gauge,
    runnables: Vec<Runnable>,
    controllers: Vec<(Option<usize>, ControllerRunner)>,
    components: Vec<RunningComponent>,
    /// The informers that were asked for outside of components.
    other_informers: Vec<InformerHandle>,
}

impl StartSequence<'_> {
    /// Returns the informers that not only components asked for.
    fn informers_without_components(&self) -> Vec<InformerHandle> {
        let all = self.informers.progress().into_iter();
        let is_of_components_only = |informer: &InformerHandle| {
            let mut informers = self.components.iter().flat_map(|component| &*component.informers);
            informers.any(|other| other.is_same(informer))
                && !self.other_informers.iter().any(|other| other.is_same(informer))
        };
        all.filter(|informer| !is_of_components_only(informer)).collect()
    }

    /// Starts everything, then waits; returns why the operator must stop.
    async fn run(self, tasks: &mut OperatorTasks) -> Result<Infallible, StopReason> {
        tasks
            .unless_stopped(kubeconfig::wait_for_api_server(
                &self.client,
                self.address.as_deref(),
            ))
            .await?;
        *self.not_synced.lock() = Some("waiting for cache sync");
        if self.elector.is_none() {
            // The first lists are enqueued as they arrive, which takes less than to read them from the caches later.
            for (_, runner) in &self.controllers {
                runner.start_enqueueing();
            }
        }
        self.informers.start();
        let own = self.informers_without_components();
        tasks
            .unless_stopped(self.informers.wait_for_cache_sync_of(&own))
            .await?;
        *self.not_synced.lock() = None;
        self.synced.cancel();
        info!("caches are synced");

        let mut groups: Vec<String> = Vec::new();
        for group in self.runnables.iter().filter_map(Runnable::group_name) {
            if !groups.iter().any(|known| known == group) {
                groups.push(group.to_owned());
            }
        }
        let components = &self.components;
        let runnables = self
            .runnables
            .into_iter()
            .map(|runnable| match runnable.component {
                Some(index) => components[index].wrap(runnable),
                None => runnable,
            });
        let (leader_only, every_replica): (Vec<_>, Vec<_>) = runnables.partition(Runnable::is_leader_only);
        tasks.leader_only = RunnableGroups::new(leader_only, &groups, &tasks.stop_work);
        tasks.every_replica = RunnableGroups::new(every_replica, &groups, &tasks.stop_work);
        tasks.every_replica.start_ungrouped();
        tasks.start_groups(|tasks| &mut tasks.every_replica).await?;
        if let Some(elector) = self.elector {
            tasks.elector = Some(ElectorHandle::start(elector, self.leading));
            tasks.wait_until_leading().await?;
        }
        // The caches may lag behind writes of the previous leader, or hold a list from the API server's watch cache.
        tasks
            .unless_stopped(self.informers.wait_until_current_of(&own))
            .await?;
        tasks.leader_only.start_ungrouped();
        tasks.start_groups(|tasks| &mut tasks.leader_only).await?;
        tasks.wait_for_ungrouped().await?;
        for (component, runner) in self.controllers {
            let component = component.map(|index| components[index].clone());
            let (stop, cancel) = (tasks.stop_work.clone(), tasks.cancel_reconciles.clone());
            let name = runner.name().to_owned();
            tasks.controllers.spawn(name, async move {
                if let Some(component) = component {
                    stop.run_until_cancelled(component.wait_until_current()).await;
                }
                let drained = runner.run_until(stop, cancel.cancelled_owned()).await;
                if drained.cancelled.is_empty() {
                    return Ok(());
                }
                let keys: Vec<String> = drained.cancelled.iter().map(ToString::to_string).collect();
                Err(keys.join(", "))
            });
        }
        tasks.unless_stopped(pending()).await
    }
}

#[cfg(test)]
#[path = "operator_tests/mod.rs"]
mod tests;
