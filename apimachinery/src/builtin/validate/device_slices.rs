//! Validation of ResourceSlices.

use super::device_fields::{
    EFFECTS, limited_items, reject_duplicates, validate_binding_conditions, validate_pool_name,
    validate_qualified_name,
};
use super::devices::NAME;
use super::{
    Check, Constraint, FieldRule, array, child, device_capacity, fields, names, node_selector, text, volume,
};
use serde_json::Value;

const MAX_DEVICES: usize = 128;
/// The maximum where devices have taints or consume counters.
const MAX_ADVANCED_DEVICES: usize = 64;
const MAX_COUNTER_SETS: usize = 8;
const MAX_COUNTERS: usize = 32;
const MAX_CONSUMED_SETS: usize = 2;
const MAX_TAINTS: usize = 16;
const MAX_ATTRIBUTES_AND_CAPACITIES: usize = 32;
const MAX_ATTRIBUTE_VALUES: usize = 48;
/// The longest name of an attribute with its domain.
const MAX_QUALIFIED_NAME_BYTES: usize = 63 + 1 + 32;

#[rustfmt::skip]
const SLICE: &[FieldRule] = &[
    ("driver", Constraint::Checked(volume::validate_driver_name)),
    ("pool.name", Constraint::Checked(validate_pool_name)),
    ("pool.resourceSliceCount", Constraint::Number(1, i64::MAX, "must be greater than zero")),
    ("pool.generation", Constraint::Within(0, i64::MAX, "must be greater than or equal to zero")),
    ("pool.name", Constraint::Immutable),
    ("driver", Constraint::Immutable),
    ("nodeName", Constraint::Immutable),
];
#[rustfmt::skip]
const TAINT: &[FieldRule] = &[
    ("key", Constraint::Text(names::qualified_name_errors)),
    ("value", Constraint::OptionalName(names::label_value_errors)),
    ("effect", Constraint::RequiredOneOf(EFFECTS)),
];

pub(super) fn validate_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let (spec, before) = (&slice["spec"], old.map(|old| &old["spec"]));
    check.apply(SLICE, spec, before, "spec");
    validate_node_choice(check, spec);
    let is_given = |check: &Check, list: &str| {
        !array(&spec[list]).is_empty() || check.explicit_empty.contains(&format!("spec.{list}"))
    };
    if is_given(check, "sharedCounters") && is_given(check, "devices") {
        check.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed");
    }
    let is_advanced = |device: &Value| {
        ["taints", "consumesCounters"]
            .iter()
            .any(|list| !array(&device[*list]).is_empty())
    };
    let max = if array(&spec["devices"]).iter().any(is_advanced) {
        MAX_ADVANCED_DEVICES
    } else {
        MAX_DEVICES
    };
    let before = array(&before.unwrap_or(&Value::Null)["devices"]);
    let devices = limited_items(check, spec, "devices", max, "spec");
    for (device, path) in &devices {
        let old = before.iter().find(|old| old["name"] == device["name"]);
        validate_device(check, device, old, spec["perDeviceNodeSelection"] == true, path);
    }
    reject_duplicates(check, &devices, |device| text(device, "name"));
    let sets = limited_items(check, spec, "sharedCounters", MAX_COUNTER_SETS, "spec");
    for (set, path) in &sets {
        validate_counters(check, set, "name", path);
    }
    reject_duplicates(check, &sets, |set| text(set, "name"));
}

/// Validates the counters of a set, which a field names.
fn validate_counters(check: &mut Check, set: &Value, name_field: &str, path: &str) {
    let (name, field) = (text(set, name_field), child(path, name_field));
    if check.require(&set[name_field], &field) {
        check.validate_format(&field, name, names::label_errors);
    }
    let field = child(path, "counters");
    let count = fields(&set["counters"]).count();
    if count == 0 {
        check.required(&field, "");
    } else if count > MAX_COUNTERS {
        check.too_many(&field, count, MAX_COUNTERS);
    } else {
        for (name, _) in fields(&set["counters"]) {
            check.validate_format(&field, name, names::label_errors);
        }
    }
}

/// A slice says in exactly one way which nodes can use its devices.
fn validate_node_choice(check: &mut Check, spec: &Value) {
    const ONE: &str =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut chosen = vec![];
    let empty = "must be either unset or set to a non-empty string";
    validate_node_name(check, spec, empty, "spec", &mut chosen);
    let selector = &spec["nodeSelector"];
    if selector.is_object() {
        chosen.push("nodeSelector");
        node_selector::validate_node_selector(check, selector, "spec.nodeSelector");
        let terms = &selector["nodeSelectorTerms"];
        if array(terms).len() != 1 {
            let detail = "must have exactly one node selector term";
            check.invalid("spec.nodeSelector.nodeSelectorTerms", terms.clone(), detail);
        }
    }
    validate_flag(check, spec, "allNodes", "spec", &mut chosen);
    validate_flag(check, spec, "perDeviceNodeSelection", "spec", &mut chosen);
    let many = format!("{ONE}, but multiple fields are set");
    report_choice(check, &chosen, ONE, &many, "spec");
}

