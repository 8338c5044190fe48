//! Validation of admission policies and their bindings. Expressions are stored; only match conditions are compiled.

use super::{Check, items, names, text, webhooks};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const RESERVED_WORDS: [&str; 22] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
    "",
];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

pub(super) fn validate_validating_policy(check: &mut Check, policy: &Value, subresource: &str) {
    if !subresource.is_empty() {
        return;
    }
    let spec = &policy["spec"];
    validate_common(check, spec, &[]);
    let is_empty = |name: &str| spec[name].as_array().is_none_or(Vec::is_empty);
    if is_empty("validations") && is_empty("auditAnnotations") {
        let detail = "validations or auditAnnotations must contain at least one item";
        for name in ["validations", "auditAnnotations"] {
            check.push(FieldError::required(&format!("spec.{name}"), detail));
        }
    }
    for (validation, path) in items(spec, "validations", "spec") {
        if text(validation, "expression").trim().is_empty() {
            check.push(FieldError::required(
                &format!("{path}.expression"),
                "expression is not specified",
            ));
        }
        for name in ["messageExpression", "message"] {
            let (value, field) = (text(validation, name), format!("{path}.{name}"));
            if !value.is_empty() && value.trim().is_empty() {
                check.push(FieldError::invalid(
                    &field,
                    value,
                    "must be non-empty if specified",
                ));
            } else if name == "message" && value.trim().contains(['\n', '\r']) {
                check.push(FieldError::invalid(&field, value, "must not contain line breaks"));
            }
        }
        check.require_supported(validation, "reason", &path, &REASONS);
    }
    let mut keys = BTreeSet::new();
    for (annotation, path) in items(spec, "auditAnnotations", "spec") {
        let (key, field) = (text(annotation, "key"), format!("{path}.key"));
        check.push_messages(&field, key, &names::qualified_name_errors(key));
        if text(annotation, "valueExpression").trim().is_empty() {
            let detail = "valueExpression is not specified";
            check.push(FieldError::required(&format!("{path}.valueExpression"), detail));
        }
        if !keys.insert(key) {
            check.push(FieldError::duplicate(&field, key));
        }
    }
}

pub(super) fn validate_mutating_policy(check: &mut Check, policy: &Value) {
    let spec = &policy["spec"];
    validate_common(check, spec, &["*", "CONNECT", "CREATE", "UPDATE"]);
    if spec["mutations"].as_array().is_none_or(Vec::is_empty) {
        check.push(FieldError::required(
            "spec.mutations",
            "mutations must contain at least one item",
        ));
    }
    for (mutation, path) in items(spec, "mutations", "spec") {
        const TYPES: [(&str, &str); 2] = [
            ("ApplyConfiguration", "applyConfiguration"),
            ("JSONPatch", "jsonPatch"),
        ];
        let ty = text(mutation, "patchType");
        if ty.is_empty() {
            check.push(FieldError::required(&format!("{path}.patchType"), ""));
        } else if !TYPES.iter().any(|(known, _)| *known == ty) {
            let known = TYPES.map(|(known, _)| known);
            check.push(FieldError::not_supported(&format!("{path}.patchType"), ty, known));
        } else {
            for (known, name) in TYPES {
                let field = format!("{path}.{name}");
                match (known == ty, mutation[name].is_null()) {
                    (true, true) => {
                        let detail = format!("must be specified when patchType is {ty}");
                        check.push(FieldError::required(&field, detail));
                    }
                    (true, false) if text(&mutation[name], "expression").trim().is_empty() => {
                        check.push(FieldError::required(&format!("{field}.expression"), ""));
                    }
                    (false, false) => {
                        let detail = format!("must not be specified when patchType is {ty}");
                        check.push(FieldError::invalid(&field, format!("{{{name}}}"), detail));
                    }
                    _ => {}
                }
            }
        }
    }
    check.require(
        &Value::from(text(spec, "reinvocationPolicy")),
        "spec.reinvocationPolicy",
    );
    if !text(spec, "reinvocationPolicy").is_empty() {
        check.require_supported(spec, "reinvocationPolicy", "spec", &["IfNeeded", "Never"]);
    }
}

