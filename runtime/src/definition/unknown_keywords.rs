//! Finds keywords that a schema of a custom resource does not have. Without an error, a misspelt one would be left out of the definition.

use kubewright_api_types::definition;
use serde_json::{Map, Value};

use super::{
    keywords::{Fields, RULES, field_path},
    references::RUST_TYPE,
};
use crate::did_you_mean::did_you_mean;

/// The type of a schema in `kubewright-api-types`.
const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";
/// The type of a CEL rule.
const RULE: &str = "apiextensions.v1.ValidationRule";

/// The keywords of JSON Schema, OpenAPI and kube that custom resources do not have. schemars and kube write some; they are left out of the
/// definition.
const NOT_OF_KUBERNETES: [&str; 29] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$vocabulary",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "discriminator",
    "else",
    "examples",
    "if",
    "maxContains",
    "minContains",
    "prefixItems",
    "propertyNames",
    "readOnly",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "writeOnly",
    "x-kubernetes-struct-type",
];

/// Fails if the schema, whose references are resolved, has unknown keywords.
///
/// # Errors
/// The error has each field's path, the keyword and the most similar known one.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    let root_type = schema["title"].as_str().unwrap_or_default();
    visit(schema, "", root_type, &mut found);
    found.dedup();
    if found.is_empty() {
        Ok(())
    } else {
        Err(found.join("; "))
    }
}

/// Visits a schema within that of the type `around`.
fn visit(schema: &Value, path: &str, around: &str, found: &mut Vec<String>) {
    let Value::Object(fields) = schema else { return };
    let place = if path.is_empty() { "the object" } else { path };
    let mut add = |what: &str, keyword: &str, known: Option<&str>| {
        let fix = known.map_or_else(
            || "remove it".to_owned(),
            |known| format!("did you mean `{known}`?"),
        );
        found.push(format!(
            "{place} of {around} has the unknown {what} `{keyword}`: {fix}"
        ));
    };
    for keyword in fields.keys().filter(|keyword| !is_known(keyword)) {
        let similar = did_you_mean(keyword, names(SCHEMA));
        // Other extensions are for other programs.
        let is_for_others = keyword.starts_with("x-") && !keyword.starts_with("x-kubernetes-");
        let is_similar = similar.is_some_and(|similar| similar.starts_with("x-kubernetes-"));
        if !is_for_others || is_similar {
            add("keyword", keyword, similar);
        }
    }
    for rule in elements(fields.get(RULES)) {
        let unknown = rule.keys().filter(|name| names(RULE).all(|known| known != *name));
        for name in unknown {
            add(
                &format!("field of {RULES}"),
                name,
                did_you_mean(name, names(RULE)),
            );
        }
    }
    let rust_type = fields.get(RUST_TYPE).and_then(Value::as_str);
    visit_nested(fields, path, rust_type.unwrap_or(around), found);
}

/// Visits the schemas within a schema.
fn visit_nested(fields: &Fields, path: &str, rust_type: &str, found: &mut Vec<String>) {
    let element = format!("{path}[]");
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    visit(schema, &field_path(path, name), rust_type, found);
                }
            }
            ("patternProperties", Value::Object(patterns)) => {
                for schema in patterns.values() {
                    visit(schema, &element, rust_type, found);
                }
            }
            ("items" | "prefixItems", Value::Array(schemas)) => {
                for schema in schemas {
                    visit(schema, &element, rust_type, found);
                }
            }
            ("items" | "additionalItems" | "additionalProperties", schema) => {
                visit(schema, &element, rust_type, found);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                for schema in schemas {
                    visit(schema, path, rust_type, found);
                }
            }
            ("not", schema) => visit(schema, path, rust_type, found),
            _ => {}
        }
    }
}

fn is_known(keyword: &str) -> bool {
    keyword.starts_with("x-kubewright-")
        || NOT_OF_KUBERNETES.contains(&keyword)
        || names(SCHEMA).any(|known| known == keyword)
}

/// Returns the names of the fields of a type of Kubernetes.
fn names(ty: &str) -> impl Iterator<Item = &'static str> {
    let map = definition(ty).and_then(|ty| ty.as_map());
    map.into_iter()
        .flat_map(|(map, _)| map.fields.keys())
        .map(|name| &**name)
}

fn elements(list: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
}
