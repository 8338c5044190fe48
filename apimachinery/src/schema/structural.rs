//! Validation of the schema of a CustomResourceDefinition: structural schema and other rules.

use super::rule_checks::{self, RuleContext};
use super::rule_costs::{self, RuleCosts};
use super::{list_types_and_defaults, pattern};
use crate::field::FieldError;
use serde_json::{Map, Value, json};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED_KEYWORDS: [&str; 6] = [
    "$ref",
    "dependencies",
    "patternProperties",
    "additionalItems",
    "id",
    "definitions",
];

const EMPTY: &str = "must be empty to be structural";
const UNDEFINED: &str = "must be undefined to be structural";
const FALSE: &str = "must be false to be structural";

/// The position of a schema within its parent.
#[derive(Clone, Copy, PartialEq)]
enum SchemaPosition {
    Root,
    Item,
    Field,
}

/// Validates an `openAPIV3Schema` at this path, such as `spec.validation.openAPIV3Schema` (the path that the real server reports for a
/// definition whose versions share one schema).
///
/// The message of a rule's or pattern's syntax error is not the real server's. The costs of rules are checked if nothing else is wrong.
pub fn check_structural(schema: &Value, path: &str) -> Vec<FieldError> {
    let (mut errors, mut costs) = (Vec::new(), RuleCosts::default());
    let root = SchemaContext {
        level: SchemaPosition::Root,
        uncorrelated: None,
        max_values: Some(1),
    };
    visit(schema, root, path, &mut costs, &mut errors);
    list_types_and_defaults::check_defaults(schema, path, &mut errors);
    if errors.is_empty() {
        errors = costs.errors(path);
    }
    errors
}

/// What a nested schema inherits.
#[derive(Clone, Copy)]
struct SchemaContext<'a> {
    level: SchemaPosition,
    /// The ancestor below which old and new values cannot be matched.
    uncorrelated: Option<&'a str>,
    /// How many values with this schema an object can have; None if no limit is set.
    max_values: Option<u64>,
}

fn visit(
    schema: &Value,
    context: SchemaContext<'_>,
    path: &str,
    costs: &mut RuleCosts,
    errors: &mut Vec<FieldError>,
) {
    let SchemaContext {
        level, uncorrelated, ..
    } = context;
    let Some(fields) = schema.as_object() else { return };
    let at = |name: &str| format!("{path}.{name}");
    let ty = schema["type"].as_str().unwrap_or_default();
    for name in UNSUPPORTED_KEYWORDS
        .into_iter()
        .filter(|name| fields.contains_key(*name))
    {
        errors.push(FieldError::forbidden(
            &at(name),
            format!("{name} is not supported"),
        ));
    }
    if schema["uniqueItems"] == true {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&at("uniqueItems"), detail));
    }
    if schema["items"].is_array() {
        errors.push(FieldError::forbidden(
            &at("items"),
            "items must be a schema object and not an array",
        ));
    }
    if !ty.is_empty() && !TYPES.contains(&ty) {
        errors.push(FieldError::not_supported(&at("type"), ty, TYPES));
        return;
    }
    if level == SchemaPosition::Root && schema["nullable"] == true {
        errors.push(FieldError::forbidden(
            &at("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    check_type(schema, ty, level, path, errors);
    check_extensions(schema, path, errors);
    list_types_and_defaults::check_lists(schema, path, errors);
    check_metadata(schema, level, path, errors);
    let rule_context = RuleContext {
        is_object: level == SchemaPosition::Root,
        uncorrelated,
        max_values: context.max_values,
    };
    rule_checks::check_rules(schema, &rule_context, path, costs, errors);
    check_values(schema, path, errors);
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|properties| !properties.is_empty());
    let values = &schema["additionalProperties"];
    // True beside properties has no effect that would contradict them.
    if has_properties && (values.is_object() || *values == false) {
        errors.push(FieldError::forbidden(
            &at("additionalProperties"),
            "additionalProperties and properties are mutual exclusive",
        ));
    }
    if !values.is_null() && level == SchemaPosition::Root {
        errors.push(FieldError::forbidden(
            &at("additionalProperties"),
            "must not be used at the root",
        ));
    }
    let max_values = rule_costs::max_values(schema);
    let max_values = context
        .max_values
        .zip(max_values)
        .map(|(outer, own)| outer.saturating_mul(own));
    let here = |correlates: bool| uncorrelated.or((!correlates).then_some(path));
    let of = |level, uncorrelated| SchemaContext {
        level,
        uncorrelated,
        max_values,
    };
    let of_fields = of(
        SchemaPosition::Field,
        here(schema["x-kubernetes-map-type"] != "atomic"),
    );
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        visit(schema, of_fields, &path, costs, errors);
    }
    let of_values = of(SchemaPosition::Field, uncorrelated);
    visit(values, of_values, &at("additionalProperties"), costs, errors);
    let of_items = of(
        SchemaPosition::Item,
        here(schema["x-kubernetes-list-type"] == "map"),
    );
    visit(&schema["items"], of_items, &at("items"), costs, errors);
}

fn check_type(schema: &Value, ty: &str, level: SchemaPosition, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let is = |name: &str| schema[name] == true;
    if ty == "array" && schema["items"].is_null() {
        errors.push(FieldError::required(&at("items"), "must be specified"));
    }
    if is("x-kubernetes-embedded-resource") && ty != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if ty.is_empty() {
            FieldError::required(&at("type"), detail)
        } else {
            FieldError::invalid(&at("type"), ty, detail)
        });
    } else if ty.is_empty()
        && !is("x-kubernetes-int-or-string")
        && !is("x-kubernetes-preserve-unknown-fields")
        && !schema["$ref"].is_string()
    {
        let detail = match level {
            SchemaPosition::Root => "must not be empty at the root",
            SchemaPosition::Item => "must not be empty for specified array items",
            SchemaPosition::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&at("type"), detail));
    } else if level == SchemaPosition::Root && !ty.is_empty() && ty != "object" {
        errors.push(FieldError::invalid(&at("type"), ty, "must be object at the root"));
    }
}

