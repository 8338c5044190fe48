//! What is said of volumes and their classes.

use super::{annotated, items, old_label, pods};
use serde_json::Value;

/// Kinds of volumes that are no more.
pub(super) const OLD_VOLUMES: &[(&str, &str)] = &[
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn of_volume(object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    warnings.extend(old_class(object));
    if annotated(object, MOUNT_OPTIONS) {
        warnings.push(format!(
            "metadata.annotations[{MOUNT_OPTIONS}]: deprecated since v1.31; use \"mountOptions\" attribute instead"
        ));
    }
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        warnings.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is \
             to use dynamic provisioning."
                .to_owned(),
        );
    }
    for (at, term) in items(&spec["nodeAffinity"]["required"]["nodeSelectorTerms"]) {
        let path = format!("spec.nodeAffinity.required.nodeSelectorTerms[{at}]");
        pods::of_term(term, &path, false, warnings);
    }
    for (volume, why) in OLD_VOLUMES.iter().filter(|(volume, _)| !spec[*volume].is_null()) {
        let volume = if *volume == "storageos" {
            "storageOS"
        } else {
            volume
        };
        warnings.push(format!("spec.{volume}: {why}"));
    }
}

/// The annotation that was a field before there was one.
pub(super) fn old_class(object: &Value) -> Option<String> {
    annotated(object, CLASS).then(|| {
        format!(
            "metadata.annotations[{CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        )
    })
}

pub(super) fn of_class(object: &Value, warnings: &mut Vec<String>) {
    for (at, topology) in items(&object["allowedTopologies"]) {
        for (of, expression) in items(&topology["matchLabelExpressions"]) {
            if let Some((_, why)) = old_label(&expression["key"]) {
                warnings.push(format!(
                    "allowedTopologies[{at}].matchLabelExpressions[{of}].key: {why}"
                ));
            }
        }
    }
}