fn validate_node_name(
    check: &mut Check,
    holder: &Value,
    empty: &str,
    path: &str,
    chosen: &mut Vec<&'static str>,
) {
    let path = child(path, "nodeName");
    match holder["nodeName"].as_str() {
        None => {}
        Some("") => check.invalid(&path, "", empty),
        Some(node) => {
            chosen.push("nodeName");
            check.validate_format(&path, node, names::subdomain_errors);
        }
    }
}

fn validate_flag(
    check: &mut Check,
    holder: &Value,
    name: &'static str,
    path: &str,
    chosen: &mut Vec<&'static str>,
) {
    match holder[name].as_bool() {
        Some(true) => chosen.push(name),
        Some(false) => check.invalid(&child(path, name), false, "must be either unset or set to true"),
        None => {}
    }
}

/// Reports a choice of no field, or of several.
fn report_choice(check: &mut Check, chosen: &[&str], none: &str, many: &str, path: &str) {
    match chosen.len() {
        0 => check.required(path, none),
        1 => {}
        _ => check.invalid(path, format!("{{`{}`}}", chosen.join("`, `")), many),
    }
}

fn validate_device(check: &mut Check, device: &Value, old: Option<&Value>, chooses_nodes: bool, path: &str) {
    check.apply(NAME, device, None, path);
    let (attributes, capacities) = (&device["attributes"], &device["capacity"]);
    let values = fields(attributes).count();
    let count = values + fields(capacities).count();
    if count > MAX_ATTRIBUTES_AND_CAPACITIES {
        let detail = format!(
            "the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES_AND_CAPACITIES}"
        );
        check.invalid(path, count, detail);
    }
    if values > MAX_ATTRIBUTE_VALUES {
        let detail = format!("the total number of attribute values must not exceed {MAX_ATTRIBUTE_VALUES}");
        check.invalid(path, values, detail);
    }
    for (name, attribute) in fields(attributes) {
        let field = child(path, "attributes");
        validate_qualified_name(check, name, &field);
        validate_attribute(check, attribute, &key_path(&field, name));
    }
    for (name, capacity) in fields(capacities) {
        let field = child(path, "capacity");
        validate_qualified_name(check, name, &field);
        let policy = &capacity["requestPolicy"];
        let path = child(&key_path(&field, name), "requestPolicy");
        if !policy.is_null() && device["allowMultipleAllocations"] == true {
            device_capacity::validate_request_policy(check, policy, text(capacity, "value"), &path);
        } else if !policy.is_null() {
            check.forbidden(&path, "allowMultipleAllocations must be true");
        }
    }
    if old.is_none_or(|old| old["taints"] != device["taints"]) {
        for (taint, path) in limited_items(check, device, "taints", MAX_TAINTS, path) {
            check.apply(TAINT, taint, None, &path);
        }
    }
    let sets = limited_items(check, device, "consumesCounters", MAX_CONSUMED_SETS, path);
    for (set, path) in &sets {
        validate_counters(check, set, "counterSet", path);
    }
    reject_duplicates(check, &sets, |set| text(set, "counterSet"));
    validate_device_nodes(check, device, chooses_nodes, path);
    validate_binding_conditions(check, device, path);
}

/// Returns the path of a key of a map, which is shortened in the middle.
fn key_path(path: &str, key: &str) -> String {
    let length = key.chars().count();
    if length <= MAX_QUALIFIED_NAME_BYTES {
        return format!("{path}[{key}]");
    }
    let kept = MAX_QUALIFIED_NAME_BYTES - 3;
    let start: String = key.chars().take(kept.div_ceil(2)).collect();
    let end: String = key.chars().skip(length - kept / 2).collect();
    format!("{path}[{start}...{end}]")
}

fn validate_attribute(check: &mut Check, attribute: &Value, path: &str) {
    const MAX_VALUE_BYTES: usize = 64;
    if let Some(value) = attribute["string"].as_str() {
        check.limit_bytes(value, MAX_VALUE_BYTES, &child(path, "string"));
    }
    if let Some(version) = attribute["version"].as_str() {
        let path = child(path, "version");
        if !device_capacity::is_semantic_version(version) {
            check.invalid(
                &path,
                version,
                "must be a string compatible with semver.org spec 2.0.0",
            );
        }
        check.limit_bytes(version, MAX_VALUE_BYTES, &path);
    }
    let given = ["bool", "int", "string", "version"].map(|kind| !attribute[kind].is_null());
    let detail = "exactly one value must be specified";
    match given.iter().filter(|given| **given).count() {
        0 => check.invalid(path, "", detail),
        1 => {}
        _ => check.invalid(path, attribute.clone(), detail),
    }
}

/// Validates which nodes can use a device, if each device of the slice says that.
fn validate_device_nodes(check: &mut Check, device: &Value, chooses_nodes: bool, path: &str) {
    const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    let is_given = ["nodeName", "nodeSelector", "allNodes"]
        .iter()
        .any(|name| !device[*name].is_null());
    if !chooses_nodes {
        if is_given {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
            check.invalid(path, Value::Null, detail);
        }
        return;
    }
    let mut chosen = vec![];
    validate_node_name(check, device, "must not be empty", path, &mut chosen);
    if device["nodeSelector"].is_object() {
        chosen.push("nodeSelector");
        let path = child(path, "nodeSelector");
        node_selector::validate_node_selector(check, &device["nodeSelector"], &path);
    }
    validate_flag(check, device, "allNodes", path, &mut chosen);
    report_choice(check, &chosen, ONE, ONE, path);
}
