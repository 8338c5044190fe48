//! Validation of admission policies and their bindings.

use super::{Check, Constraint, FieldRule, array, conditions, items, names, text, webhooks};
use crate::cel::{self, Declarations, VariableTypes};
use serde_json::Value;

#[rustfmt::skip]
const VALIDATING_POLICY: &[FieldRule] = &[
    ("validations[].expression", Constraint::NotBlank("expression is not specified")),
    ("validations[].reason", Constraint::OneOf(&["Forbidden", "Invalid", "RequestEntityTooLarge"])),
];
#[rustfmt::skip]
const VALIDATING_POLICY_STATUS: &[FieldRule] = &[
    ("typeChecking.expressionWarnings[].warning", Constraint::Required("")),
    ("typeChecking.expressionWarnings[].fieldRef", Constraint::NotBlank("")),
];
#[rustfmt::skip]
const ANNOTATIONS: &[FieldRule] = &[
    ("auditAnnotations[].key", Constraint::Unique),
    ("auditAnnotations[].valueExpression", Constraint::NotBlank("valueExpression is not specified")),
];
#[rustfmt::skip]
const MUTATING_POLICY: &[FieldRule] = &[
    ("mutations", Constraint::Required("mutations must contain at least one item")),
    ("mutations[].patchType", Constraint::RequiredOneOf(&["ApplyConfiguration", "JSONPatch"])),
    ("mutations[]", Constraint::Checked(validate_mutation)),
];
const REINVOCATION: &[FieldRule] = &[(
    "reinvocationPolicy",
    Constraint::RequiredOneOf(&["IfNeeded", "Never"]),
)];
#[rustfmt::skip]
const POLICY: &[FieldRule] = &[
    ("failurePolicy", Constraint::OneOf(&["Fail", "Ignore"])),
    ("paramKind?", Constraint::Checked(validate_param_kind)),
    ("matchConstraints", Constraint::Required("")),
    ("matchConstraints?", MATCH_RESOURCES),
    ("matchConstraints?.resourceRules", Constraint::Required("")),
    ("variables[].name", Constraint::NotBlank("name is not specified")),
    ("variables[].name", Constraint::Checked(validate_variable_name)),
    ("variables[].expression", Constraint::NotBlank("expression is not specified")),
];
#[rustfmt::skip]
const MATCH_RESOURCES: Constraint = Constraint::Rules(&[
    ("matchPolicy", Constraint::OneOf(&["Equivalent", "Exact"])),
    ("namespaceSelector", Constraint::LabelSelector),
    ("objectSelector", Constraint::LabelSelector),
    ("resourceRules[].resourceNames[]", Constraint::Text(names::path_segment_errors)),
    ("resourceRules[].resourceNames[]", Constraint::Unique),
    ("resourceRules[]", Constraint::Checked(webhooks::validate_rule)),
    ("excludeResourceRules[].resourceNames[]", Constraint::Text(names::path_segment_errors)),
    ("excludeResourceRules[].resourceNames[]", Constraint::Unique),
    ("excludeResourceRules[]", Constraint::Checked(webhooks::validate_rule)),
]);
#[rustfmt::skip]
const BINDING: &[FieldRule] = &[
    ("policyName", Constraint::Named(names::subdomain_errors)),
    ("paramRef?", Constraint::Checked(validate_param_reference)),
    ("paramRef?.name", Constraint::OptionalName(names::path_segment_errors)),
    ("paramRef?.selector", Constraint::LabelSelector),
    ("paramRef?.parameterNotFoundAction", Constraint::RequiredOneOf(&["Deny", "Allow"])),
    ("matchResources?", MATCH_RESOURCES),
];
#[rustfmt::skip]
const ACTIONS: &[FieldRule] = &[
    ("validationActions", Constraint::Required("at least one validation action is required")),
    ("validationActions[]", Constraint::Only(&["Audit", "Deny", "Warn"])),
    ("validationActions[]", Constraint::Unique),
];

