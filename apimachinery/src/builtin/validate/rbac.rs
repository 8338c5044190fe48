//! Validation of RBAC roles and bindings.

use super::{Check, Constraint, FieldRule, array, items, names, text};
use serde_json::Value;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

#[rustfmt::skip]
const RESOURCE_RULE: &[FieldRule] = &[
    ("apiGroups", Constraint::Required("resource rules must supply at least one api group")),
    ("resources", Constraint::Required("resource rules must supply at least one resource")),
];
const ROLE_GROUP: &[FieldRule] = &[("apiGroup", Constraint::Only(&[RBAC_GROUP]))];
const ROLE_NAME: &[FieldRule] = &[("name", Constraint::Named(names::path_segment_errors))];

pub(super) fn validate_role(check: &mut Check, role: &Value) {
    let namespaced = role["kind"] == "Role";
    for (rule, path) in items(role, "rules", "") {
        let has = |name: &str| !array(&rule[name]).is_empty();
        let detail = "verbs must contain at least one value";
        check.require_with(&rule["verbs"], &format!("{path}.verbs"), detail);
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
                    check.invalid(&format!("{path}.nonResourceURLs"), value, detail);
                }
            }
            continue;
        }
        check.apply(RESOURCE_RULE, rule, None, &path);
    }
}

/// Validates the aggregation rule of a ClusterRole.
pub(super) fn validate_aggregation(check: &mut Check, role: &Value) {
    let aggregation = &role["aggregationRule"];
    let (list, field) = ("clusterRoleSelectors", "aggregationRule.clusterRoleSelectors");
    if aggregation.is_object() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        check.require_with(&aggregation[list], field, detail);
    }
    for (selector, path) in items(aggregation, list, "aggregationRule") {
        let error_count = check.errors.len();
        check.validate_label_selector(selector, &path);
        if check.errors.len() > error_count {
            check.invalid(&path, Value::Null, "invalid label selector.");
        }
    }
}

/// Validates a binding.
pub(super) fn validate_binding(check: &mut Check, binding: &Value, old: Option<&Value>) {
    let namespaced = binding["kind"] == "RoleBinding";
    let reference = &binding["roleRef"];
    check.apply(ROLE_GROUP, reference, None, "roleRef");
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&text(reference, "kind")) {
        check.not_supported("roleRef.kind", text(reference, "kind"), kinds);
    }
    check.apply(ROLE_NAME, reference, None, "roleRef");
    for (subject, path) in items(binding, "subjects", "") {
        validate_subject(check, subject, namespaced, &path);
    }
    if old.is_some_and(|old| old["roleRef"] != *reference) {
        check.invalid("roleRef", reference.clone(), "cannot change roleRef");
    }
}

fn validate_subject(check: &mut Check, subject: &Value, namespaced: bool, path: &str) {
    let group = text(subject, "apiGroup");
    check.require(&subject["name"], &format!("{path}.name"));
    let expected = match text(subject, "kind") {
        "ServiceAccount" => {
            let name = text(subject, "name");
            if !name.is_empty() {
                check.validate_format(&format!("{path}.name"), name, names::subdomain_errors);
            }
            if !namespaced {
                check.require(&subject["namespace"], &format!("{path}.namespace"));
            }
            ""
        }
        "User" | "Group" => RBAC_GROUP,
        other => {
            check.not_supported(
                &format!("{path}.kind"),
                other,
                ["ServiceAccount", "User", "Group"],
            );
            return;
        }
    };
    if group != expected {
        check.not_supported(&format!("{path}.apiGroup"), group, [expected]);
    }
}
