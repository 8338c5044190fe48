//! Validation of resource.k8s.io: the rules on names, requests, selectors and node selection. Opaque parameters are stored as sent.

use super::{Check, Constraint, FieldRule, array, items, names, node_selector, text};
use crate::cel;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_REQUESTS: usize = 32;
/// The longest expression of a selector, in bytes.
const MAX_EXPRESSION_BYTES: usize = 10 << 10;
/// The budget of an expression of a selector.
const SELECTOR_BUDGET: u64 = 1_000_000;

const SPEC_IS_IMMUTABLE: &[FieldRule] = &[("spec", Constraint::Immutable)];
const SELECTORS: &[FieldRule] = &[
    ("selectors", Constraint::MaxItems(MAX_REQUESTS)),
    ("selectors[].cel", Constraint::Required("")),
    (
        "selectors[].cel?.expression",
        Constraint::Checked(validate_selector),
    ),
];
#[rustfmt::skip]
const CLAIM: &[FieldRule] = &[
    ("devices.requests", Constraint::MaxItems(MAX_REQUESTS)),
    ("devices.requests[].name", Constraint::Named(names::label_errors)),
    ("devices.requests[]", Constraint::Checked(validate_request)),
    ("devices", Constraint::Checked(|check, devices, path| reject_duplicate_names(check, devices, "requests", path))),
];
const EXACT_REQUEST: &[FieldRule] = &[
    ("deviceClassName", Constraint::Named(names::subdomain_errors)),
    ("allocationMode", Constraint::Only(&["All", "ExactCount"])),
];
#[rustfmt::skip]
const SLICE: &[FieldRule] = &[
    ("driver", Constraint::Named(|driver| names::subdomain_errors(&driver.to_lowercase()))),
    ("driver", Constraint::Immutable),
    ("nodeName", Constraint::Immutable),
    ("pool.name", Constraint::Checked(validate_pool_name)),
    ("pool.name", Constraint::Immutable),
    ("pool.resourceSliceCount", Constraint::Number(1, i64::MAX, "must be greater than zero")),
    ("pool.generation", Constraint::Within(0, i64::MAX, "must be greater than or equal to zero")),
    ("devices", Constraint::MaxItems(128)),
    ("devices[].name", Constraint::Named(names::label_errors)),
];

pub(super) fn validate_class(check: &mut Check, class: &Value) {
    check.apply(SELECTORS, &class["spec"], None, "spec");
}

pub(super) fn validate_claim(check: &mut Check, claim: &Value, old: Option<&Value>, subresource: &str) {
    match old {
        None => check.apply(CLAIM, &claim["spec"], None, "spec"),
        Some(_) if subresource.is_empty() => check.apply(SPEC_IS_IMMUTABLE, claim, old, ""),
        Some(_) => {}
    }
}

pub(super) fn validate_template(check: &mut Check, template: &Value, old: Option<&Value>) {
    check.apply(CLAIM, &template["spec"]["spec"], None, "spec.spec");
    check.apply(SPEC_IS_IMMUTABLE, template, old, "");
}

fn validate_request(check: &mut Check, request: &Value, path: &str) {
    let exactly = &request["exactly"];
    let has_first = !array(&request["firstAvailable"]).is_empty();
    let one = "exactly one of `exactly` or `firstAvailable` is required";
    match (exactly.is_null(), has_first) {
        (true, false) => check.required(path, one),
        (false, true) => {
            let detail = format!("{one}, but multiple fields are set");
            check.invalid(path, "{`exactly`, `firstAvailable`}", detail);
        }
        (false, false) => validate_exact_request(check, exactly, &format!("{path}.exactly")),
        (true, true) => {
            const NAME: &[FieldRule] = &[("firstAvailable[].name", Constraint::Named(names::label_errors))];
            check.apply(NAME, request, None, path);
            for (request, path) in items(request, "firstAvailable", path) {
                validate_exact_request(check, request, &path);
            }
        }
    }
}

fn validate_selector(check: &mut Check, expression: &Value, path: &str) {
    let expression = expression.as_str().unwrap_or_default();
    if expression.len() > MAX_EXPRESSION_BYTES {
        check.too_long(path, MAX_EXPRESSION_BYTES);
        return;
    }
    match cel::check_device_selector(expression) {
        Ok(cost) if cost <= SELECTOR_BUDGET => {}
        Ok(_) => check.forbidden(path, "too complex, exceeds cost limit"),
        Err(why) => check.invalid(path, expression, why),
    }
}

/// Rejects requests or devices with the name of another one.
fn reject_duplicate_names(check: &mut Check, holder: &Value, list: &str, path: &str) {
    let mut known = BTreeSet::new();
    for (named, path) in items(holder, list, path) {
        if !known.insert(text(named, "name")) {
            check.duplicate(&path, text(named, "name"));
        }
    }
}

fn validate_exact_request(check: &mut Check, request: &Value, path: &str) {
    check.apply(EXACT_REQUEST, request, None, path);
    check.apply(SELECTORS, request, None, path);
    let (count, field) = (request["count"].as_i64().unwrap_or(0), format!("{path}.count"));
    match text(request, "allocationMode") {
        "All" if count != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            check.invalid(&field, count, detail);
        }
        "ExactCount" if count <= 0 => check.invalid(&field, count, "must be greater than zero"),
        _ => {}
    }
}

pub(super) fn validate_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let spec = &slice["spec"];
    check.apply(SLICE, spec, old.map(|old| &old["spec"]), "spec");
    validate_node_choice(check, spec);
    reject_duplicate_names(check, spec, "devices", "spec");
}

fn validate_pool_name(check: &mut Check, name: &Value, path: &str) {
    if check.require(name, path) {
        let name = name.as_str().unwrap_or_default();
        for part in name.split('/') {
            check.push_messages(path, name, &names::subdomain_errors(part));
        }
    }
}

/// A slice says in exactly one way which nodes can use its devices.
fn validate_node_choice(check: &mut Check, spec: &Value) {
    let one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut chosen = vec![];
    match spec["nodeName"].as_str() {
        None => {}
        Some("") => {
            let detail = "must be either unset or set to a non-empty string";
            check.invalid("spec.nodeName", "", detail);
        }
        Some(node) => {
            chosen.push("`nodeName`");
            check.validate_format("spec.nodeName", node, names::subdomain_errors);
        }
    }
    if spec["nodeSelector"].is_object() {
        chosen.push("`nodeSelector`");
        node_selector::validate_node_selector(check, &spec["nodeSelector"], "spec.nodeSelector");
    }
    for (name, shown) in [
        ("allNodes", "`allNodes`"),
        ("perDeviceNodeSelection", "`perDeviceNodeSelection`"),
    ] {
        match spec[name].as_bool() {
            Some(true) => chosen.push(shown),
            Some(false) => {
                let detail = "must be either unset or set to true";
                check.invalid(&format!("spec.{name}"), false, detail);
            }
            None => {}
        }
    }
    match chosen.len() {
        0 => check.required("spec", one),
        1 => {}
        _ => {
            let detail = format!("{one}, but multiple fields are set");
            check.invalid("spec", format!("{{{}}}", chosen.join(", ")), detail);
        }
    }
}
