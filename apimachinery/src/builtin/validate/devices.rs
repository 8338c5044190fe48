//! Validation of resource.k8s.io: the rules on names, requests and node selection. Expressions and opaque parameters are stored as sent.

use super::{Check, items, names, node_selector, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const IMMUTABLE: &str = "field is immutable";
const MAX_REQUESTS: usize = 32;
const MAX_DEVICES: usize = 128;

pub(super) fn validate_class(check: &mut Check, class: &Value) {
    validate_selectors(check, &class["spec"], "spec");
}

pub(super) fn validate_claim(check: &mut Check, claim: &Value, old: Option<&Value>, subresource: &str) {
    match old {
        None => validate_claim_spec(check, &claim["spec"], "spec"),
        Some(old) if subresource.is_empty() => validate_unchanged(check, claim, old),
        Some(_) => {}
    }
}

pub(super) fn validate_template(check: &mut Check, template: &Value, old: Option<&Value>) {
    validate_claim_spec(check, &template["spec"]["spec"], "spec.spec");
    if let Some(old) = old {
        validate_unchanged(check, template, old);
    }
}

fn validate_unchanged(check: &mut Check, object: &Value, old: &Value) {
    if object["spec"] != old["spec"] {
        check.push(FieldError::invalid("spec", object["spec"].clone(), IMMUTABLE));
    }
}

fn validate_claim_spec(check: &mut Check, spec: &Value, path: &str) {
    let (devices, path) = (&spec["devices"], format!("{path}.devices"));
    check.limit_items(&devices["requests"], MAX_REQUESTS, &format!("{path}.requests"));
    let mut known = BTreeSet::new();
    for (request, path) in items(devices, "requests", &path) {
        let name = text(request, "name");
        validate_request_name(check, name, &format!("{path}.name"));
        let (exactly, first) = (&request["exactly"], request["firstAvailable"].as_array());
        let has_first = first.is_some_and(|first| !first.is_empty());
        let one = "exactly one of `exactly` or `firstAvailable` is required";
        match (exactly.is_null(), has_first) {
            (true, false) => check.push(FieldError::required(&path, one)),
            (false, true) => {
                let detail = format!("{one}, but multiple fields are set");
                check.push(FieldError::invalid(
                    &path,
                    "{`exactly`, `firstAvailable`}",
                    detail,
                ));
            }
            (false, false) => validate_request(check, exactly, &format!("{path}.exactly")),
            (true, true) => {
                for (request, path) in items(request, "firstAvailable", &path) {
                    validate_request_name(check, text(request, "name"), &format!("{path}.name"));
                    validate_request(check, request, &path);
                }
            }
        }
        if !known.insert(name) {
            check.push(FieldError::duplicate(&path, name));
        }
    }
}

fn validate_request_name(check: &mut Check, name: &str, path: &str) {
    if check.require(&Value::from(name), path) {
        check.push_messages(path, name, &names::label_errors(name));
    }
}

fn validate_request(check: &mut Check, request: &Value, path: &str) {
    let (class, field) = (
        text(request, "deviceClassName"),
        format!("{path}.deviceClassName"),
    );
    if check.require(&Value::from(class), &field) {
        check.push_messages(&field, class, &names::subdomain_errors(class));
    }
    validate_selectors(check, request, path);
    let (count, field) = (request["count"].as_i64().unwrap_or(0), format!("{path}.count"));
    match text(request, "allocationMode") {
        "All" if count != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            check.push(FieldError::invalid(&field, count, detail));
        }
        "ExactCount" if count <= 0 => {
            check.push(FieldError::invalid(&field, count, "must be greater than zero"));
        }
        "All" | "ExactCount" => {}
        other => {
            let field = format!("{path}.allocationMode");
            check.push(FieldError::not_supported(&field, other, ["All", "ExactCount"]));
        }
    }
}

fn validate_selectors(check: &mut Check, holder: &Value, path: &str) {
    check.limit_items(&holder["selectors"], MAX_REQUESTS, &format!("{path}.selectors"));
    for (selector, path) in items(holder, "selectors", path) {
        if selector["cel"].is_null() {
            check.push(FieldError::required(&format!("{path}.cel"), ""));
        } else {
            let expression = text(&selector["cel"], "expression");
            check.require(&Value::from(expression), &format!("{path}.cel.expression"));
        }
    }
}

pub(super) fn validate_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let spec = &slice["spec"];
    let driver = text(spec, "driver");
    if check.require(&Value::from(driver), "spec.driver") {
        check.push_messages(
            "spec.driver",
            driver,
            &names::subdomain_errors(&driver.to_lowercase()),
        );
    }
    validate_pool(check, &spec["pool"]);
    if let Some(old) = old {
        for (pointer, field) in [
            ("/pool/name", "spec.pool.name"),
            ("/driver", "spec.driver"),
            ("/nodeName", "spec.nodeName"),
        ] {
            let (now, before) = (spec.pointer(pointer), old["spec"].pointer(pointer));
            if now != before {
                check.push(FieldError::invalid(
                    field,
                    now.cloned().unwrap_or_default(),
                    IMMUTABLE,
                ));
            }
        }
    }
    validate_node_choice(check, spec);
    check.limit_items(&spec["devices"], MAX_DEVICES, "spec.devices");
    let mut known = BTreeSet::new();
    for (device, path) in items(spec, "devices", "spec") {
        let (name, field) = (text(device, "name"), format!("{path}.name"));
        if check.require(&Value::from(name), &field) {
            check.push_messages(&field, name, &names::label_errors(name));
        }
        if !known.insert(name) {
            check.push(FieldError::duplicate(&path, name));
        }
    }
}

fn validate_pool(check: &mut Check, pool: &Value) {
    let name = text(pool, "name");
    if check.require(&Value::from(name), "spec.pool.name") {
        for part in name.split('/') {
            check.push_messages("spec.pool.name", name, &names::subdomain_errors(part));
        }
    }
    let count = pool["resourceSliceCount"].as_i64().unwrap_or(0);
    if count <= 0 {
        let detail = "must be greater than zero";
        check.push(FieldError::invalid("spec.pool.resourceSliceCount", count, detail));
    }
    let generation = pool["generation"].as_i64().unwrap_or(0);
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        check.push(FieldError::invalid("spec.pool.generation", generation, detail));
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
            check.push(FieldError::invalid("spec.nodeName", "", detail));
        }
        Some(node) => {
            chosen.push("`nodeName`");
            check.push_messages("spec.nodeName", node, &names::subdomain_errors(node));
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
                check.push(FieldError::invalid(&format!("spec.{name}"), false, detail));
            }
            None => {}
        }
    }
    match chosen.len() {
        0 => check.push(FieldError::required("spec", one)),
        1 => {}
        _ => {
            let detail = format!("{one}, but multiple fields are set");
            check.push(FieldError::invalid(
                "spec",
                format!("{{{}}}", chosen.join(", ")),
                detail,
            ));
        }
    }
}
