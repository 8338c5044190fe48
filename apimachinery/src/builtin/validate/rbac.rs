//! Validation of RBAC roles and bindings.

use super::{Check, names, text};
use crate::field::FieldError;
use serde_json::Value;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate_role(check: &mut Check, role: &Value) {
    let namespaced = role["kind"] == "Role";
    for (index, rule) in role["rules"].as_array().into_iter().flatten().enumerate() {
        let path = format!("rules[{index}]");
        let has = |name: &str| rule[name].as_array().is_some_and(|values| !values.is_empty());
        if !has("verbs") {
            check.push(FieldError::required(
                &format!("{path}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if has("nonResourceURLs") {
            let mixed = ["apiGroups", "resources", "resourceNames"].into_iter().any(has);
            for (is_wrong, detail) in [
                (namespaced, "namespaced rules cannot apply to non-resource URLs"),
                (
                    mixed,
                    "rules cannot apply to both regular resources and non-resource URLs",
                ),
            ] {
                if is_wrong {
                    let value = rule["nonResourceURLs"].clone();
                    check.push(FieldError::invalid(
                        &format!("{path}.nonResourceURLs"),
                        value,
                        detail,
                    ));
                }
            }
            continue;
        }
        if !has("apiGroups") {
            check.push(FieldError::required(
                &format!("{path}.apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if !has("resources") {
            check.push(FieldError::required(
                &format!("{path}.resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

/// Validates the aggregation rule of a ClusterRole.
pub(super) fn validate_aggregation(check: &mut Check, role: &Value) {
    let aggregation = &role["aggregationRule"];
    let selectors = aggregation["clusterRoleSelectors"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if aggregation.is_object() && selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        check.push(FieldError::required(
            "aggregationRule.clusterRoleSelectors",
            detail,
        ));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = format!("aggregationRule.clusterRoleSelectors[{index}]");
        let error_count = check.errors.len();
        check.validate_label_selector(selector, &path);
        if check.errors.len() > error_count {
            let detail = "invalid label selector.";
            check.push(FieldError::invalid(&path, Value::Null, detail));
        }
    }
}

/// Validates a binding.
pub(super) fn validate_binding(check: &mut Check, binding: &Value, old: Option<&Value>) {
    let namespaced = binding["kind"] == "RoleBinding";
    let reference = &binding["roleRef"];
    if reference["apiGroup"] != RBAC_GROUP {
        check.push(FieldError::not_supported(
            "roleRef.apiGroup",
            text(reference, "apiGroup"),
            [RBAC_GROUP],
        ));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&text(reference, "kind")) {
        check.push(FieldError::not_supported(
            "roleRef.kind",
            text(reference, "kind"),
            kinds,
        ));
    }
    if check.require(&reference["name"], "roleRef.name") {
        let name = text(reference, "name");
        for reason in names::path_segment_errors(name) {
            check.push(FieldError::invalid("roleRef.name", name, reason));
        }
    }
    for (index, subject) in binding["subjects"].as_array().into_iter().flatten().enumerate() {
        validate_subject(check, subject, namespaced, &format!("subjects[{index}]"));
    }
    if old.is_some_and(|old| old["roleRef"] != *reference) {
        check.push(FieldError::invalid(
            "roleRef",
            reference.clone(),
            "cannot change roleRef",
        ));
    }
}

fn validate_subject(check: &mut Check, subject: &Value, namespaced: bool, path: &str) {
    let group = text(subject, "apiGroup");
    check.require(&subject["name"], &format!("{path}.name"));
    let expected = match text(subject, "kind") {
        "ServiceAccount" => {
            let name = text(subject, "name");
            if !name.is_empty() {
                check.push_messages(&format!("{path}.name"), name, &names::subdomain_errors(name));
            }
            if !namespaced {
                check.require(&subject["namespace"], &format!("{path}.namespace"));
            }
            ""
        }
        "User" | "Group" => RBAC_GROUP,
        other => {
            check.push(FieldError::not_supported(
                &format!("{path}.kind"),
                other,
                ["ServiceAccount", "User", "Group"],
            ));
            return;
        }
    };
    if group != expected {
        check.push(FieldError::not_supported(
            &format!("{path}.apiGroup"),
            group,
            [expected],
        ));
    }
}
