//! Validation of the schema of a CustomResourceDefinition, and the rules of structural schemas.

use super::completeness::check_completeness;
use super::defaults;
use super::list_types::wrong_type;
use super::schema_checks::{SchemaChecks, unsupported_keywords};
use crate::field::FieldError;
use crate::go_regexp;
use serde_json::{Map, Value, json};

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
/// Some errors keep others from being reported, as on the real server: defaults are checked if the schema is structural, the rules of a
/// schema if those are valid, too, and nothing else is wrong in this schema and below. The message of a pattern's syntax error is not
/// the real server's.
pub fn check_structural(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // The real server cannot convert other schemas to the form in which it checks whether they are structural.
    let is_convertible = is_convertible(schema);
    if is_convertible {
        check_invariants(schema, SchemaPosition::Root, path, &mut errors);
        check_completeness(schema, path, &mut errors);
        if errors.is_empty() {
            defaults::check_defaults(schema, path, &mut errors);
        }
    }
    let has_valid_structure = is_convertible && errors.is_empty();
    if schema["nullable"] == true {
        errors.push(FieldError::forbidden(
            &format!("{path}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    errors.extend(SchemaChecks::run(schema, path, has_valid_structure));
    if !is_convertible && errors.is_empty() {
        let detail = "OpenAPIV3Schema 'schema' is not supported";
        errors.push(FieldError::invalid(path, "", detail));
    }
    errors
}

/// True if neither the schema nor those within it use what structural schemas cannot express.
pub(super) fn is_convertible(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return true;
    };
    let branches = ["allOf", "anyOf", "oneOf"].iter();
    let branches = branches.filter_map(|name| schema[name].as_array()).flatten();
    let nested = ["items", "additionalProperties", "not"].iter();
    let nested = nested.filter_map(|name| fields.get(*name));
    let mut properties = schema["properties"].as_object().into_iter().flatten();
    unsupported_keywords(schema).next().is_none()
        && schema["$schema"].as_str().is_none_or(str::is_empty)
        && !schema["items"].is_array()
        && schema["x-kubernetes-preserve-unknown-fields"] != false
        && properties.all(|(_, schema)| is_convertible(schema))
        && branches.chain(nested).all(is_convertible)
}

fn check_invariants(schema: &Value, level: SchemaPosition, path: &str, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    let at = |name: &str| format!("{path}.{name}");
    let ty = schema["type"].as_str().unwrap_or_default();
    check_type(schema, ty, level, path, errors);
    check_extensions(schema, path, errors);
    check_metadata(schema, level, path, errors);
    let int_or_string = [&schema["anyOf"], &schema["allOf"][0]["anyOf"]].map(is_int_or_string);
    check_values(schema, int_or_string, path, errors);
    let values = &schema["additionalProperties"];
    if !values.is_null() && level == SchemaPosition::Root {
        errors.push(FieldError::forbidden(
            &at("additionalProperties"),
            "must not be used at the root",
        ));
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        check_invariants(schema, SchemaPosition::Field, &path, errors);
    }
    check_invariants(values, SchemaPosition::Field, &at("additionalProperties"), errors);
    check_invariants(&schema["items"], SchemaPosition::Item, &at("items"), errors);
}

fn check_type(schema: &Value, ty: &str, level: SchemaPosition, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let is = |name: &str| schema[name] == true;
    if ty == "array" && schema["items"].is_null() {
        errors.push(FieldError::required(&at("items"), "must be specified"));
    }
    if is("x-kubernetes-embedded-resource") && ty != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(wrong_type(&at("type"), ty, detail));
    } else if ty.is_empty()
        && !is("x-kubernetes-int-or-string")
        && !is("x-kubernetes-preserve-unknown-fields")
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
    for (name, expected) in [
        ("kind", "string"),
        ("apiVersion", "string"),
        ("metadata", "object"),
    ] {
        let field = schema["properties"].get(name);
        if let Some(field) = field.filter(|field| field["type"] != expected) {
            let ty = field["type"].as_str().unwrap_or_default();
            let at = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(&at, ty, format!("must be {expected}")));
        }
    }
    let Some(metadata) = schema["properties"].get("metadata") else {
        return;
    };
    let says_more = metadata
        .as_object()
        .into_iter()
        .flatten()
        .any(|(name, value)| match name.as_str() {
            "type" | "default" => false,
            "properties" => value
                .as_object()
                .is_some_and(|fields| fields.keys().any(|name| name != "name" && name != "generateName")),
            _ => true,
        });
    if level == SchemaPosition::Root && says_more {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(
            &format!("{path}.properties[metadata]"),
            detail,
        ));
    }
}

/// True for the only junctors that may contain types.
fn is_int_or_string(branches: &Value) -> bool {
    *branches == json!([{"type": "integer"}, {"type": "string"}])
}

/// Checks the value validations, and the logical junctors (`allOf`, ...), which may contain only value validations. `int_or_string` says
/// whether `anyOf` and that of the first of `allOf` are skipped.
fn check_values(schema: &Value, int_or_string: [bool; 2], path: &str, errors: &mut Vec<FieldError>) {
    if let Some(pattern) = schema["pattern"].as_str()
        && let Err(error) = go_regexp::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: error parsing regexp: {error}");
        errors.push(FieldError::invalid(&format!("{path}.pattern"), pattern, detail));
    }
    let [skips_any_of, skips_first] = int_or_string;
    for name in ["anyOf", "allOf", "oneOf"] {
        for (index, branch) in schema[name].as_array().into_iter().flatten().enumerate() {
            if name != "anyOf" || !skips_any_of {
                let skips = name == "allOf" && index == 0 && skips_first;
                check_nested(branch, skips, &format!("{path}.{name}[{index}]"), errors);
            }
        }
    }
    check_nested(&schema["not"], false, &format!("{path}.not"), errors);
}

fn check_nested(schema: &Value, skips_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
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
        let allowed = value.is_null() || *value == false || *value == "";
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
        check_nested(schema, false, &below, errors);
    }
    check_nested(&schema["items"], false, &format!("{path}.items"), errors);
    check_values(schema, [skips_any_of, false], path, errors);
}
