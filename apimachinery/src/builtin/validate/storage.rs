//! Validation of StorageClasses and access modes.

use super::{Check, Constraint, FieldRule, array, fields, items, names, text};
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
    let access_modes = array(&spec["accessModes"]);
    if access_modes.is_empty() {
        check.required(&path, missing);
    }
    let (mut has_once_pod, mut has_others) = (false, false);
    for mode in access_modes.iter().filter_map(Value::as_str) {
        if !ACCESS_MODES.contains(&mode) {
            check.not_supported(&path, mode, ACCESS_MODES);
        } else if mode == "ReadWriteOncePod" {
            has_once_pod = true;
        } else {
            has_others = true;
        }
    }
    if has_once_pod && has_others {
        check.forbidden(&path, "may not use ReadWriteOncePod with other access modes");
    }
}

#[rustfmt::skip]
const STORAGE_CLASS: &[FieldRule] = &[
    ("provisioner", Constraint::Checked(validate_provisioner)),
    ("parameters", Constraint::Checked(|check, value, _| validate_parameters(check, value))),
    ("reclaimPolicy", Constraint::OptionalOneOf(&["Delete", "Retain"])),
    ("volumeBindingMode", Constraint::OneOf(&["Immediate", "WaitForFirstConsumer"])),
    ("parameters", Constraint::Immutable),
    ("provisioner", Constraint::Immutable),
    ("reclaimPolicy", Constraint::Immutable),
    ("volumeBindingMode", Constraint::Immutable),
];

pub(super) fn validate_storage_class(check: &mut Check, storage_class: &Value, old: Option<&Value>) {
    check.apply(STORAGE_CLASS, storage_class, old, "");
    validate_allowed_topologies(check, storage_class);
}

/// Validates the name of a provisioner or driver.
pub(super) fn validate_provisioner(check: &mut Check, name: &Value, path: &str) {
    if check.require(name, path) {
        let lower = name.as_str().unwrap_or_default().to_lowercase();
        check.validate_format(path, &lower, names::qualified_name_errors);
    }
}

/// Validates the parameters of a class: number, total size, no empty keys.
pub(super) fn validate_parameters(check: &mut Check, parameters: &Value) {
    const MAX_PARAMETERS: usize = 512;
    const MAX_PARAMETERS_BYTES: usize = 256 << 10;
    if fields(parameters).count() > MAX_PARAMETERS {
        check.too_long("parameters", MAX_PARAMETERS);
        return;
    }
    let mut size = 0;
    for (key, value) in fields(parameters) {
        if key.is_empty() {
            check.invalid("parameters", "", "field can not be empty.");
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_PARAMETERS_BYTES {
        check.too_long("parameters", MAX_PARAMETERS_BYTES);
    }
}

/// Validates the allowed topologies of a class, which must be distinct.
fn validate_allowed_topologies(check: &mut Check, storage_class: &Value) {
    let terms = array(&storage_class["allowedTopologies"]);
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
                    check.duplicate(&path, value);
                }
            }
            let (key, field) = (text(expression, "key"), format!("{path}.key"));
            check.validate_format(&field, key, names::qualified_name_errors);
            if values_of.insert(key, values).is_some() {
                check.duplicate(&field, key);
            }
        }
        if before.contains(&values_of) {
            let field = format!("{path}.matchLabelExpressions");
            check.duplicate(&field, "");
        }
        before.push(values_of);
    }
}
