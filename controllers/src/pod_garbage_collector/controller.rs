//! Looks at all pods regularly. It has no keys.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::{Node, Pod},
    jiff::Timestamp,
};
use kubewright::{
    NamespacedName,
    cache::{Metadata, Object, SharedInformer},
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
    shared::{
        node::NodeView,
        pod::{ConditionStatus, ConditionType, PodView, known_time},
    },
};

const NAME: &str = "pod-garbage-collector-controller";
const CHECK_PERIOD: Duration = Duration::from_secs(20);
/// How long a node is missing from the cache before the API server is asked for it.
const QUARANTINE_TIME: Duration = Duration::from_secs(40);
const DELETED_AT_ONCE: usize = 20;
/// The condition of pods that end for another reason than their own.
const DISRUPTION_TARGET: &str = "DisruptionTarget";

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
    let collector = PodGarbageCollector::new(setup, options);
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
    fn new(setup: &mut Setup, options: &Options) -> Self {
        Self {
            pods: setup.informers().projected::<PodView>(),
            nodes: setup.informers().projected::<NodeView>(),
            writer: setup.client(),
            node_client: setup.client(),
            threshold: options.terminated_pod_gc_threshold,
            metrics: PodGcMetrics::register(setup.metrics()),
            quarantine_time: options.knobs.duration("podgc.quarantineTime", QUARANTINE_TIME),
        }
    }

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
                let patch = PatchBody::Strategic(failed_status(object.metadata(), view, reason));
                self.writer.patch_status(pod, &patch).await?;
            }
            let at_once = DeleteParams::default().grace_period(0);
            self.writer.delete(pod, &at_once).await
        };
        let deleted = deletion.await;
        self.metrics.deleted(pod, reason, deleted.is_ok());
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

fn failed_status(metadata: &Metadata, view: &PodView, reason: Reason) -> Value {
    let mut status = json!({"phase": "Failed"});
    if let Some(generation) = metadata.generation() {
        status["observedGeneration"] = generation.into();
    }
    if reason == Reason::Orphaned {
        let since = disrupted_since(view).unwrap_or_else(Timestamp::now);
        let mut condition = json!({
            "type": DISRUPTION_TARGET, "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists",
            "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        });
        if let Some(generation) = metadata.generation() {
            condition["observedGeneration"] = generation.into();
        }
        status["conditions"] = json!([condition]);
        status["$setElementOrder/conditions"] = condition_order(view);
    }
    json!({"metadata": {"uid": metadata.uid()}, "status": status})
}

/// Returns the order of the patched conditions: a new one is the last one, as upstream's. Without an order a strategic merge patch puts it
/// first.
fn condition_order(view: &PodView) -> Value {
    let known = view.condition_types.iter().flatten();
    let mut order: Vec<Value> = known.map(|kind| json!({"type": kind.as_str()})).collect();
    let disruption = json!({"type": DISRUPTION_TARGET});
    if !order.contains(&disruption) {
        order.push(disruption);
    }
    order.into()
}

/// Returns the time of the condition if it is true already: it keeps it.
fn disrupted_since(view: &PodView) -> Option<Timestamp> {
    let is_disruption = |kind: &Option<ConditionType>| {
        kind.as_ref()
            .is_some_and(|kind| kind.as_str() == DISRUPTION_TARGET)
    };
    let position = view.condition_types.iter().position(is_disruption)?;
    let status = view.condition_statuses.get(position).copied().flatten();
    let time = view.condition_times.get(position).and_then(Option::as_ref);
    known_time(time).filter(|_| status == Some(ConditionStatus::True))
}

/// The pod is gone, or another one has its name.
fn is_gone(error: &ClientError) -> bool {
    error.is_not_found() || error.is_conflict()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use kubewright::testing::{Harness, Reply};

    use super::*;

    fn collector() -> (Harness, PodGarbageCollector) {
        let mut collector = None;
        let test = Harness::new(|setup| {
            collector = Some(PodGarbageCollector::new(setup, &Options::default()));
        });
        (test, collector.unwrap())
    }

    /// Deletes a running pod whose node is gone.
    async fn delete(test: &Harness, collector: &PodGarbageCollector, conditions: &Value) {
        test.seed(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "lost", "uid": "1"},
            "status": {"phase": "Running", "conditions": conditions},
        }));
        let name = NamespacedName::namespaced("shop", "lost");
        let pod = collector.pods.lister().object(&name).unwrap();
        let view = pod.decode().unwrap();
        collector.delete(&pod, &view, Reason::Orphaned).await;
    }

    #[tokio::test]
    async fn condition_that_is_true_already_keeps_its_time() {
        let since = "2026-05-01T11:00:00Z";
        for (kind, status, is_kept) in [
            (DISRUPTION_TARGET, "True", true),
            (DISRUPTION_TARGET, "False", false),
            ("Ready", "True", false),
        ] {
            let (test, collector) = collector();
            let conditions = json!([{"type": kind, "status": status, "lastTransitionTime": since}]);
            delete(&test, &collector, &conditions).await;
            let requests = test.requests();
            assert_eq!(requests.len(), 2, "{requests:?}");
            let condition = &requests[0].body["status"]["conditions"][0];
            assert_eq!(condition["reason"], "DeletionByPodGC");
            assert_eq!(
                condition["lastTransitionTime"] == since,
                is_kept,
                "{kind} {status}"
            );
        }
    }

    #[tokio::test]
    async fn new_condition_is_the_last_one() {
        let (ready, disruption) = (json!({"type": "Ready"}), json!({"type": DISRUPTION_TARGET}));
        for (conditions, expected) in [
            (json!([]), json!([disruption])),
            (
                json!([{"type": "Ready", "status": "True"}]),
                json!([ready, disruption]),
            ),
            (
                json!([{"type": DISRUPTION_TARGET, "status": "False"}, {"type": "Ready", "status": "True"}]),
                json!([disruption, ready]),
            ),
        ] {
            let (test, collector) = collector();
            delete(&test, &collector, &conditions).await;
            let status = &test.requests()[0].body["status"];
            assert_eq!(status["$setElementOrder/conditions"], expected, "{conditions}");
        }
    }

    #[tokio::test]
    async fn every_failure_is_counted_also_of_pods_that_are_gone() {
        for (reason, code, count) in [("NotFound", 404, 1), ("Conflict", 409, 1), ("", 200, 0)] {
            let (test, collector) = collector();
            if count > 0 {
                let refused = Status::failure("on purpose", reason).with_code(code);
                test.reply_with(|request| request.verb == "delete", Reply::status(&refused));
            }
            delete(&test, &collector, &json!([])).await;
            let labels = vec![
                ("namespace", "shop".to_owned()),
                ("reason", "orphaned".to_owned()),
            ];
            let found = collector.metrics.errors.get_or_create(&labels).get();
            assert_eq!(found, count, "{reason}");
        }
    }
}
