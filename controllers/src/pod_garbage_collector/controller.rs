//! Looks at all pods regularly. It has no keys.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright::{
    NamespacedName,
    cache::{Object, SharedInformer},
    client::{ClientError, Delete, DeleteParams, Get, PatchBody, PatchStatus, TypedClient},
    controller::Setup,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    metrics::PodGcMetrics,
    plan::{PodFacts, Reason, missing_nodes, plan},
    quarantine::Quarantine,
};
use crate::{
    Options,
    shared::{node::NodeView, pod::PodView},
};

const NAME: &str = "pod-garbage-collector-controller";
const CHECK_PERIOD: Duration = Duration::from_secs(20);
/// How long a node is missing from the cache before the API server is asked for it.
const QUARANTINE_TIME: Duration = Duration::from_secs(40);
const DELETED_AT_ONCE: usize = 20;

struct PodGarbageCollector {
    pods: SharedInformer<PodView>,
    nodes: SharedInformer<NodeView>,
    writer: TypedClient<Pod, (Delete, PatchStatus)>,
    node_client: TypedClient<Node, (Get,)>,
    threshold: usize,
    quarantine_time: Duration,
    metrics: PodGcMetrics,
}

/// Registers the collector.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    let collector = PodGarbageCollector {
        pods: setup.informers().projected::<PodView>(),
        nodes: setup.informers().projected::<NodeView>(),
        writer: setup.client(),
        node_client: setup.client(),
        threshold: options.terminated_pod_gc_threshold,
        metrics: PodGcMetrics::register(setup.metrics()),
        quarantine_time: options.knobs.duration("podgc.quarantineTime", QUARANTINE_TIME),
    };
    let period = options.knobs.duration("podgc.gcCheckPeriod", CHECK_PERIOD);
    let run = async move |stop: CancellationToken| {
        let work = async {
            collector.pods.wait_for_sync().await;
            collector.nodes.wait_for_sync().await;
            let mut quarantine = Quarantine::default();
            loop {
                collector.collect(&mut quarantine).await;
                tokio::time::sleep(period).await;
            }
        };
        stop.run_until_cancelled(work).await;
        Ok(())
    };
    setup.runnable(NAME, run).leader_only();
}

impl PodGarbageCollector {
    async fn collect(&self, quarantine: &mut Quarantine) {
        let decoded = self.pods.lister().list().objects().filter_map(|object| {
            let view = object.decode().ok()?;
            Some((object, view))
        });
        let pods: Vec<(Object<PodView>, Arc<PodView>)> = decoded.collect();
        let facts: Vec<_> = pods
            .iter()
            .map(|(object, view)| PodFacts {
                name: object.name(),
                view,
            })
            .collect();
        let nodes: HashMap<String, NodeView> = self
            .nodes
            .lister()
            .list()
            .objects()
            .map(|node| {
                (
                    node.name().name().to_owned(),
                    node.decode().map(|view| (*view).clone()).unwrap_or_default(),
                )
            })
            .collect();
        let missing = missing_nodes(&facts, |node| nodes.contains_key(node));
        let mut gone = HashSet::new();
        for node in quarantine.update(missing, self.quarantine_time, Instant::now()) {
            match self.node_client.get(&NamespacedName::cluster(&*node)).await {
                Err(error) if error.is_not_found() => {
                    gone.insert(node);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(controller = NAME, node, %error, "whether the node exists is not known, its pods stay");
                }
            }
        }
        let deletions = plan(&facts, &nodes, &gone, self.threshold);
        stream::iter(deletions)
            .for_each_concurrent(DELETED_AT_ONCE, |(position, reason)| {
                let (object, view) = &pods[position];
                self.delete(object, view, reason)
            })
            .await;
    }

    /// Marks the pod as failed, since no kubelet does, and deletes it without a grace period.
    async fn delete(&self, object: &Object<PodView>, view: &PodView, reason: Reason) {
        let pod = object.name();
        let deletion = async {
            if !view.is_terminal() {
                let patch = PatchBody::Strategic(failed_status(object, reason));
                self.writer.patch_status(pod, &patch).await?;
            }
            let at_once = DeleteParams::default().grace_period(0);
            self.writer.delete(pod, &at_once).await
        };
        let deleted = deletion.await;
        let is_success = deleted.as_ref().err().is_none_or(is_gone);
        self.metrics.deleted(pod, reason, is_success);
        match deleted {
            Ok(()) => {
                tracing::info!(controller = NAME, %pod, reason = reason.name(), "pod was deleted by force");
            }
            Err(error) if is_gone(&error) => {}
            Err(error) => {
                tracing::warn!(controller = NAME, %pod, reason = reason.name(), %error, "pod was not deleted, the next check tries again");
            }
        }
    }
}

fn failed_status(object: &Object<PodView>, reason: Reason) -> Value {
    let metadata = object.metadata();
    let mut status = json!({"phase": "Failed"});
    if let Some(generation) = metadata.generation() {
        status["observedGeneration"] = generation.into();
    }
    if reason == Reason::Orphaned {
        let mut condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
            "lastTransitionTime": k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        });
        if let Some(generation) = metadata.generation() {
            condition["observedGeneration"] = generation.into();
        }
        status["conditions"] = json!([condition]);
    }
    json!({"metadata": {"uid": metadata.uid()}, "status": status})
}

/// The pod is gone, or another one has its name.
fn is_gone(error: &ClientError) -> bool {
    error.is_not_found() || error.is_conflict()
}
