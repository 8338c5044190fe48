//! Validation of resource quotas.

use super::resources::{validate_quantity_of, validate_quota_resource_name};
use super::{Check, array, fields};
use crate::meta::text;
use serde_json::Value;
use std::collections::BTreeSet;

const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// Scopes that exclude each other.
const CONFLICTS: &[[&str; 2]] = &[["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

/// Validates the spec of a quota, or its status if that is written.
pub(super) fn validate_quota(check: &mut Check, quota: &Value, old: Option<&Value>, subresource: &str) {
    if subresource == "status" {
        let status = &quota["status"];
        validate_amounts(check, &status["hard"], "status.hard");
        return validate_amounts(check, &status["used"], "status.used");
    }
    let spec = &quota["spec"];
    validate_amounts(check, &spec["hard"], "spec.hard");
    validate_scopes(check, spec);
    if spec["scopeSelector"].is_object() {
        validate_selector(check, spec);
    }
    let set = |spec: &Value| scopes(spec).map(str::to_owned).collect::<BTreeSet<_>>();
    if old.is_some_and(|old| set(&old["spec"]) != set(spec)) {
        check.invalid("spec.scopes", spec["scopes"].clone(), "field is immutable");
    }
}

fn validate_amounts(check: &mut Check, amounts: &Value, path: &str) {
    for (name, amount) in fields(amounts) {
        let path = format!("{path}[{name}]");
        validate_quota_resource_name(check, name, &path);
        validate_quantity_of(check, name, amount, &path);
    }
}

fn scopes(spec: &Value) -> impl Iterator<Item = &str> {
    array(&spec["scopes"]).iter().filter_map(Value::as_str)
}

fn validate_scopes(check: &mut Check, spec: &Value) {
    let (path, value) = ("spec.scopes", &spec["scopes"]);
    for scope in scopes(spec) {
        if !SCOPES.contains(&scope) {
            check.invalid(path, value.clone(), "unsupported scope");
        }
        for _ in excluded_resources(spec, scope) {
            check.invalid(path, value.clone(), "unsupported scope applied to resource");
        }
    }
    reject_conflicts(check, &scopes(spec).collect::<Vec<_>>(), value, path);
}

fn validate_selector(check: &mut Check, spec: &Value) {
    const PATH: &str = "spec.scopeSelector.matchExpressions";
    let (selector, mut seen) = (&spec["scopeSelector"], vec![]);
    for expression in array(&selector["matchExpressions"]) {
        let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
        if !SCOPES.contains(&scope) {
            check.invalid(&format!("{PATH}.scopeName"), scope, "unsupported scope");
        }
        for _ in excluded_resources(spec, scope) {
            check.invalid(PATH, selector.clone(), "unsupported scope applied to resource");
        }
        // The other scopes have values.
        let has_values = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if SCOPES.contains(&scope) && !has_values && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            check.invalid(&format!("{PATH}.operator"), operator, detail);
        }
        let (values, path) = (&expression["values"], format!("{PATH}.values"));
        match operator {
            "In" | "NotIn" if array(values).is_empty() => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                check.required(&path, detail);
            }
            "Exists" | "DoesNotExist" if !array(values).is_empty() => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                check.invalid(&path, values.clone(), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => check.invalid(
                &format!("{PATH}.operator"),
                operator,
                "not a valid selector operator",
            ),
        }
        seen.push(scope);
    }
    reject_conflicts(check, &seen, &spec["scopes"], PATH);
}

fn reject_conflicts(check: &mut Check, scopes: &[&str], value: &Value, path: &str) {
    for pair in CONFLICTS {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            check.invalid(path, value.clone(), "conflicting scopes");
        }
    }
}

/// Lists the limited resources of Kubernetes that the scope does not apply to.
fn excluded_resources<'a>(spec: &'a Value, scope: &'a str) -> impl Iterator<Item = &'a str> {
    let names = fields(&spec["hard"]).map(|(name, _)| name.as_str());
    names.filter(move |name| super::resources::is_quota_resource(name) && !applies_to(scope, name))
}

fn applies_to(scope: &str, resource: &str) -> bool {
    let is_compute = matches!(
        resource,
        "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
    );
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        scope if SCOPES.contains(&scope) => resource == "pods" || is_compute,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errors(spec: &Value, old: Option<&Value>) -> Vec<String> {
        let mut check = Check::default();
        let old = old.map(|old| json!({ "spec": old }));
        validate_quota(&mut check, &json!({ "spec": spec }), old.as_ref(), "");
        let errors = check.errors.iter();
        errors.map(|error| format!("{}: {error}", error.field)).collect()
    }

    #[track_caller]
    fn assert_error(spec: &Value, expected: &str) {
        let errors = errors(spec, None);
        assert!(errors.iter().any(|error| error.contains(expected)), "{errors:?}");
    }

    #[test]
    fn resources_have_known_names_and_whole_amounts_where_objects_are_counted() {
        let valid = json!({ "hard": {
            "pods": "1", "requests.cpu": "500m", "count/foos.demo.dev": "1", "requests.example.com/gpu": "2", "hugepages-2Mi": "2Mi",
        } });
        assert_eq!(errors(&valid, None), Vec::<String>::new());
        assert_error(
            &json!({ "hard": { "foo": "1" } }),
            "must be a standard resource for quota",
        );
        assert_error(
            &json!({ "hard": { "storage": "1" } }),
            "must be a standard resource for quota",
        );
        assert_error(
            &json!({ "hard": { "pods": "-1" } }),
            "must be greater than or equal to 0",
        );
        assert_error(&json!({ "hard": { "services": "1500m" } }), "must be an integer");
    }

    #[test]
    fn scopes_apply_to_the_resources_and_do_not_conflict() {
        let hard = json!({ "pods": "1" });
        let valid = json!({ "hard": hard, "scopes": ["BestEffort", "Terminating"] });
        assert_eq!(errors(&valid, None), Vec::<String>::new());
        assert_error(&json!({ "scopes": ["Nope"] }), "unsupported scope");
        let services = json!({ "hard": { "services": "1" }, "scopes": ["Terminating"] });
        assert_error(&services, "unsupported scope applied to resource");
        let both = json!({ "hard": hard, "scopes": ["BestEffort", "NotBestEffort"] });
        assert_error(&both, "conflicting scopes");
        assert_eq!(errors(&valid, Some(&valid)), Vec::<String>::new());
        let changed = errors(&json!({ "hard": hard, "scopes": ["Terminating"] }), Some(&valid));
        assert!(changed[0].contains("field is immutable"), "{changed:?}");
    }

    #[test]
    fn selectors_of_scopes_have_fitting_operators_and_values() {
        let expression = |scope: &str, operator: &str, values: Value| {
            let expression = json!({ "scopeName": scope, "operator": operator, "values": values });
            json!({ "hard": { "pods": "1" }, "scopeSelector": { "matchExpressions": [expression] } })
        };
        assert_eq!(
            errors(&expression("PriorityClass", "In", json!(["a"])), None),
            Vec::<String>::new()
        );
        assert_error(&expression("BestEffort", "In", json!(["a"])), "must be 'Exists'");
        assert_error(
            &expression("PriorityClass", "In", json!([])),
            "at least one value",
        );
        assert_error(
            &expression("PriorityClass", "Exists", json!(["a"])),
            "must be no value",
        );
        assert_error(
            &expression("Nope", "Like", json!([])),
            "not a valid selector operator",
        );
    }
}
