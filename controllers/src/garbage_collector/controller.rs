//! Registers the garbage collector, and runs it. It has no primary kind: its keys are objects of all kinds.

use std::{error::Error, sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kubewright::{
    ApiResource,
    cache::{Change, Metadata},
    controller::{PermissionScope, Setup},
    prometheus_client::metrics::counter::Counter,
    workqueue::{WorkQueue, default_limiter},
};
use tokio_util::sync::CancellationToken;

use super::{
    NAME,
    absent_owners::{AbsentOwners, OwnerPlace},
    collector::Collector,
    graph::{Effect, ObjectKey},
    monitors::Monitors,
    owner_state::UnknownOwner,
};
use crate::{
    Options,
    shared::{
        discovery::{Discovered, discover},
        discovery_failures::DiscoveryFailures,
        invalid_objects::InvalidObjects,
        metadata_client::MetadataClient,
    },
};

/// How often the API server is asked which resources it serves.
const SYNC_PERIOD: Duration = Duration::from_secs(30);
/// How long the workers wait for the first lists. After it they ask the API server for owners that no cache has.
const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(30);

struct GarbageCollector {
    collector: Collector,
    queue: WorkQueue<ObjectKey>,
    kube_client: kube::Client,
    sync_period: Duration,
    sync_errors: Counter,
    discovery_failures: DiscoveryFailures,
}

/// Registers the garbage collector. It runs in the leader alone, and so do its informers.
pub(crate) fn register(setup: &mut Setup, options: &Options, invalid: &InvalidObjects) {
    let kube_client = setup.kube_client();
    let sync_errors = Counter::default();
    setup.metrics().register(
        "garbagecollector_controller_resources_sync_error",
        "Failed attempts to follow the served resources",
        sync_errors.clone(),
    );
    let collector = Arc::new(GarbageCollector {
        collector: Collector {
            graph: parking_lot::Mutex::default(),
            monitors: Monitors::new(setup.informers().clone()),
            absent: AbsentOwners::default(),
            client: MetadataClient::new(kube_client.clone()),
            recorder: setup.recorder(),
            invalid: invalid.clone(),
        },
        queue: WorkQueue::new(Box::new(default_limiter())),
        kube_client,
        sync_period: options.knobs.duration("garbagecollector.syncPeriod", SYNC_PERIOD),
        sync_errors,
        discovery_failures: DiscoveryFailures::register(setup, NAME, "garbagecollector_controller"),
    });
    let every_resource = |verbs: &[&str]| PolicyRule {
        api_groups: Some(vec!["*".to_owned()]),
        resources: Some(vec!["*".to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    setup
        .needs_in(
            PermissionScope::Cluster,
            every_resource(&["get", "patch", "delete"]),
        )
        .operator_needs_in(PermissionScope::Cluster, every_resource(&["list", "watch"]));
    let workers = options.concurrent_gc_syncs;
    setup
        .runnable(NAME, move |stop| collector.run(workers, stop))
        .leader_only();
}

impl GarbageCollector {
    async fn run(
        self: Arc<Self>,
        workers: usize,
        stop: CancellationToken,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if workers == 0 {
            return Err("the garbage collector has no workers: set concurrent_gc_syncs to 1 or more".into());
        }
        let work = async {
            let mut known = self.follow_resources(None).await;
            let synced = self.collector.monitors.wait_for_sync();
            if tokio::time::timeout(INITIAL_SYNC_TIMEOUT, synced).await.is_err() {
                self.sync_errors.inc();
                tracing::warn!(
                    controller = NAME,
                    "not all informers have synced, garbage collection begins without them"
                );
            }
            let follow = async {
                loop {
                    tokio::time::sleep(self.sync_period).await;
                    known = self.follow_resources(known.take()).await;
                }
            };
            let collect = join_all((0..workers).map(|_| self.collect_keys()));
            tokio::select! {
                () = follow => {}
                _ = collect => {}
            }
        };
        stop.run_until_cancelled(work).await;
        self.queue.shut_down();
        Ok(())
    }

    async fn collect_keys(&self) {
        while let Some(key) = self.queue.get().await {
            match self.collector.collect(&key).await {
                Ok(next) => {
                    self.queue.forget(&key);
                    for next in next {
                        self.queue.add(next);
                    }
                }
                Err(error) => {
                    let retry_in = self.queue.add_rate_limited(key.clone());
                    let is_first = self.queue.num_requeues(&key) == 1;
                    report(&key, &error, retry_in, is_first);
                }
            }
            self.queue.done(&key);
        }
    }

    /// Starts and ends informers if other resources are served than before; those of groups that do not answer stay. Returns what is served.
    async fn follow_resources(self: &Arc<Self>, known: Option<Discovered>) -> Option<Discovered> {
        let discovered = discover(&self.kube_client).await;
        self.discovery_failures.observe(discovered.as_ref());
        let Ok(discovered) = discovered else {
            self.sync_errors.inc();
            return known;
        };
        if known.as_ref() == Some(&discovered) {
            return known;
        }
        let (begun, ended) = self.collector.monitors.follow(&discovered, |kind| {
            let collector = Arc::downgrade(self);
            move |change: &Change<'_>| {
                if let Some(collector) = collector.upgrade() {
                    collector.observe(&kind, change);
                }
            }
        });
        tracing::debug!(
            controller = NAME,
            begun,
            ended,
            "informers follow the served resources"
        );
        Some(discovered)
    }

    fn observe(&self, kind: &Arc<ApiResource>, change: &Change<'_>) {
        let mut graph = self.collector.graph.lock();
        let (effect, lost) = match *change {
            Change::Added { new, .. } => (graph.changed(kind, None, new), None),
            Change::Updated { old, new } => (graph.changed(kind, Some(old), new), Some(old)),
            Change::Deleted { old, .. } => (graph.removed(kind, old), Some(old)),
        };
        drop(graph);
        let Effect {
            enqueue,
            is_lost_owner,
        } = effect;
        if let Some(lost) = lost.filter(|_| is_lost_owner) {
            self.collector.absent.insert(place_of(kind, lost));
        }
        for key in enqueue {
            self.queue.add(key);
        }
    }
}

fn place_of(kind: &ApiResource, object: &Metadata) -> OwnerPlace {
    OwnerPlace {
        api_version: kind.api_version().into(),
        kind: (&*kind.kind).into(),
        name: object.name().clone(),
        uid: object.uid().into(),
    }
}

/// Each object once: its owner may not answer for long. Invalid objects are reported as such.
fn report(key: &ObjectKey, error: &UnknownOwner, retry_in: Duration, is_first: bool) {
    let (kind, name) = (&key.kind.kind, &key.name);
    let is_conflict = matches!(error, UnknownOwner::Request(kube::Error::Api(status)) if status.code == 409);
    if is_first && !is_conflict && error.reason().is_none() {
        tracing::warn!(controller = NAME, %kind, %name, %error, ?retry_in, "object was not collected, and is tried again");
    } else {
        tracing::debug!(controller = NAME, %kind, %name, %error, ?retry_in, "object was not collected, and is tried again");
    }
}