fn check_extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    if schema[preserve] == false {
        errors.push(FieldError::invalid(
            &at(preserve),
            false,
            "must be true or undefined",
        ));
    }
    if schema["x-kubernetes-int-or-string"] == true {
        for name in [preserve, "x-kubernetes-embedded-resource"] {
            if schema[name] == true {
                errors.push(FieldError::invalid(
                    &at(name),
                    true,
                    "must be false if x-kubernetes-int-or-string is true",
                ));
            }
        }
    }
    if embedded && !schema["additionalProperties"].is_null() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&at("additionalProperties"), detail));
    }
    if embedded && schema[preserve] != true && schema["properties"].as_object().is_none_or(Map::is_empty) {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&at("properties"), detail));
    }
}

fn check_metadata(schema: &Value, level: SchemaPosition, path: &str, errors: &mut Vec<FieldError>) {
    if level != SchemaPosition::Root && schema["x-kubernetes-embedded-resource"] != true {
        return;
    }
    for name in ["kind", "apiVersion"] {
        if let Some(field) = schema["properties"]
            .get(name)
            .filter(|field| field["type"] != "string")
        {
            let ty = field["type"].as_str().unwrap_or_default();
            errors.push(FieldError::invalid(
                &format!("{path}.properties[{name}].type"),
                ty,
                "must be string",
            ));
        }
    }
    let Some(metadata) = schema["properties"].get("metadata") else {
        return;
    };
    let below = format!("{path}.properties[metadata]");
    if metadata["type"] != "object" {
        let ty = metadata["type"].as_str().unwrap_or_default();
        errors.push(FieldError::invalid(
            &format!("{below}.type"),
            ty,
            "must be object",
        ));
    }
    let says_more = metadata
        .as_object()
        .into_iter()
        .flatten()
        .any(|(name, value)| match name.as_str() {
            "type" | "description" | "default" => false,
            "properties" => value
                .as_object()
                .is_some_and(|fields| fields.keys().any(|name| name != "name" && name != "generateName")),
            _ => true,
        });
    if level == SchemaPosition::Root && says_more {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&below, detail));
    }
}

/// Checks the value validations, and the logical junctors (`allOf`, ...), which may contain only value validations.
fn check_values(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(pattern) = schema["pattern"].as_str()
        && let Err(error) = pattern::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: error parsing regexp: {error}");
        errors.push(FieldError::invalid(&format!("{path}.pattern"), pattern, detail));
    }
    // The only junctors that may contain types.
    let is_pattern = |branches: &Value| *branches == json!([{"type": "integer"}, {"type": "string"}]);
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    for name in ["anyOf", "allOf", "oneOf"] {
        for (index, branch) in schema[name].as_array().into_iter().flatten().enumerate() {
            let skips = int_or_string
                && ((name == "anyOf" && is_pattern(&schema[name]))
                    || (name == "allOf" && index == 0 && is_pattern(&branch["anyOf"])));
            if !skips {
                check_nested(
                    branch,
                    name == "allOf",
                    &format!("{path}.{name}[{index}]"),
                    errors,
                );
            }
        }
    }
    check_nested(&schema["not"], false, &format!("{path}.not"), errors);
}

fn check_nested(schema: &Value, may_have_rules: bool, path: &str, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    let forbidden = [
        ("type", EMPTY),
        ("additionalProperties", UNDEFINED),
        ("default", UNDEFINED),
        ("title", EMPTY),
        ("description", EMPTY),
        ("nullable", FALSE),
        ("x-kubernetes-preserve-unknown-fields", FALSE),
        ("x-kubernetes-embedded-resource", FALSE),
        ("x-kubernetes-int-or-string", FALSE),
        ("x-kubernetes-list-map-keys", EMPTY),
        ("x-kubernetes-list-type", UNDEFINED),
        ("x-kubernetes-map-type", UNDEFINED),
        ("x-kubernetes-validations", EMPTY),
    ];
    for (name, detail) in forbidden {
        let value = &schema[name];
        let allowed = value.is_null()
            || *value == false
            || *value == ""
            || (name == "x-kubernetes-validations" && may_have_rules);
        if !allowed {
            errors.push(FieldError::forbidden(&format!("{path}.{name}"), detail));
        }
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let below = format!("{path}.properties[{name}]");
        if name == "metadata" {
            errors.push(FieldError::forbidden(
                &below,
                "must not be specified in a nested context",
            ));
        }
        check_nested(schema, may_have_rules, &below, errors);
    }
    check_nested(&schema["items"], may_have_rules, &format!("{path}.items"), errors);
    check_values(schema, path, errors);
}
