//! The cells of PersistentVolumes, PersistentVolumeClaims and StorageClasses.

use super::config::format_quantity;
use super::{UNSET, age_of, name, text};
use crate::builtin::storage_class;
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(age_of(object)));
    let is_deleted = !object["metadata"]["deletionTimestamp"].is_null();
    let phase = if is_deleted {
        "Terminating"
    } else {
        text(status, "phase")
    };
    let mode = json!(spec["volumeMode"].as_str().unwrap_or(UNSET));
    let attributes = json!(spec["volumeAttributesClassName"].as_str().unwrap_or(UNSET));
    let name = name(object).clone();
    Some(match kind {
        "PersistentVolume" => {
            let claim = match &spec["claimRef"] {
                Value::Null => String::new(),
                claim => format!("{}/{}", text(claim, "namespace"), text(claim, "name")),
            };
            vec![
                name,
                json!(format_quantity(&spec["capacity"]["storage"])),
                json!(format_access_modes(&spec["accessModes"])),
                json!(text(spec, "persistentVolumeReclaimPolicy")),
                json!(phase),
                json!(claim),
                json!(storage_class(object)),
                attributes,
                json!(text(status, "reason")),
                age,
                mode,
            ]
        }
        "PersistentVolumeClaim" => {
            let volume = text(spec, "volumeName");
            let (capacity, modes) = if volume.is_empty() {
                (String::new(), String::new())
            } else {
                (
                    format_quantity(&status["capacity"]["storage"]),
                    format_access_modes(&status["accessModes"]),
                )
            };
            vec![
                name,
                json!(phase),
                json!(volume),
                json!(capacity),
                json!(modes),
                json!(storage_class(object)),
                attributes,
                age,
                mode,
            ]
        }
        "StorageClass" => {
            let names = [
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            ];
            vec![
                json!(name_with_default_mark(object, &names)),
                json!(text(object, "provisioner")),
                json!(object["reclaimPolicy"].as_str().unwrap_or("Delete")),
                json!(object["volumeBindingMode"].as_str().unwrap_or("Immediate")),
                json!(object["allowVolumeExpansion"] == true),
                age,
            ]
        }
        _ => return None,
    })
}

/// Returns the name, marked if an annotation makes the class the default.
pub(super) fn name_with_default_mark(object: &Value, annotations: &[&str]) -> String {
    let is_default = annotations
        .iter()
        .any(|annotation| object["metadata"]["annotations"][*annotation] == "true");
    let name = text(&object["metadata"], "name");
    if is_default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    }
}

/// Formats the distinct access modes in their short forms, in the order of kubectl.
fn format_access_modes(modes: &Value) -> String {
    let has = |mode: &str| {
        modes
            .as_array()
            .is_some_and(|modes| modes.iter().any(|present| present == mode))
    };
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short = short
        .into_iter()
        .filter(|(mode, _)| has(mode))
        .map(|(_, short)| short);
    short.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_modes_are_short() {
        assert_eq!(
            format_access_modes(&json!(["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"])),
            "RWO,RWX"
        );
    }
}
