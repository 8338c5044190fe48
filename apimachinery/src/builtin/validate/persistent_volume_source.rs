//! Validation of the volume sources of PersistentVolumes.

use super::{Check, Constraint, FieldRule, names, text, volume_source};
use serde_json::Value;

/// The required fields of each source, in the order of validation.
pub(super) const SOURCES: &[(&str, &[&str])] = &[
    ("hostPath", &["path"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("glusterfs", &["endpoints", "path"]),
    ("flocker", &[]),
    ("nfs", &["server", "path"]),
    ("rbd", &["monitors", "image"]),
    ("quobyte", &[]),
    ("cephfs", &["monitors"]),
    ("iscsi", &[]),
    ("cinder", &["volumeID"]),
    ("fc", &[]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("local", &["path"]),
    ("storageos", &[]),
    ("csi", &[]),
];

const MULTIPLE_SOURCES: &str = "may not specify more than 1 volume type";

const CSI: &[FieldRule] = &[
    ("volumeHandle", Constraint::Required("")),
    ("driver", Constraint::Checked(super::volume::validate_driver_name)),
    ("controllerPublishSecretRef?", SECRET),
    ("controllerExpandSecretRef?", SECRET),
    ("nodePublishSecretRef?", SECRET),
    ("nodeExpandSecretRef?", SECRET),
];
const SECRET: Constraint = Constraint::Rules(&[
    ("name", Constraint::Named(names::subdomain_errors)),
    ("namespace", Constraint::Named(names::label_errors)),
]);

/// Requires exactly one source in the spec at this path. `volume` is the name of the volume.
pub(super) fn validate_persistent_sources(check: &mut Check, spec: &Value, volume: &str, spec_path: &str) {
    let mut found = false;
    for (name, required_fields) in SOURCES.iter().filter(|(name, _)| spec[*name].is_object()) {
        if found && *name != "flexVolume" {
            let name = if *name == "cephfs" { "cephFS" } else { name };
            check.forbidden(&format!("{spec_path}.{name}"), MULTIPLE_SOURCES);
            continue;
        }
        found = true;
        // kube-apiserver's path has another name.
        let path_name = if *name == "gcePersistentDisk" {
            "persistentDisk"
        } else {
            name
        };
        let path = format!("{spec_path}.{path_name}");
        let source = &spec[*name];
        for required in *required_fields {
            check.require(&source[*required], &format!("{path}.{required}"));
        }
        validate_persistent_source(check, source, name, volume, &path);
        if *name == "local" && !spec["nodeAffinity"].is_object() {
            let detail = "Local volume requires node affinity";
            check.required(&format!("{spec_path}.nodeAffinity"), detail);
        }
    }
    if !found {
        check.required(spec_path, "must specify a volume type");
    }
}

/// Validates a source beyond its required fields.
fn validate_persistent_source(check: &mut Check, source: &Value, name: &str, volume: &str, path: &str) {
    let source_path = text(source, "path");
    let field = format!("{path}.path");
    match name {
        "hostPath" if !source_path.is_empty() => super::volume::validate_host_path(check, source, path),
        "local" => check.reject_backsteps(source_path, &field),
        "csi" => check.apply(CSI, source, None, path),
        _ => volume_source::validate_source(check, name, source, Some(volume), path),
    }
}
