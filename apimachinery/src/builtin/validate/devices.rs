//! Validation of DeviceClasses, ResourceClaims and ResourceClaimTemplates.

use super::device_fields::{
    limited_items, reject_duplicates, validate_configuration, validate_fully_qualified_name,
    validate_toleration,
};
use super::{
    Check, Constraint, FieldRule, array, child, device_status, items, names, resources, text, volume,
};
use crate::cel;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MAX_ITEMS: usize = 32;
const MAX_SUBREQUESTS: usize = 8;
/// The longest expression of a selector, in bytes.
const MAX_EXPRESSION_BYTES: usize = 10 << 10;
/// The budget of an expression of a selector.
const SELECTOR_BUDGET: u64 = 1_000_000;

const SPEC_IS_IMMUTABLE: &[FieldRule] = &[("spec", Constraint::Immutable)];
pub(super) const NAME: &[FieldRule] = &[("name", Constraint::Text(names::label_errors))];
const CLASS_NAME: &[FieldRule] = &[("deviceClassName", Constraint::Named(names::subdomain_errors))];

/// The names of a claim's requests, each with those of its subrequests.
pub(super) struct RequestNames<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> RequestNames<'a> {
    pub(super) fn of(spec: &'a Value) -> Self {
        let subrequests = |request: &'a Value| array(&request["firstAvailable"]).iter();
        let names = array(&spec["devices"]["requests"]).iter().map(|request| {
            let subrequests = subrequests(request).map(|subrequest| text(subrequest, "name"));
            (text(request, "name"), subrequests.collect())
        });
        Self(names.collect())
    }

    /// Validates what names a request, or a request and its subrequest.
    pub(super) fn validate_reference(&self, check: &mut Check, name: &str, path: &str) {
        const DETAIL: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 2 {
            check.invalid(path, name, DETAIL);
            return;
        }
        for part in &parts {
            check.validate_format(path, part, names::label_errors);
        }
        let known = self.0.get(parts[0]);
        if known.is_none_or(|known| parts.get(1).is_some_and(|part| !known.contains(part))) {
            check.invalid(path, name, DETAIL);
        }
    }

    /// Validates the list `requests` of a constraint or configuration.
    pub(super) fn validate_references(&self, check: &mut Check, holder: &Value, path: &str) {
        let references = limited_items(check, holder, "requests", MAX_ITEMS, path);
        for (name, path) in &references {
            self.validate_reference(check, name.as_str().unwrap_or_default(), path);
        }
        reject_duplicates(check, &references, |name| name.as_str().unwrap_or_default());
    }
}

pub(super) fn validate_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    let spec = &class["spec"];
    validate_selectors(check, spec, "spec");
    let is_stored = old.is_some_and(|old| old["spec"]["config"] == spec["config"]);
    for (config, path) in limited_items(check, spec, "config", MAX_ITEMS, "spec") {
        validate_configuration(check, config, is_stored, &path);
    }
    if let Some(name) = spec["extendedResourceName"].as_str()
        && !resources::is_extended(name)
    {
        let detail = "must be a valid extended resource name";
        check.invalid("spec.extendedResourceName", name, detail);
    }
}

pub(super) fn validate_claim(check: &mut Check, claim: &Value, old: Option<&Value>, subresource: &str) {
    match old {
        None => validate_spec(check, &claim["spec"], "spec"),
        Some(_) if subresource.is_empty() => check.apply(SPEC_IS_IMMUTABLE, claim, old, ""),
        Some(old) => device_status::validate_claim_status(check, claim, old),
    }
}

pub(super) fn validate_template(check: &mut Check, template: &Value, old: Option<&Value>) {
    let spec = &template["spec"];
    volume::validate_template_metadata(check, &spec["metadata"], "spec.metadata");
    validate_spec(check, &spec["spec"], "spec.spec");
    check.apply(SPEC_IS_IMMUTABLE, template, old, "");
}

fn validate_spec(check: &mut Check, spec: &Value, path: &str) {
    let (devices, path) = (&spec["devices"], child(path, "devices"));
    let names = RequestNames::of(spec);
    let requests = limited_items(check, devices, "requests", MAX_ITEMS, &path);
    for (request, path) in &requests {
        validate_request(check, request, path);
    }
    reject_duplicates(check, &requests, |request| text(request, "name"));
    for (constraint, path) in limited_items(check, devices, "constraints", MAX_ITEMS, &path) {
        names.validate_references(check, constraint, &path);
        validate_attribute(check, constraint, &path);
    }
    for (config, path) in limited_items(check, devices, "config", MAX_ITEMS, &path) {
        names.validate_references(check, config, &path);
        validate_configuration(check, config, false, &path);
    }
}

/// Validates the attribute that devices have in common, or in which they differ.
fn validate_attribute(check: &mut Check, constraint: &Value, path: &str) {
    let given = ["matchAttribute", "distinctAttribute"]
        .into_iter()
        .find(|name| !constraint[*name].is_null());
    if let Some(name) = given {
        validate_fully_qualified_name(check, &constraint[name], &child(path, name));
    } else {
        let detail = r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#;
        check.required(path, detail);
    }
}

fn validate_request(check: &mut Check, request: &Value, path: &str) {
    check.apply(NAME, request, None, path);
    let exactly = &request["exactly"];
    let has_first = !array(&request["firstAvailable"]).is_empty();
    let one = "exactly one of `exactly` or `firstAvailable` is required";
    match (exactly.is_null(), has_first) {
        (true, false) => check.required(path, one),
        (false, true) => {
            let detail = format!("{one}, but multiple fields are set");
            check.invalid(path, Value::Null, detail);
        }
        (false, false) => validate_device_request(check, exactly, &child(path, "exactly")),
        (true, true) => {
            let requests = limited_items(check, request, "firstAvailable", MAX_SUBREQUESTS, path);
            for (request, path) in &requests {
                check.apply(NAME, request, None, path);
                validate_device_request(check, request, path);
            }
            reject_duplicates(check, &requests, |request| text(request, "name"));
        }
    }
}

fn validate_device_request(check: &mut Check, request: &Value, path: &str) {
    check.apply(CLASS_NAME, request, None, path);
    validate_selectors(check, request, path);
    let (count, field) = (request["count"].as_i64().unwrap_or(0), child(path, "count"));
    match text(request, "allocationMode") {
        "All" if count != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            check.invalid(&field, count, detail);
        }
        "ExactCount" if count <= 0 => check.invalid(&field, count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        other => check.not_supported(&child(path, "allocationMode"), other, ["All", "ExactCount"]),
    }
    for (toleration, path) in items(request, "tolerations", path) {
        validate_toleration(check, toleration, &path);
    }
}

fn validate_selectors(check: &mut Check, holder: &Value, path: &str) {
    for (selector, path) in limited_items(check, holder, "selectors", MAX_ITEMS, path) {
        let path = child(&path, "cel");
        if selector["cel"].is_null() {
            check.required(&path, "");
        } else {
            validate_expression(
                check,
                text(&selector["cel"], "expression"),
                &child(&path, "expression"),
            );
        }
    }
}

fn validate_expression(check: &mut Check, expression: &str, path: &str) {
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
