//! Volumes that claims are bound to.

use super::persistent_source::{SOURCES, sources};
use super::{Check, container, fields, names, node_selector, storage, text};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const SOURCE: &str = "core.PersistentVolumeSource";

/// Those that are mounted with options.
const WITH_OPTIONS: &[&str] = &[
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

/// Labels that have another name now.
const RENAMED: &[(&str, &str)] = &[
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

/// A volume; an update looks at it twice.
pub(super) fn volume(check: &mut Check, volume: &Value, old: Option<&Value>) {
    let spec = &volume["spec"];
    let name = text(&volume["metadata"], "name");
    specification(check, spec, name);
    let takes_options = WITH_OPTIONS.iter().any(|source| spec[*source].is_object());
    if !takes_options && !volume["metadata"]["annotations"][MOUNT_OPTIONS].is_null() {
        let detail = "may not specify mount options for this volume type";
        let field = format!("metadata.annotations.{MOUNT_OPTIONS}");
        check.push(FieldError::forbidden(&field, detail));
    }
    if let Some(old) = old {
        specification(check, spec, name);
        update(check, spec, &old["spec"]);
    }
}

fn specification(check: &mut Check, spec: &Value, name: &str) {
    storage::modes(check, spec, "spec", "");
    capacity(check, &spec["capacity"]);
    let policies = ["Delete", "Recycle", "Retain"];
    if !text(spec, "persistentVolumeReclaimPolicy").is_empty() {
        check.one_of(spec, "persistentVolumeReclaimPolicy", "spec", &policies);
    }
    let affinity = &spec["nodeAffinity"];
    if affinity["required"].is_object() {
        node_selector::selector(check, &affinity["required"], "spec.nodeAffinity.required");
    } else if affinity.is_object() {
        let detail = "must specify required node constraints";
        check.push(FieldError::required("spec.nodeAffinity.required", detail));
    }
    sources(check, spec, name);
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" && is_root(text(&spec["hostPath"], "path")) {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        check.push(FieldError::forbidden(
            "spec.persistentVolumeReclaimPolicy",
            detail,
        ));
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        check.messages("spec.storageClassName", class, &names::subdomain(class));
    }
    check.one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"]);
    if let Some(class) = spec["volumeAttributesClassName"].as_str() {
        let path = "spec.volumeAttributesClassName";
        if class.is_empty() {
            check.push(FieldError::required(path, "an empty string is disallowed"));
        } else {
            check.messages(path, class, &names::subdomain(class));
        }
        if !spec["csi"].is_object() {
            let detail = "has to be specified when using volumeAttributesClassName";
            check.push(FieldError::required("spec.csi", detail));
        }
    }
}

/// How much it holds, and nothing else.
fn capacity(check: &mut Check, capacity: &Value) {
    if fields(capacity).next().is_none() {
        check.push(FieldError::required("spec.capacity", ""));
    }
    if capacity["storage"].is_null() || fields(capacity).count() > 1 {
        let shown = check.empties.restored(capacity, "spec.capacity");
        check.push(FieldError::not_supported("spec.capacity", shown, ["storage"]));
    }
    for (name, size) in fields(capacity) {
        let field = format!("spec.capacity[{name}]");
        let Some(amount) = container::amount(size) else {
            continue;
        };
        check.no_negative_amount(size, &field);
        if amount <= 0.0 {
            let detail = "must be greater than zero";
            check.push(FieldError::invalid(&field, size.clone(), detail));
        }
    }
}

/// A path that leads nowhere.
fn is_root(path: &str) -> bool {
    path.starts_with('/') && path.split('/').all(|part| matches!(part, "" | "." | ".."))
}

/// A volume stays what and where it is.
fn update(check: &mut Check, spec: &Value, old: &Value) {
    let mut source = spec.clone();
    // A secret to expand it with may be given once.
    if old["csi"].is_object()
        && old["csi"]["controllerExpandSecretRef"].is_null()
        && let Some(driver) = source["csi"].as_object_mut()
    {
        driver.remove("controllerExpandSecretRef");
    }
    if SOURCES.iter().any(|(name, _)| source[*name] != old[*name]) {
        let source = check.empties.restored(&source, "spec");
        let difference = types::difference(old, &source, SOURCE);
        let detail = format!("spec.persistentvolumesource is immutable after creation\n{difference}");
        check.push(FieldError::forbidden("spec.persistentvolumesource", detail));
    }
    if spec["volumeMode"] != old["volumeMode"] {
        let mode = spec["volumeMode"].clone();
        check.push(FieldError::invalid("volumeMode", mode, "field is immutable"));
    }
    let affinity = &spec["nodeAffinity"];
    if old["nodeAffinity"].is_object() && renamed(&old["nodeAffinity"], affinity) != *affinity {
        let shown = check.shown(affinity, "spec.nodeAffinity", "*core.VolumeNodeAffinity");
        let detail = "field is immutable, except for updating from beta label to GA";
        check.push(FieldError::invalid("nodeAffinity", "", detail).showing(shown));
    }
    if old["volumeAttributesClassName"].is_string() && spec["volumeAttributesClassName"].is_null() {
        let detail = "update from non-nil value to nil is forbidden";
        check.push(FieldError::forbidden("spec.volumeAttributesClassName", detail));
    }
}

/// What the old affinity is with the new names of labels, where the new one has them.
fn renamed(old: &Value, new: &Value) -> Value {
    let mut renamed = old.clone();
    let terms = renamed["required"]["nodeSelectorTerms"].as_array_mut();
    for (at, term) in terms.into_iter().flatten().enumerate() {
        let new = &new["required"]["nodeSelectorTerms"][at]["matchExpressions"];
        let requirements = term["matchExpressions"].as_array_mut();
        for (at, requirement) in requirements.into_iter().flatten().enumerate() {
            let (before, after) = (text(requirement, "key"), text(&new[at], "key"));
            let ours = RENAMED.iter().find(|(old, _)| *old == before);
            // To the real server, what has no new name has the empty one.
            if ours.map_or("", |(_, new)| new) == after {
                requirement["key"] = Value::from(after);
            }
        }
    }
    renamed
}
