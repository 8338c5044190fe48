//! The cells of volumes, claims and classes.

use super::config::quantity;
use super::{UNSET, created, name, text};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(created(object)));
    let is_being_deleted = !object["metadata"]["deletionTimestamp"].is_null();
    let phase = if is_being_deleted {
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
                json!(quantity(&spec["capacity"]["storage"])),
                json!(access(&spec["accessModes"])),
                json!(text(spec, "persistentVolumeReclaimPolicy")),
                json!(phase),
                json!(claim),
                json!(class(object)),
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
                    quantity(&status["capacity"]["storage"]),
                    access(&status["accessModes"]),
                )
            };
            vec![
                name,
                json!(phase),
                json!(volume),
                json!(capacity),
                json!(modes),
                json!(class(object)),
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
                json!(marked(object, &names)),
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

/// The name, and whether an annotation makes it the default.
pub(super) fn marked(object: &Value, annotations: &[&str]) -> String {
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

fn class(object: &Value) -> &str {
    let old = object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    old.unwrap_or_else(|| text(&object["spec"], "storageClassName"))
}

/// Access modes in their short forms, each once, in the order in which people know them.
fn access(modes: &Value) -> String {
    let has = |mode: &str| {
        modes
            .as_array()
            .is_some_and(|modes| modes.iter().any(|known| known == mode))
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
            access(&json!(["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"])),
            "RWO,RWX"
        );
    }
}
