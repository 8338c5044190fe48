//! Validation of PersistentVolumes.

use super::persistent_volume_source::{SOURCES, validate_persistent_sources};
use super::{
    Check, Constraint, FieldRule, changed_fields, container, fields, names, node_selector, storage, text,
};
use serde_json::Value;

const MOUNT_OPTIONS_ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";

/// Volume sources that support mount options.
const MOUNT_OPTION_SOURCES: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

/// Deprecated labels with their replacements.
const RENAMED_LABELS: &[(&str, &str)] = &[
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
];

pub(super) fn validate_volume(check: &mut Check, volume: &Value, old: Option<&Value>) {
    let spec = &volume["spec"];
    let name = text(&volume["metadata"], "name");
    validate_persistent_volume_spec(check, spec, name);
    let supports_mount_options = MOUNT_OPTION_SOURCES
        .iter()
        .any(|source| spec[*source].is_object());
    if !supports_mount_options && !volume["metadata"]["annotations"][MOUNT_OPTIONS_ANNOTATION].is_null() {
        let detail = "may not specify mount options for this volume type";
        let field = format!("metadata.annotations.{MOUNT_OPTIONS_ANNOTATION}");
        check.forbidden(&field, detail);
    }
    if let Some(old) = old {
        validate_persistent_volume_update(check, spec, &old["spec"]);
    }
}

#[rustfmt::skip]
const SPEC: &[FieldRule] = &[
    ("persistentVolumeReclaimPolicy", Constraint::OptionalOneOf(&["Delete", "Recycle", "Retain"])),
    ("nodeAffinity?.required", Constraint::Present("must specify required node constraints")),
    ("nodeAffinity.required?", Constraint::Checked(node_selector::validate_node_selector)),
    ("storageClassName", Constraint::OptionalName(names::subdomain_errors)),
    ("volumeMode", Constraint::OneOf(&["Block", "Filesystem"])),
    ("volumeAttributesClassName?", Constraint::Required("an empty string is disallowed")),
    ("volumeAttributesClassName", Constraint::OptionalName(names::subdomain_errors)),
];

fn validate_persistent_volume_spec(check: &mut Check, spec: &Value, name: &str) {
    storage::validate_access_modes(check, spec, "spec", "");
    validate_capacity(check, &spec["capacity"]);
    check.apply(SPEC, spec, None, "spec");
    validate_persistent_sources(check, spec, name, "spec");
    reject_recycled_root(check, spec, "spec");
    if spec["volumeAttributesClassName"].is_string() && !spec["csi"].is_object() {
        let detail = "has to be specified when using volumeAttributesClassName";
        check.required("spec.csi", detail);
    }
}

/// Rejects a volume that would clear the root of a node when it is released.
fn reject_recycled_root(check: &mut Check, spec: &Value, path: &str) {
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" && is_root(text(&spec["hostPath"], "path")) {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        check.forbidden(&format!("{path}.persistentVolumeReclaimPolicy"), detail);
    }
}

/// Validates a volume that is described inline, by a VolumeAttachment: a CSI driver's, without what concerns scheduling and claims.
pub(super) fn validate_inline_volume(check: &mut Check, spec: &Value, path: &str) {
    const NOT_INLINE: &str = "may not be specified in the context of inline volumes";
    let at = |name: &str| format!("{path}.{name}");
    if !spec["claimRef"].is_null() {
        check.forbidden(&at("claimRef"), NOT_INLINE);
    }
    if fields(&spec["capacity"]).next().is_some() {
        check.forbidden(&at("capacity"), NOT_INLINE);
    }
    if spec["csi"].is_null() {
        let detail = "has to be specified in the context of inline volumes";
        check.required(&at("csi"), detail);
    }
    storage::validate_access_modes(check, spec, path, "");
    if !["", "Retain"].contains(&text(spec, "persistentVolumeReclaimPolicy")) {
        let detail = "may only be Retain in the context of inline volumes";
        check.forbidden(&at("persistentVolumeReclaimPolicy"), detail);
    }
    if !spec["nodeAffinity"].is_null() {
        check.forbidden(&at("nodeAffinity"), NOT_INLINE);
    }
    // The node affinity, which is rejected, does not count as that of a local volume.
    let mut without_affinity = spec.clone();
    if let Some(fields) = without_affinity.as_object_mut() {
        fields.remove("nodeAffinity");
    }
    validate_persistent_sources(check, &without_affinity, "", path);
    reject_recycled_root(check, spec, path);
    if !text(spec, "storageClassName").is_empty() {
        check.forbidden(&at("storageClassName"), NOT_INLINE);
    }
    if spec["volumeMode"]
        .as_str()
        .is_some_and(|mode| mode != "Filesystem")
    {
        let detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        check.forbidden(&at("volumeMode"), detail);
    }
}

