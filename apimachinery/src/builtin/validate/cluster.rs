//! Validation of RuntimeClasses and APIServices.

use super::{Check, Constraint, FieldRule, items, names, resources, text, tolerations, webhooks};
use serde_json::Value;
use std::collections::BTreeSet;

#[rustfmt::skip]
const HANDLER: &[FieldRule] = &[
    ("handler", Constraint::Named(names::label_errors)),
    ("handler", Constraint::Immutable),
];
const SCHEDULING: &[FieldRule] = &[
    ("scheduling.nodeSelector", Constraint::Labels),
    (
        "scheduling",
        Constraint::Checked(tolerations::validate_tolerations),
    ),
];
#[rustfmt::skip]
const API_SERVICE: &[FieldRule] = &[
    ("group", Constraint::OptionalName(names::subdomain_errors)),
    ("version", Constraint::Text(names::dns_1035_errors)),
    ("groupPriorityMinimum", Constraint::Number(1, 20_000, "must be positive and less than 20000")),
    ("versionPriority", Constraint::Number(1, 1_000, "must be positive and less than 1000")),
    ("service?.namespace", Constraint::Required("")),
    ("service?.name", Constraint::Required("")),
    ("service?.port", webhooks::SERVICE_PORT),
];

pub(super) fn validate_runtime_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    check.apply(HANDLER, class, old, "");
    resources::validate_overhead(check, &class["overhead"]["podFixed"], "overhead");
    check.apply(SCHEDULING, class, old, "");
    let mut seen = BTreeSet::new();
    for (toleration, path) in items(&class["scheduling"], "tolerations", "scheduling") {
        if !seen.insert(["key", "operator", "value", "effect"].map(|name| text(toleration, name))) {
            check.duplicate(&path, toleration.clone());
        }
    }
}

pub(super) fn validate_api_service(check: &mut Check, service: &Value, subresource: &str) {
    if !subresource.is_empty() {
        const STATUS: &[FieldRule] = &[(
            "conditions[].status",
            Constraint::Only(&["True", "False", "Unknown"]),
        )];
        return check.apply(STATUS, &service["status"], None, "status");
    }
    let (spec, name) = (&service["spec"], text(&service["metadata"], "name"));
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let required = format!("{version}.{group}");
    if !name.is_empty() && name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        check.invalid("metadata.name", name, detail);
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        check.required("spec.group", detail);
    }
    check.apply(API_SERVICE, spec, None, "spec");
    let (bundle, insecure) = (text(spec, "caBundle"), spec["insecureSkipTLSVerify"] == true);
    let insecure_field = "spec.insecureSkipTLSVerify";
    if spec["service"].is_null() {
        if !bundle.is_empty() {
            let value = format!("{} bytes", bundle.trim_end_matches('=').len() * 3 / 4);
            let detail = "local APIServices may not have a caBundle";
            check.invalid("spec.caBundle", value, detail);
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            check.invalid(insecure_field, true, detail);
        }
        return;
    }
    if insecure && !bundle.is_empty() {
        check.invalid(insecure_field, true, "may not be true if caBundle is present");
    }
}
