//! Storage protection: removes the finalizers that admission adds to claims, volumes and volume attributes classes, once they are deleted
//! and not in use.

use super::reconcile_on_changes;
use crate::kinds::Kind;
use crate::meta;
use crate::registry::{Registry, Target};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";
const ATTRIBUTES_CLASS_FINALIZER: &str = "kubernetes.io/vac-protection";

/// How soon a failed write is retried.
const WRITE_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Removes the finalizers of deleted claims that no scheduled pod uses, of deleted volumes that are not bound, and of deleted attributes
/// classes that no claim and no volume names, until the future is dropped.
pub(super) async fn run(registry: &Registry, delay: Duration) {
    let kinds = [
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "pods"),
        ("storage.k8s.io", "volumeattributesclasses"),
    ];
    let [Ok(claims), Ok(volumes), Ok(pods), Ok(classes)] =
        kinds.map(|(group, plural)| registry.resource(group, plural))
    else {
        return;
    };
    let changes =
        [&claims, &volumes, &pods, &classes].map(|kind| registry.store.subscribe_table(&kind.table()));
    reconcile_on_changes(changes, delay, WRITE_RETRY_INTERVAL, || {
        let is_claim_free = |claim: &Value| {
            let pods = registry.store.objects(&pods.table(), meta::namespace(claim));
            !pods.iter().any(|pod| uses_claim(pod.value(), claim))
        };
        let is_volume_free = |volume: &Value| volume["status"]["phase"] != "Bound";
        let is_class_free = |class: &Value| {
            let names = |kind: &Arc<Kind>| {
                let objects = registry.store.objects(&kind.table(), "");
                objects
                    .iter()
                    .any(|object| uses_attributes_class(object.value(), meta::name(class)))
            };
            !names(&claims) && !names(&volumes)
        };
        release(registry, &claims, CLAIM_FINALIZER, is_claim_free)
            | release(registry, &volumes, VOLUME_FINALIZER, is_volume_free)
            | release(registry, &classes, ATTRIBUTES_CLASS_FINALIZER, is_class_free)
    })
    .await;
}

/// Removes the finalizer of the deleted objects that are free; true if a write failed and must be retried.
fn release(registry: &Registry, kind: &Arc<Kind>, finalizer: &str, is_free: impl Fn(&Value) -> bool) -> bool {
    let mut failed = false;
    for object in registry.store.objects(&kind.table(), "") {
        let object = object.value();
        if !meta::is_being_deleted(object) || !meta::has_finalizer(object, finalizer) || !is_free(object) {
            continue;
        }
        let target = Target::new(kind, meta::namespace(object), meta::name(object));
        let released = registry.update_as_server(&target, |object| meta::remove_finalizer(object, finalizer));
        failed |= released.is_err_and(|error| error.code != 404);
    }
    failed
}

/// Whether a claim or a volume has the attributes class, or a claim is being changed to it.
fn uses_attributes_class(object: &Value, class: &str) -> bool {
    let status = &object["status"];
    [
        &object["spec"]["volumeAttributesClassName"],
        &status["currentVolumeAttributesClassName"],
        &status["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
    ]
    .into_iter()
    .any(|name| name == class)
}

/// Whether a pod that is scheduled has the claim as a volume, or owns it for an ephemeral volume and has not ended.
fn uses_claim(pod: &Value, claim: &Value) -> bool {
    let is_scheduled = !meta::text(&pod["spec"], "nodeName").is_empty();
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
                    && format!("{}-{}", meta::name(pod), meta::text(volume, "name")) == name
                    && is_owner()
        })
}
