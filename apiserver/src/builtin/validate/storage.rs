//! Classes of storage, and how it is accessed.

use super::{Check, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

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

pub(super) fn class(check: &mut Check, class: &Value, old: Option<&Value>) {
    let provisioner = text(class, "provisioner");
    if check.required(&class["provisioner"], "provisioner") {
        let lower = provisioner.to_lowercase();
        check.messages("provisioner", &lower, &names::qualified(&lower));
    }
    parameters(check, &class["parameters"]);
    if !text(class, "reclaimPolicy").is_empty() {
        check.one_of_at(class, "reclaimPolicy", "reclaimPolicy", &["Delete", "Retain"]);
    }
    check.one_of_at(
        class,
        "volumeBindingMode",
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    );
    topologies(check, class);
    let Some(old) = old else { return };
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        if old[name] != class[name] {
            let value = check.empties.restored(&class[name], name);
            check.push(FieldError::invalid(name, value, "field is immutable"));
        }
    }
}

/// The parameters of a class: no keys without a name, and not too many.
fn parameters(check: &mut Check, parameters: &Value) {
    const MOST: usize = 512;
    const LONGEST: usize = 256 << 10;
    if fields(parameters).count() > MOST {
        check.push(FieldError::too_long("parameters", MOST as u64));
        return;
    }
    let mut size = 0;
    for (key, value) in fields(parameters) {
        if key.is_empty() {
            check.push(FieldError::invalid("parameters", "", "field can not be empty."));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > LONGEST {
        check.push(FieldError::too_long("parameters", LONGEST as u64));
    }
}

/// Where volumes of a class may be: terms that differ.
fn topologies(check: &mut Check, class: &Value) {
    let terms = class["allowedTopologies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    // The real server compares with as many empty terms first.
    let mut before = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        let path = format!("allowedTopologies[{index}]");
        let mut values_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (expression, path) in items(term, "matchLabelExpressions", &path) {
            let mut values = BTreeSet::new();
            check.required(&expression["values"], &format!("{path}.values"));
            for (value, path) in items(expression, "values", &path) {
                let value = value.as_str().unwrap_or_default();
                if !values.insert(value) {
                    check.push(FieldError::duplicate(&path, value));
                }
            }
            let (key, field) = (text(expression, "key"), format!("{path}.key"));
            check.messages(&field, key, &names::qualified(key));
            if values_of.insert(key, values).is_some() {
                check.push(FieldError::duplicate(&field, key));
            }
        }
        for _ in before.iter().filter(|other| **other == values_of) {
            let field = format!("{path}.matchLabelExpressions");
            check.push(FieldError::duplicate(&field, ""));
        }
        before.push(values_of);
    }
}