pub(super) fn validate_validating_policy(check: &mut Check, policy: &Value, subresource: &str) {
    if !subresource.is_empty() {
        let status = &policy["status"];
        check.apply(VALIDATING_POLICY_STATUS, status, None, "status");
        return conditions::validate_conditions(check, status, "status");
    }
    let spec = &policy["spec"];
    validate_common(check, spec);
    let is_empty = |name: &str| array(&spec[name]).is_empty();
    if is_empty("validations") && is_empty("auditAnnotations") {
        let detail = "validations or auditAnnotations must contain at least one item";
        for name in ["validations", "auditAnnotations"] {
            check.required(&format!("spec.{name}"), detail);
        }
    }
    check.apply(VALIDATING_POLICY, spec, None, "spec");
    let name = text(&policy["metadata"], "name");
    for (annotation, path) in items(spec, "auditAnnotations", "spec") {
        let (key, path) = (text(annotation, "key"), format!("{path}.key"));
        if name.is_empty() {
            check.invalid(&path, key, "requires metadata.name be non-empty");
        } else {
            check.validate_format(&path, &format!("{name}/{key}"), names::qualified_name_errors);
        }
    }
    check.apply(ANNOTATIONS, spec, None, "spec");
    validate_expressions(check, spec);
    for (validation, path) in items(spec, "validations", "spec") {
        for name in ["messageExpression", "message"] {
            let (value, field) = (text(validation, name), format!("{path}.{name}"));
            if !value.is_empty() && value.trim().is_empty() {
                check.invalid(&field, value, "must be non-empty if specified");
            } else if name == "message" && value.trim().contains(['\n', '\r']) {
                check.invalid(&field, value, "must not contain line breaks");
            }
        }
    }
}

pub(super) fn validate_mutating_policy(check: &mut Check, policy: &Value) {
    let spec = &policy["spec"];
    validate_common(check, spec);
    require_mutating_operations(check, spec, "matchConstraints");
    let known = validate_variables(check, spec);
    check.apply(MUTATING_POLICY, spec, None, "spec");
    let declared = Declarations {
        has_patch_types: true,
        // A mutation has the object with the variables, although there are none.
        variables: Some(&known),
        ..declarations(spec, &known)
    };
    for (mutation, path) in items(spec, "mutations", "spec") {
        let (name, result) = match text(mutation, "patchType") {
            "ApplyConfiguration" => ("applyConfiguration", "Object"),
            "JSONPatch" => ("jsonPatch", "list(JSONPatch)"),
            _ => continue,
        };
        let expression = text(&mutation[name], "expression").trim();
        let path = format!("{path}.{name}.expression");
        webhooks::validate_expression(check, expression, &declared, &[result], &path);
    }
    check.apply(REINVOCATION, spec, None, "spec");
}

fn validate_mutation(check: &mut Check, mutation: &Value, path: &str) {
    const TYPES: [(&str, &str); 2] = [
        ("ApplyConfiguration", "applyConfiguration"),
        ("JSONPatch", "jsonPatch"),
    ];
    let ty = text(mutation, "patchType");
    if !TYPES.iter().any(|(known, _)| *known == ty) {
        return;
    }
    for (known, name) in TYPES {
        let field = format!("{path}.{name}");
        match (known == ty, mutation[name].is_null()) {
            (true, true) => check.required(&field, format!("must be specified when patchType is {ty}")),
            (true, false) if text(&mutation[name], "expression").trim().is_empty() => {
                check.required(&format!("{field}.expression"), "");
            }
            (false, false) => {
                let detail = format!("must not be specified when patchType is {ty}");
                check.invalid(&field, format!("{{{name}}}"), detail);
            }
            _ => {}
        }
    }
}

/// The variables of the expressions of a policy.
fn declarations<'v>(spec: &Value, known: &'v VariableTypes) -> Declarations<'v> {
    Declarations {
        has_params: !spec["paramKind"].is_null(),
        has_authorizer: true,
        variables: (!array(&spec["variables"]).is_empty()).then_some(known),
        ..Declarations::default()
    }
}

/// Validates the expressions of the variables of a policy, in the order in which they see each other, and returns their types.
fn validate_variables(check: &mut Check, spec: &Value) -> VariableTypes {
    let mut known = VariableTypes::new();
    for (variable, path) in items(spec, "variables", "spec") {
        let expression = text(variable, "expression");
        if expression.trim().is_empty() {
            continue;
        }
        let checked = cel::check_expression(expression, &declarations(spec, &known), &[]);
        let ty = checked.unwrap_or_else(|why| {
            check.invalid(&format!("{path}.expression"), expression, why);
            cel::ANY_TYPE
        });
        known.insert(text(variable, "name").to_owned(), ty);
    }
    known
}

/// Validates the expressions of a validating policy.
fn validate_expressions(check: &mut Check, spec: &Value) {
    let known = validate_variables(check, spec);
    let declared = declarations(spec, &known);
    for (validation, path) in items(spec, "validations", "spec") {
        let expression = text(validation, "expression");
        webhooks::validate_expression(
            check,
            expression,
            &declared,
            &["bool"],
            &format!("{path}.expression"),
        );
        let expression = text(validation, "messageExpression");
        let declared = Declarations {
            has_authorizer: false,
            ..declared
        };
        let path = format!("{path}.messageExpression");
        webhooks::validate_expression(check, expression, &declared, &["string"], &path);
    }
    validate_annotations(check, spec, &declared);
}

