//! Validation of StorageClasses and access modes.

use super::{Check, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Validates the access modes of a volume or claim.
pub(super) fn validate_access_modes(check: &mut Check, spec: &Value, path: &str, missing: &str) {
    let path = format!("{path}.accessModes");
    let access_modes = spec["accessModes"].as_array().map_or(&[][..], Vec::as_slice);
    if access_modes.is_empty() {
        check.push(FieldError::required(&path, missing));
    }
    let (mut has_once_pod, mut has_others) = (false, false);
    for mode in access_modes.iter().filter_map(Value::as_str) {
        if !ACCESS_MODES.contains(&mode) {
            check.push(FieldError::not_supported(&path, mode, ACCESS_MODES));
        } else if mode == "ReadWriteOncePod" {
            has_once_pod = true;
        } else {
            has_others = true;
        }
    }
    if has_once_pod && has_others {
        let detail = "may not use ReadWriteOncePod with other access modes";
        check.push(FieldError::forbidden(&path, detail));
    }
}

pub(super) fn validate_storage_class(check: &mut Check, storage_class: &Value, old: Option<&Value>) {
    let provisioner = text(storage_class, "provisioner");
    if check.require(&storage_class["provisioner"], "provisioner") {
        let lower = provisioner.to_lowercase();
        check.push_messages("provisioner", &lower, &names::qualified_name_errors(&lower));
    }
    validate_parameters(check, &storage_class["parameters"]);
    if !text(storage_class, "reclaimPolicy").is_empty() {
        check.require_supported_at(
            storage_class,
            "reclaimPolicy",
            "reclaimPolicy",
            &["Delete", "Retain"],
        );
    }
    check.require_supported_at(
        storage_class,
        "volumeBindingMode",
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    );
    validate_allowed_topologies(check, storage_class);
    let Some(old) = old else { return };
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        if old[name] != storage_class[name] {
            let value = storage_class[name].clone();
            check.push(FieldError::invalid(name, value, "field is immutable"));
        }
    }
}

/// Validates the parameters of a class: number, total size, no empty keys.
pub(super) fn validate_parameters(check: &mut Check, parameters: &Value) {
    const MAX_PARAMETERS: usize = 512;
    const MAX_PARAMETERS_BYTES: usize = 256 << 10;
    if fields(parameters).count() > MAX_PARAMETERS {
        check.push(FieldError::too_long("parameters", MAX_PARAMETERS as u64));
        return;
    }
    let mut size = 0;
    for (key, value) in fields(parameters) {
        if key.is_empty() {
            check.push(FieldError::invalid("parameters", "", "field can not be empty."));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_PARAMETERS_BYTES {
        check.push(FieldError::too_long("parameters", MAX_PARAMETERS_BYTES as u64));
    }
}

/// Validates the allowed topologies of a class, which must be distinct.
fn validate_allowed_topologies(check: &mut Check, storage_class: &Value) {
    let terms = storage_class["allowedTopologies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    // kube-apiserver first compares with as many empty terms.
    let mut before = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        let path = format!("allowedTopologies[{index}]");
        let mut values_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (expression, path) in items(term, "matchLabelExpressions", &path) {
            let mut values = BTreeSet::new();
            check.require(&expression["values"], &format!("{path}.values"));
            for (value, path) in items(expression, "values", &path) {
                let value = value.as_str().unwrap_or_default();
                if !values.insert(value) {
                    check.push(FieldError::duplicate(&path, value));
                }
            }
            let (key, field) = (text(expression, "key"), format!("{path}.key"));
            check.push_messages(&field, key, &names::qualified_name_errors(key));
            if values_of.insert(key, values).is_some() {
                check.push(FieldError::duplicate(&field, key));
            }
        }
        if before.contains(&values_of) {
            let field = format!("{path}.matchLabelExpressions");
            check.push(FieldError::duplicate(&field, ""));
        }
        before.push(values_of);
    }
}
