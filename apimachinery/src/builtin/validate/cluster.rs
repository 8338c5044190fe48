//! Validation of RuntimeClasses and APIServices.

use super::{Check, names, text, tolerations};
use crate::field::FieldError;
use serde_json::{Value, json};

pub(super) fn validate_runtime_class(check: &mut Check, class: &Value, old: Option<&Value>) {
    let handler = text(class, "handler");
    if check.require(&Value::from(handler), "handler") {
        check.push_messages("handler", handler, &names::label_errors(handler));
    }
    for (_, quantity) in super::fields(&class["overhead"]["podFixed"]) {
        check.reject_negative_quantity(quantity, "overhead.podFixed");
    }
    let scheduling = &class["scheduling"];
    check.validate_labels(&scheduling["nodeSelector"], "scheduling.nodeSelector");
    tolerations::validate_tolerations(
        check,
        &json!({ "tolerations": scheduling["tolerations"] }),
        "scheduling",
    );
    if old.is_some_and(|old| old["handler"] != class["handler"]) {
        check.push(FieldError::invalid("handler", handler, "field is immutable"));
    }
}

pub(super) fn validate_api_service(check: &mut Check, service: &Value, subresource: &str) {
    if !subresource.is_empty() {
        return validate_api_service_status(check, &service["status"]);
    }
    let (spec, name) = (&service["spec"], text(&service["metadata"], "name"));
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    let required = format!("{version}.{group}");
    if name != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        check.push(FieldError::invalid("metadata.name", name, detail));
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        check.push(FieldError::required("spec.group", detail));
    }
    for why in names::subdomain_errors(group)
        .into_iter()
        .filter(|_| !group.is_empty())
    {
        check.push(FieldError::invalid("spec.group", group, why));
    }
    for why in names::dns_1035_errors(version) {
        check.push(FieldError::invalid("spec.version", version, why));
    }
    for (field, max) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let value = spec[field].as_i64().unwrap_or(0);
        if !(1..=max).contains(&value) {
            let detail = format!("must be positive and less than {max}");
            check.push(FieldError::invalid(&format!("spec.{field}"), value, detail));
        }
    }
    let (bundle, insecure) = (text(spec, "caBundle"), spec["insecureSkipTLSVerify"] == true);
    let insecure_field = "spec.insecureSkipTLSVerify";
    let target = &spec["service"];
    if target.is_null() {
        if !bundle.is_empty() {
            let value = format!("{} bytes", bundle.len() / 4 * 3);
            let detail = "local APIServices may not have a caBundle";
            check.push(FieldError::invalid("spec.caBundle", value, detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            check.push(FieldError::invalid(insecure_field, true, detail));
        }
        return;
    }
    for field in ["namespace", "name"] {
        check.require(
            &Value::from(text(target, field)),
            &format!("spec.service.{field}"),
        );
    }
    if let Some(port) = target["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        check.push(FieldError::invalid("spec.service.port", port, detail));
    }
    if insecure && !bundle.is_empty() {
        check.push(FieldError::invalid(
            insecure_field,
            true,
            "may not be true if caBundle is present",
        ));
    }
}

fn validate_api_service_status(check: &mut Check, status: &Value) {
    for (condition, path) in super::items(status, "conditions", "status") {
        let (state, known) = (text(condition, "status"), ["True", "False", "Unknown"]);
        if !known.contains(&state) {
            check.push(FieldError::not_supported(&format!("{path}.status"), state, known));
        }
    }
}