fn validate_annotations(check: &mut Check, spec: &Value, declared: &Declarations<'_>) {
    const MAX_ANNOTATIONS: usize = 20;
    const MAX_EXPRESSION_BYTES: usize = 5 << 10;
    let annotations = &spec["auditAnnotations"];
    if array(annotations).len() > MAX_ANNOTATIONS {
        let detail = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
        check.invalid("spec.auditAnnotations", annotations.clone(), detail);
    }
    for (annotation, path) in items(spec, "auditAnnotations", "spec") {
        let (expression, path) = (
            text(annotation, "valueExpression"),
            format!("{path}.valueExpression"),
        );
        if expression.trim().len() > MAX_EXPRESSION_BYTES {
            let detail = format!("must not exceed {MAX_EXPRESSION_BYTES} bytes in length");
            check.required(&path, detail);
        } else {
            webhooks::validate_expression(check, expression, declared, &["string", "null_type"], &path);
        }
    }
}

/// Requires the rules of a mutating policy or its binding to name operations that can be mutated.
fn require_mutating_operations(check: &mut Check, spec: &Value, constraints: &str) {
    const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
    let rules = array(&spec[constraints]["resourceRules"]).iter();
    for operation in rules.flat_map(|rule| array(&rule["operations"])) {
        let operation = operation.as_str().unwrap_or_default();
        if !OPERATIONS.contains(&operation) {
            let field = format!("spec.{constraints}.resourceRules.operations");
            check.not_supported(&field, operation, OPERATIONS);
        }
    }
}

/// Validates what both kinds of policies have.
fn validate_common(check: &mut Check, spec: &Value) {
    check.apply(POLICY, spec, None, "spec");
    webhooks::validate_match_conditions(check, spec, !spec["paramKind"].is_null(), "spec");
}

fn validate_variable_name(check: &mut Check, name: &Value, path: &str) {
    let name = name.as_str().unwrap_or_default();
    if !name.trim().is_empty() && !is_identifier(name) {
        check.invalid(path, name, "must be a valid CEL identifier");
    }
}

fn is_identifier(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_word)
        && !cel::RESERVED_WORDS.contains(&name)
}

fn validate_param_kind(check: &mut Check, kind: &Value, _: &str) {
    let (version, path) = (text(kind, "apiVersion"), "spec.paramKind.apiVersion");
    if check.require(&Value::from(version), path) {
        let (group, version_part) = version.rsplit_once('/').unwrap_or(("", version));
        if group.contains('/') {
            let detail = format!("unexpected GroupVersion string: {version}");
            check.invalid(path, version, detail);
        } else {
            let messages = names::subdomain_errors(group);
            if !group.is_empty() && !messages.is_empty() {
                check.invalid(path, group, messages.join(","));
            }
            let messages = names::dns_1035_errors(version_part);
            if version_part.is_empty() {
                check.invalid(path, version, "version must be specified");
            } else if !messages.is_empty() {
                check.invalid(path, version_part, messages.join(","));
            }
        }
    }
    let (kind, path) = (text(kind, "kind"), "spec.paramKind.kind");
    if check.require(&Value::from(kind), path)
        && let Some(detail) = names::kind_error(kind)
    {
        check.invalid(path, kind, detail);
    }
}

pub(super) fn validate_binding(check: &mut Check, binding: &Value) {
    check.apply(BINDING, &binding["spec"], None, "spec");
    if binding["kind"] == "ValidatingAdmissionPolicyBinding" {
        validate_actions(check, &binding["spec"]);
    } else {
        require_mutating_operations(check, &binding["spec"], "matchResources");
    }
    if let Some(why) = cel::NO_CEL {
        check.forbidden("spec.policyName", why);
    }
}

fn validate_param_reference(check: &mut Check, reference: &Value, path: &str) {
    match (
        !text(reference, "name").is_empty(),
        !reference["selector"].is_null(),
    ) {
        (true, true) => {
            for name in ["name", "selector"] {
                check.forbidden(
                    &format!("{path}.{name}"),
                    "name and selector are mutually exclusive",
                );
            }
        }
        (false, false) => check.required(path, "one of name or selector must be specified"),
        _ => {}
    }
}

fn validate_actions(check: &mut Check, spec: &Value) {
    check.apply(ACTIONS, spec, None, "spec");
    let has = |action: &str| {
        array(&spec["validationActions"])
            .iter()
            .any(|other| other == action)
    };
    if has("Deny") && has("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and \
                      headers serves no purpose)";
        let value = spec["validationActions"].clone();
        check.invalid("spec.validationActions", value, detail);
    }
}
