//! Where the data of a volume is that claims are bound to.

use super::{Check, names, text, volume};
use crate::field::FieldError;
use serde_json::Value;

/// What each source needs, in the order in which they are looked at.
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
    ("iscsi", &["targetPortal", "iqn"]),
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
    ("storageos", &["volumeName"]),
    ("csi", &["driver", "volumeHandle"]),
];

const MANY: &str = "may not specify more than 1 volume type";
const MANAGED_DISK: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

const SECRETS: &[&str] = &[
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
];

/// Where its data is: at one place.
pub(super) fn sources(check: &mut Check, spec: &Value) {
    let mut found = false;
    for (name, needs) in SOURCES.iter().filter(|(name, _)| spec[*name].is_object()) {
        if found && *name != "flexVolume" {
            let name = if *name == "cephfs" { "cephFS" } else { name };
            check.push(FieldError::forbidden(&format!("spec.{name}"), MANY));
            continue;
        }
        found = true;
        // So the real server names it.
        let said = if *name == "gcePersistentDisk" {
            "persistentDisk"
        } else {
            name
        };
        let path = format!("spec.{said}");
        let source = &spec[*name];
        for need in *needs {
            check.required(&source[*need], &format!("{path}.{need}"));
        }
        source_of(check, spec, name, &path);
    }
    if !found {
        check.push(FieldError::required("spec", "must specify a volume type"));
    }
}

/// What a source says, beyond that it says what is needed.
fn source_of(check: &mut Check, spec: &Value, name: &str, path: &str) {
    let source = &spec[name];
    let place = text(source, "path");
    let field = format!("{path}.path");
    match name {
        "hostPath" if !place.is_empty() => volume::host_path(check, source, path),
        "local" => {
            check.no_backsteps(place, &field);
            if !spec["nodeAffinity"].is_object() {
                let detail = "Local volume requires node affinity";
                check.push(FieldError::required("spec.nodeAffinity", detail));
            }
        }
        "nfs" if !place.starts_with('/') => {
            check.push(FieldError::invalid(&field, place, "must be an absolute path"));
        }
        "quobyte" => {
            if text(source, "registry").is_empty() {
                let detail = "must be a host:port pair or multiple pairs separated by commas";
                check.push(FieldError::required(&format!("{path}.registry"), detail));
            }
            check.required(&source["volume"], &format!("{path}.volume"));
        }
        "azureDisk" => {
            check.one_of(source, "cachingMode", path, &["None", "ReadOnly", "ReadWrite"]);
            check.one_of(source, "kind", path, &["Dedicated", "Managed", "Shared"]);
            let (start, form) = if source["kind"] == "Managed" {
                ("/subscriptions/", MANAGED_DISK)
            } else {
                ("https://", BLOB)
            };
            let disk = text(source, "diskURI");
            if !disk.starts_with(start) {
                let field = format!("{path}.diskURI");
                check.push(FieldError::not_supported(&field, disk, [form]));
            }
        }
        "csi" => {
            let driver = text(source, "driver");
            if !driver.is_empty() {
                volume::driver_name(check, driver, &format!("{path}.driver"));
            }
            for secret in SECRETS {
                secret_of(check, &source[*secret], &format!("{path}.{secret}"));
            }
        }
        _ => {}
    }
}

/// A secret in a namespace.
fn secret_of(check: &mut Check, secret: &Value, path: &str) {
    if !secret.is_object() {
        return;
    }
    for name in ["name", "namespace"] {
        let (value, field) = (text(secret, name), format!("{path}.{name}"));
        if check.required(&Value::from(value), &field) {
            let messages = if name == "name" {
                names::subdomain(value)
            } else {
                names::label(value)
            };
            check.messages(&field, value, &messages);
        }
    }
}
