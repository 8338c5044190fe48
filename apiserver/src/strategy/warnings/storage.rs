//! Warnings about volumes and storage classes.

use super::{deprecated_label, has_annotation, items, pods};
use crate::meta::text;
use serde_json::Value;

/// Deprecated volume types.
pub(super) const DEPRECATED_VOLUME_TYPES: &[(&str, &str)] = &[
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

const MOUNT_OPTIONS_ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn warn_persistent_volume(object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    warnings.extend(class_annotation_warning(object));
    if has_annotation(object, MOUNT_OPTIONS_ANNOTATION) {
        warnings.push(format!(
            "metadata.annotations[{MOUNT_OPTIONS_ANNOTATION}]: deprecated since v1.31; use \"mountOptions\" attribute instead"
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
        pods::warn_node_selector_term(term, &path, false, warnings);
    }
    warn_volume_types(spec, DEPRECATED_VOLUME_TYPES, "spec", warnings);
}

/// Warns about the deprecated types that a volume at this path has.
pub(super) fn warn_volume_types(
    volume: &Value,
    types: &[(&str, &str)],
    path: &str,
    warnings: &mut Vec<String>,
) {
    for (name, reason) in types.iter().filter(|(name, _)| !volume[*name].is_null()) {
        let name = if *name == "storageos" { "storageOS" } else { name };
        warnings.push(format!("{path}.{name}: {reason}"));
    }
}

/// Warns about the annotation that named the storage class before the field existed.
pub(super) fn class_annotation_warning(object: &Value) -> Option<String> {
    has_annotation(object, CLASS_ANNOTATION).then(|| {
        format!(
            "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        )
    })
}

pub(super) fn warn_storage_class(object: &Value, warnings: &mut Vec<String>) {
    for (at, topology) in items(&object["allowedTopologies"]) {
        for (index, expression) in items(&topology["matchLabelExpressions"]) {
            if let Some((_, reason)) = deprecated_label(text(expression, "key")) {
                warnings.push(format!(
                    "allowedTopologies[{at}].matchLabelExpressions[{index}].key: {reason}"
                ));
            }
        }
    }
}

/// Warns about tokens that a CSI driver gets in a field that may be logged.
pub(super) fn warn_driver(driver: &Value, old: &Value, warnings: &mut Vec<String>) {
    let (spec, before) = (&driver["spec"], &old["spec"]["tokenRequests"]);
    let requests = &spec["tokenRequests"];
    let has_requests = requests.as_array().is_some_and(|requests| !requests.is_empty());
    if has_requests && requests != before && spec["serviceAccountTokenInSecrets"].is_null() {
        warnings.push(
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens \
             in volume attributes"
                .to_owned(),
        );
    }
}

/// Warns about a driver of devices whose name is not in lower case.
pub(super) fn warn_slice(slice: &Value, warnings: &mut Vec<String>) {
    let driver = text(&slice["spec"], "driver");
    if driver.to_lowercase() != driver {
        let driver = crate::quote::quoted(driver);
        warnings.push(format!(
            "spec.driver: driver names should be lowercase; {driver} contains uppercase characters"
        ));
    }
}