/// Validates what both kinds of policies have. `operations`: the only ones that rules may name, if not empty.
fn validate_common(check: &mut Check, spec: &Value, operations: &[&str]) {
    check.require_supported(spec, "failurePolicy", "spec", &["Fail", "Ignore"]);
    if !spec["paramKind"].is_null() {
        validate_param_kind(check, &spec["paramKind"]);
    }
    let (constraints, path) = (&spec["matchConstraints"], "spec.matchConstraints");
    if constraints.is_null() {
        check.push(FieldError::required(path, ""));
    } else {
        validate_match_resources(check, constraints, path);
        check.require(
            &Value::Array(
                constraints["resourceRules"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default(),
            ),
            &format!("{path}.resourceRules"),
        );
        for (rule, _) in items(constraints, "resourceRules", path) {
            for operation in rule["operations"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !operations.is_empty() && !operations.contains(&operation) {
                    let field = format!("{path}.resourceRules.operations");
                    check.push(FieldError::not_supported(&field, operation, operations));
                }
            }
        }
    }
    webhooks::validate_match_conditions(check, spec, "spec");
    for (variable, path) in items(spec, "variables", "spec") {
        let name = text(variable, "name");
        if name.trim().is_empty() {
            check.push(FieldError::required(
                &format!("{path}.name"),
                "name is not specified",
            ));
        } else if !is_identifier(name) {
            let detail = "must be a valid CEL identifier";
            check.push(FieldError::invalid(&format!("{path}.name"), name, detail));
        }
        if text(variable, "expression").trim().is_empty() {
            check.push(FieldError::required(
                &format!("{path}.expression"),
                "expression is not specified",
            ));
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_word)
        && !RESERVED_WORDS.contains(&name)
}

fn validate_param_kind(check: &mut Check, kind: &Value) {
    let (version, path) = (text(kind, "apiVersion"), "spec.paramKind.apiVersion");
    if check.require(&Value::from(version), path) {
        let (group, version_part) = version.rsplit_once('/').unwrap_or(("", version));
        if group.contains('/') {
            let detail = format!("unexpected GroupVersion string: {version}");
            check.push(FieldError::invalid(path, version, detail));
        } else {
            let messages = names::subdomain_errors(group);
            if !group.is_empty() && !messages.is_empty() {
                check.push(FieldError::invalid(path, group, messages.join(",")));
            }
            let messages = names::dns_1035_errors(version_part);
            if version_part.is_empty() {
                check.push(FieldError::invalid(path, version, "version must be specified"));
            } else if !messages.is_empty() {
                check.push(FieldError::invalid(path, version_part, messages.join(",")));
            }
        }
    }
    let (kind, path) = (text(kind, "kind"), "spec.paramKind.kind");
    if check.require(&Value::from(kind), path) {
        let messages = names::dns_1035_errors(&kind.to_lowercase());
        if !messages.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                messages.join(",")
            );
            check.push(FieldError::invalid(path, kind, detail));
        }
    }
}

fn validate_match_resources(check: &mut Check, resources: &Value, path: &str) {
    check.require_supported(resources, "matchPolicy", path, &["Equivalent", "Exact"]);
    for name in ["namespaceSelector", "objectSelector"] {
        check.validate_label_selector(&resources[name], &format!("{path}.{name}"));
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (rule, path) in items(resources, name, path) {
            let mut known = BTreeSet::new();
            for (name, path) in items(rule, "resourceNames", &path) {
                let name = name.as_str().unwrap_or_default();
                for why in names::path_segment_errors(name) {
                    check.push(FieldError::invalid(&path, name, why));
                }
                if !known.insert(name) {
                    check.push(FieldError::duplicate(&path, name));
                }
            }
            webhooks::validate_rule(check, rule, &path);
        }
    }
}

pub(super) fn validate_binding(check: &mut Check, binding: &Value) {
    let spec = &binding["spec"];
    let policy = text(spec, "policyName");
    if check.require(&Value::from(policy), "spec.policyName") {
        check.push_messages("spec.policyName", policy, &names::subdomain_errors(policy));
    }
    validate_param_reference(check, &spec["paramRef"]);
    if !spec["matchResources"].is_null() {
        validate_match_resources(check, &spec["matchResources"], "spec.matchResources");
    }
    if binding["kind"] == "ValidatingAdmissionPolicyBinding" {
        validate_actions(check, spec);
    }
}

fn validate_param_reference(check: &mut Check, reference: &Value) {
    const PATH: &str = "spec.paramRef";
    if reference.is_null() {
        return;
    }
    let (name, selector) = (text(reference, "name"), &reference["selector"]);
    let exclusive = "name and selector are mutually exclusive";
    if !name.is_empty() {
        for why in names::path_segment_errors(name) {
            check.push(FieldError::invalid(&format!("{PATH}.name"), name, why));
        }
        if !selector.is_null() {
            check.push(FieldError::forbidden(&format!("{PATH}.name"), exclusive));
        }
    }
    if !selector.is_null() {
        check.validate_label_selector(selector, &format!("{PATH}.selector"));
        if !name.is_empty() {
            check.push(FieldError::forbidden(&format!("{PATH}.selector"), exclusive));
        }
    }
    if name.is_empty() && selector.is_null() {
        check.push(FieldError::required(
            PATH,
            "one of name or selector must be specified",
        ));
    }
    let action = text(reference, "parameterNotFoundAction");
    if check.require(&Value::from(action), &format!("{PATH}.parameterNotFoundAction")) {
        check.require_supported(reference, "parameterNotFoundAction", PATH, &["Deny", "Allow"]);
    }
}

fn validate_actions(check: &mut Check, spec: &Value) {
    let mut actions = BTreeSet::new();
    for (action, path) in items(spec, "validationActions", "spec") {
        let action = action.as_str().unwrap_or_default();
        if !["Audit", "Deny", "Warn"].contains(&action) {
            check.push(FieldError::not_supported(
                &path,
                action,
                ["Audit", "Deny", "Warn"],
            ));
        }
        if !actions.insert(action) {
            check.push(FieldError::duplicate(&path, action));
        }
    }
    if actions.contains("Deny") && actions.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and \
                      headers serves no purpose)";
        let value = spec["validationActions"].clone();
        check.push(FieldError::invalid("spec.validationActions", value, detail));
    }
    if actions.is_empty() {
        let detail = "at least one validation action is required";
        check.push(FieldError::required("spec.validationActions", detail));
    }
}
