//! Storage protection: removes the finalizers that admission adds to claims and volumes once they are deleted and not in use.

use super::reconcile_on_changes;
use crate::meta;
use crate::registry::{Registry, Target};
use crate::storage::Store;
use serde_json::Value;
use std::time::Duration;

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";

/// How soon a failed write is retried.
const WRITE_RETRY_INTERVAL: Duration = Duration::from_millis(200);

pub(super) async fn run(registry: &Registry, delay: Duration) {
    let mut protection = StorageProtection::default();
    let changes = registry.store.subscribe();
    reconcile_on_changes(changes, delay, WRITE_RETRY_INTERVAL, || {
        protection.release(registry)
    })
    .await;
}

/// Removes the finalizers of deleted claims that no scheduled pod uses, and of deleted volumes that are not bound.
///
/// Runs again only after a change of claims, volumes or pods.
#[derive(Default)]
struct StorageProtection {
    /// The revision up to which changes were seen.
    revision: u64,
}

impl StorageProtection {
    /// Processes all claims and volumes if one of them, or a pod, has changed; true if a write failed and must be retried.
    fn release(&mut self, registry: &Registry) -> bool {
        let kinds = ["persistentvolumeclaims", "persistentvolumes", "pods"]
            .map(|plural| registry.resource("", plural));
        let [Ok(claims), Ok(volumes), Ok(pods)] = kinds else {
            return false;
        };
        let (changed, until) = registry.store.changed_since(self.revision);
        let tables = [claims.table(), volumes.table(), pods.table()];
        if !changed.iter().any(|table| tables.contains(table)) {
            self.revision = until;
            return false;
        }
        let mut failed = false;
        let deleted = |table: &str, finalizer: &str| {
            let page = registry.store.list(table, "", "", None);
            let objects = page.map(|page| page.objects).unwrap_or_default();
            let objects = objects.iter().map(|object| object.value().clone());
            let held = objects
                .filter(|object| meta::is_being_deleted(object) && meta::has_finalizer(object, finalizer));
            held.collect::<Vec<Value>>()
        };
        let mut release = |kind, object: &Value, finalizer: &str| {
            let target = Target::new(kind, meta::namespace(object), meta::name(object));
            let released =
                registry.update_as_server(&target, |object| meta::remove_finalizer(object, finalizer));
            failed |= released.is_err_and(|error| error.code != 404);
        };
        for claim in deleted(&tables[0], CLAIM_FINALIZER) {
            let page = registry
                .store
                .list(&tables[2], &Store::key(meta::namespace(&claim), ""), "", None);
            let pods = page.map(|page| page.objects).unwrap_or_default();
            if !pods.iter().any(|pod| uses_claim(pod.value(), &claim)) {
                release(&claims, &claim, CLAIM_FINALIZER);
            }
        }
        for volume in deleted(&tables[1], VOLUME_FINALIZER) {
            if volume["status"]["phase"] != "Bound" {
                release(&volumes, &volume, VOLUME_FINALIZER);
            }
        }
        if !failed {
            self.revision = until;
        }
        failed
    }
}

/// Whether a pod that is scheduled has the claim as a volume, or owns it for an ephemeral volume and has not ended.
fn uses_claim(pod: &Value, claim: &Value) -> bool {
    let is_scheduled = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let name = meta::name(claim);
    let is_owner = || {
        meta::owners(claim)
            .iter()
            .any(|owner| owner["uid"] == meta::uid(pod) && owner["controller"] == true)
    };
    let is_shut_down = meta::is_being_deleted(pod) && pod["metadata"]["deletionGracePeriodSeconds"] == 0;
    let mut volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    is_scheduled
        && volumes.any(|volume| {
            volume["persistentVolumeClaim"]["claimName"] == name
                || !is_shut_down
                    && volume["ephemeral"].is_object()
                    && format!(
                        "{}-{}",
                        meta::name(pod),
                        volume["name"].as_str().unwrap_or_default()
                    ) == name
                    && is_owner()
        })
}
