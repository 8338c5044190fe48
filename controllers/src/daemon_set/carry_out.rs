//! Carries a plan out: creates and deletes pods, and records events about those that ended.

use std::collections::HashMap;

use k8s_openapi::{api::apps::v1::DaemonSet, jiff::Timestamp};
use kubewright::{NamespacedName, client::ClientError, controller::ReconcileError, events::EventType};

use super::{
    controller::{DaemonSetController, NAME, backoff_key},
    plan::{EndedPod, Plan},
    pod_template,
    pods::{DaemonPod, Revision},
};
use crate::shared::{invalid_objects::InvalidObject, pod::PodPhase, pod_control::is_outcome_unknown};

impl DaemonSetController {
    /// Carries a plan out. A failure to create pods does not keep the others from being deleted.
    pub(super) async fn carry_out(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        revision: &Revision,
        plan: &Plan<'_>,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        self.report_ended(key, daemon_set, &plan.ended);
        let (uid, generation) = backoff_key(daemon_set);
        let failed = plan.ended.iter().filter(|ended| has_failed(ended));
        let nodes = failed.map(|ended| ended.node);
        self.failed_pods.record(uid, generation, nodes, now);
        let created = self.create_pods(key, daemon_set, revision, &plan.create).await;
        let deleted = self.delete_pods(key, daemon_set, &plan.delete).await;
        created?;
        deleted?;
        if let Some(invalid) = &plan.invalid {
            // A retry cannot succeed before the spec changes, and the change enqueues the DaemonSet.
            let object = InvalidObject::decoded("DaemonSet", key, &daemon_set.metadata);
            self.invalid.report(NAME, object, "InvalidLimit", invalid);
        }
        Ok(())
    }

    fn report_ended(&self, key: &NamespacedName, daemon_set: &DaemonSet, ended: &[EndedPod<'_>]) {
        let namespace = key.namespace().unwrap_or_default();
        for one in ended {
            let (pod, on) = (one.pod.name, one.node);
            let (severity, reason, note) = if has_failed(one) {
                let note =
                    format!("Found failed daemon pod {namespace}/{pod} on node {on}, will try to kill it");
                (EventType::Warning, "FailedDaemonPod", note)
            } else {
                let note = format!(
                    "Found succeeded daemon pod {namespace}/{pod} on node {on}, will try to delete it"
                );
                (EventType::Normal, "SucceededDaemonPod", note)
            };
            self.events.event(daemon_set, severity, reason, note);
        }
    }

    async fn create_pods(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        revision: &Revision,
        nodes: &[&str],
    ) -> Result<(), ReconcileError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let pod = &pod_template::pod(daemon_set, revision)?;
        let batch = &self.pod_control.batch(daemon_set);
        let create = |index: usize| async move {
            let pod = pod_template::for_node(pod, nodes[index]);
            match batch.create(&pod).await {
                Ok(()) => Ok(()),
                // Still expected: otherwise each pod that is deleted with the namespace would cause another attempt.
                Err(error) if error.is_namespace_terminating() => Ok(()),
                Err(error) => {
                    if is_outcome_unknown(&error) {
                        self.expectations.creation_observed(key);
                    }
                    Err(error)
                }
            }
        };
        self.expectations.create(key, nodes.len(), create).await?;
        Ok(())
    }

    async fn delete_pods(
        &self,
        key: &NamespacedName,
        daemon_set: &DaemonSet,
        pods: &[DaemonPod<'_>],
    ) -> Result<(), ClientError> {
        if pods.is_empty() {
            return Ok(());
        }
        let names: HashMap<&str, &str> = pods.iter().map(|pod| (pod.uid, pod.name)).collect();
        let batch = &self.pod_control.batch(daemon_set);
        let delete = |uid: &str| {
            let pod = names.get_key_value(uid).map(|(uid, name)| (*uid, *name));
            async move {
                let Some((uid, name)) = pod else {
                    return Ok(());
                };
                let deleted = batch.delete(&key.sibling(name)).await;
                if deleted.as_ref().is_err_and(is_outcome_unknown) {
                    self.expectations.deletion_observed(key, uid);
                }
                deleted
            }
        };
        self.expectations
            .delete(key, pods.iter().map(|pod| pod.uid), delete)
            .await
    }
}

fn has_failed(ended: &EndedPod<'_>) -> bool {
    ended.pod.view.phase == PodPhase::Failed
}
