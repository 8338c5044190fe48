//! Volumes and classes of storage.

use super::{Check, container, fields, names, text};
use crate::field::FieldError;
use serde_json::Value;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// The access modes of a volume or a claim.
pub(super) fn modes(check: &mut Check, spec: &Value, path: &str, missing: &str) {
    let path = format!("{path}.accessModes");
    let modes = spec["accessModes"].as_array().map_or(&[][..], Vec::as_slice);
    if modes.is_empty() {
        check.push(FieldError::required(&path, missing));
    }
    let (mut alone, mut others) = (false, false);
    for mode in modes.iter().filter_map(Value::as_str) {
        if !MODES.contains(&mode) {
            check.push(FieldError::not_supported(&path, mode, MODES));
        } else if mode == "ReadWriteOncePod" {
            alone = true;
        } else {
            others = true;
        }
    }
    if alone && others {
        let detail = "may not use ReadWriteOncePod with other access modes";
        check.push(FieldError::forbidden(&path, detail));
    }
}

/// Fields of a volume that are no sources.
const PLAIN: &[&str] = &[
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

pub(super) fn volume(check: &mut Check, spec: &Value, old: Option<&Value>) {
    modes(check, spec, "spec", "");
    let capacity = &spec["capacity"];
    if fields(capacity).next().is_none() {
        check.push(FieldError::required("spec.capacity", ""));
    }
    if capacity["storage"].is_null() || fields(capacity).count() > 1 {
        check.push(FieldError::not_supported(
            "spec.capacity",
            capacity.clone(),
            ["storage"],
        ));
    }
    for (name, amount) in fields(capacity) {
        if container::amount(amount).is_some_and(|amount| amount <= 0.0) {
            let field = format!("spec.capacity[{name}]");
            check.push(FieldError::invalid(
                &field,
                amount.clone(),
                "must be greater than zero",
            ));
        }
    }
    check.one_of(
        spec,
        "persistentVolumeReclaimPolicy",
        "spec",
        &["Delete", "Recycle", "Retain"],
    );
    let mut sources = fields(spec)
        .filter(|(name, _)| !PLAIN.contains(&name.as_str()))
        .map(|(name, _)| name);
    if sources.next().is_none() {
        check.push(FieldError::required("spec", "must specify a volume type"));
    }
    for another in sources {
        let detail = "may not specify more than 1 volume type";
        check.push(FieldError::forbidden(&format!("spec.{another}"), detail));
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        check.messages("spec.storageClassName", class, &names::subdomain(class));
    }
    check.one_of(spec, "volumeMode", "spec", &["Block", "Filesystem"]);
    if let Some(old) = old
        && old["spec"]["volumeMode"] != spec["volumeMode"]
    {
        let mode = spec["volumeMode"].clone();
        check.push(FieldError::invalid("spec.volumeMode", mode, "field is immutable"));
    }
}

pub(super) fn class(check: &mut Check, class: &Value, old: Option<&Value>) {
    let provisioner = text(class, "provisioner");
    if check.required(&class["provisioner"], "provisioner") {
        let lower = provisioner.to_lowercase();
        check.messages("provisioner", &lower, &names::qualified(&lower));
    }
    check.one_of_at(class, "reclaimPolicy", "reclaimPolicy", &["Delete", "Retain"]);
    check.one_of_at(
        class,
        "volumeBindingMode",
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    );
    let Some(old) = old else { return };
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        if old[name] != class[name] {
            check.push(FieldError::invalid(
                name,
                class[name].clone(),
                "field is immutable",
            ));
        }
    }
}