/// Validates the capacity: storage only.
fn validate_capacity(check: &mut Check, capacity: &Value) {
    if fields(capacity).next().is_none() {
        check.required("spec.capacity", "");
    }
    if capacity["storage"].is_null() || fields(capacity).count() > 1 {
        check.not_supported("spec.capacity", capacity.clone(), ["storage"]);
    }
    for (name, size) in fields(capacity) {
        let field = format!("spec.capacity[{name}]");
        let Some(amount) = container::quantity_value(size) else {
            continue;
        };
        check.reject_negative_quantity(size, &field);
        if amount <= 0.0 {
            check.invalid(&field, size.clone(), "must be greater than zero");
        }
    }
}

/// Whether an absolute path leads to the root.
fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

/// Validates an update: the source is immutable.
fn validate_persistent_volume_update(check: &mut Check, spec: &Value, old: &Value) {
    let mut source = spec.clone();
    // The secret for expansion may be set once.
    if old["csi"].is_object()
        && old["csi"]["controllerExpandSecretRef"].is_null()
        && let Some(driver) = source["csi"].as_object_mut()
    {
        driver.remove("controllerExpandSecretRef");
    }
    let is_source = |name: &String| SOURCES.iter().any(|(source, _)| source == name);
    let sources = |spec: &Value| -> Value {
        let sources = fields(spec).filter(|(name, _)| is_source(name));
        sources
            .map(|(name, source)| (name.clone(), source.clone()))
            .collect()
    };
    let (source, before) = (sources(&source), sources(old));
    if source != before {
        let changes = changed_fields(&before, &source, "spec");
        let detail = format!("spec.persistentvolumesource is immutable after creation {changes}");
        check.forbidden("spec.persistentvolumesource", detail);
    }
    check.apply(&[("volumeMode", Constraint::Immutable)], spec, Some(old), "");
    let affinity = &spec["nodeAffinity"];
    if old["nodeAffinity"].is_object() && with_renamed_labels(&old["nodeAffinity"], affinity) != *affinity {
        let detail = "field is immutable, except for updating from beta label to GA";
        check.invalid("nodeAffinity", affinity.clone(), detail);
    }
    if old["volumeAttributesClassName"].is_string() && spec["volumeAttributesClassName"].is_null() {
        let detail = "update from non-nil value to nil is forbidden";
        check.forbidden("spec.volumeAttributesClassName", detail);
    }
}

/// Returns the old affinity with deprecated labels replaced where the new affinity uses the replacement.
fn with_renamed_labels(old: &Value, new: &Value) -> Value {
    let mut renamed = old.clone();
    let terms = renamed["required"]["nodeSelectorTerms"].as_array_mut();
    for (at, term) in terms.into_iter().flatten().enumerate() {
        let new = &new["required"]["nodeSelectorTerms"][at]["matchExpressions"];
        let requirements = term["matchExpressions"].as_array_mut();
        for (at, requirement) in requirements.into_iter().flatten().enumerate() {
            let (before, after) = (text(requirement, "key"), text(&new[at], "key"));
            let replacement = RENAMED_LABELS.iter().find(|(old, _)| *old == before);
            // For a label without replacement, kube-apiserver looks for an empty key.
            if replacement.map_or("", |(_, new)| new) == after {
                requirement["key"] = Value::from(after);
            }
        }
    }
    renamed
}
