//! Where the data of a volume is that claims are bound to.

use super::{Check, names, text, volume_source};
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
    ("csi", &["driver", "volumeHandle"]),
];

const MANY: &str = "may not specify more than 1 volume type";

const SECRETS: &[&str] = &[
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
];

/// Where the data of the volume of this name is: at one place.
pub(super) fn sources(check: &mut Check, spec: &Value, volume: &str) {
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
        source_of(check, spec, name, volume, &path);
    }
    if !found {
        check.push(FieldError::required("spec", "must specify a volume type"));
    }
}

/// What a source of this volume says, beyond that it says what is needed.
fn source_of(check: &mut Check, spec: &Value, name: &str, volume: &str, path: &str) {
    let source = &spec[name];
    let place = text(source, "path");
    let field = format!("{path}.path");
    match name {
        "hostPath" if !place.is_empty() => super::volume::host_path(check, source, path),
        "local" => {
            check.no_backsteps(place, &field);
            if !spec["nodeAffinity"].is_object() {
                let detail = "Local volume requires node affinity";
                check.push(FieldError::required("spec.nodeAffinity", detail));
            }
        }
        "csi" => {
            let driver = text(source, "driver");
            if !driver.is_empty() {
                super::volume::driver_name(check, driver, &format!("{path}.driver"));
            }
            for secret in SECRETS {
                secret_of(check, &source[*secret], &format!("{path}.{secret}"));
            }
        }
        _ => volume_source::source(check, name, source, Some(volume), path),
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
