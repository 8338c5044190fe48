//! Checks of a schema's defaults, and their decoding.

use super::rules::Rules;
use super::{Violations, embedded_resources, prune, validate};
use crate::field::FieldError;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Decodes the metadata of the resources that a schema has as defaults, as a definition is stored. Defaults that do not decode stay.
pub fn decode_defaults(schema: &mut Value) {
    decode_defaults_of(schema, true, false);
}

fn decode_defaults_of(schema: &mut Value, is_root: bool, is_metadata: bool) {
    if !schema.is_object() {
        return;
    }
    let is_resource = is_root || is_embedded(schema);
    let is_metadata = is_metadata && !is_resource;
    if !is_metadata && !schema["default"].is_null() {
        let mut default = schema["default"].clone();
        let resource = as_resource(schema, is_resource);
        if embedded_resources::decode(&mut default, &resource, "", false, &mut Vec::new()).is_ok() {
            schema["default"] = default;
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, schema) in properties.into_iter().flatten() {
        decode_defaults_of(schema, false, is_metadata || is_resource && is_object_field(name));
    }
    if let Some(items) = schema.get_mut("items") {
        decode_defaults_of(items, false, is_metadata);
    }
}

fn is_embedded(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

fn is_object_field(name: &str) -> bool {
    ["metadata", "apiVersion", "kind"].contains(&name)
}

/// Returns the schema of a resource as that of an embedded one, which the root of a schema is, too.
fn as_resource(schema: &Value, is_resource: bool) -> Cow<'_, Value> {
    if !is_resource || is_embedded(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    schema["x-kubernetes-embedded-resource"] = json!(true);
    Cow::Owned(schema)
}

/// Checks that defaults are valid for their schemas. Those within `additionalProperties` are not checked.
pub(super) fn check_defaults(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    visit_defaults(schema, true, &Surroundings::of(schema), path, errors);
}

/// Where a schema stands within the nearest resource around it.
struct Surroundings<'a> {
    resource: &'a Value,
    /// The fields that lead from the resource to the schema; `None` is an item of a list.
    steps: Vec<Option<&'a str>>,
    /// Within the metadata, `apiVersion` or `kind` of the resource, which may have fields that the schema lacks.
    is_metadata: bool,
}

impl<'a> Surroundings<'a> {
    /// The surroundings of a resource itself.
    fn of(resource: &'a Value) -> Self {
        Self {
            resource,
            steps: Vec::new(),
            is_metadata: false,
        }
    }

    fn below(&self, step: Option<&'a str>, is_metadata: bool) -> Self {
        Self {
            resource: self.resource,
            steps: self.steps.iter().copied().chain([step]).collect(),
            is_metadata: self.is_metadata || is_metadata,
        }
    }

    /// Returns a resource with a value at this place.
    fn resource_with(&self, value: &Value) -> Value {
        let steps = self.steps.iter().rev();
        let mut object = steps.fold(value.clone(), |value, step| match step {
            Some(name) => json!({ *name: value }),
            None => json!([value]),
        });
        for (name, text) in [("apiVersion", "validation/v1"), ("kind", "Validation")] {
            if let Value::Object(fields) = &mut object {
                fields.entry(name).or_insert_with(|| json!(text));
            }
        }
        object
    }
}

fn visit_defaults<'a>(
    schema: &'a Value,
    is_root: bool,
    surroundings: &Surroundings<'a>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !schema.is_object() {
        return;
    }
    let is_resource = is_root || is_embedded(schema);
    let own = Surroundings::of(schema);
    let surroundings = if is_resource { &own } else { surroundings };
    if !schema["default"].is_null() {
        let path = format!("{path}.default");
        if surroundings.is_metadata {
            check_metadata_default(schema, surroundings, &path, errors);
        } else {
            check_unknown_fields(schema, is_root, &path, errors);
            check_default(schema, is_resource, &path, errors);
        }
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let below = surroundings.below(Some(name), is_resource && is_object_field(name));
        let path = format!("{path}.properties[{name}]");
        visit_defaults(schema, false, &below, &path, errors);
    }
    let items = format!("{path}.items");
    visit_defaults(
        &schema["items"],
        false,
        &surroundings.below(None, false),
        &items,
        errors,
    );
}

fn check_unknown_fields(schema: &Value, is_root: bool, path: &str, errors: &mut Vec<FieldError>) {
    let (mut default, mut unknown) = (schema["default"].clone(), Vec::new());
    prune::prune(&mut default, schema, is_root, "", &mut unknown);
    if !unknown.is_empty() {
        let detail = "must not have unknown fields";
        errors.push(FieldError::invalid(path, schema["default"].clone(), detail));
    }
}

/// Checks a default within metadata, with which a resource must be valid.
fn check_metadata_default(
    schema: &Value,
    surroundings: &Surroundings<'_>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let default = &schema["default"];
    let (mut object, resource) = (surroundings.resource_with(default), surroundings.resource);
    let found = decode_and_check(&mut object, &as_resource(resource, true), "");
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    let why = match texts.as_slice() {
        [] => {
            errors.extend(violations(default, schema, false, path));
            return;
        }
        [text] => text.clone(),
        texts => format!("[{}]", texts.join(", ")),
    };
    let detail = format!("must result in valid metadata: {why}");
    errors.push(FieldError::invalid(path, default.clone(), detail));
}

fn check_default(schema: &Value, is_resource: bool, path: &str, errors: &mut Vec<FieldError>) {
    let mut default = schema["default"].clone();
    let mut found = decode_and_check(&mut default, &as_resource(schema, is_resource), path);
    if found.is_empty() {
        found = violations(&default, schema, is_resource, path);
    }
    errors.append(&mut found);
}

/// Decodes and checks the metadata of a value that may be, or contain, a resource.
fn decode_and_check(value: &mut Value, schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match embedded_resources::decode(value, schema, path, false, &mut Vec::new()) {
        Ok(()) => embedded_resources::check(value, schema, path, &mut errors),
        Err(error) => errors.push(error),
    }
    errors
}

/// Returns what is wrong with a default by its schema, which may be that of a whole resource.
fn violations(default: &Value, schema: &Value, is_resource: bool, path: &str) -> Vec<FieldError> {
    let mut patterns = validate::Patterns::new();
    validate::patterns(schema, &mut patterns);
    let validator = validate::Validator {
        patterns: &patterns,
        keeps_formats: true,
    };
    let mut found = validator
        .validate(default, None, &without_int_or_string(schema), "")
        .errors;
    let is_of_rules = found.is_empty();
    if is_of_rules {
        found = rule_violations(default, schema, is_resource);
    }
    for error in &mut found {
        error.field = match error.field.as_str() {
            "<nil>" => path.to_owned(),
            // Other errors have a dot before an index or a key, too.
            field if is_of_rules && field.starts_with('[') => format!("{path}{field}"),
            field => format!("{path}.{field}"),
        };
    }
    found
}

/// Returns the rules that are invalid, or that a default violates, whether it was there before or not. Rules that fail to evaluate for another
/// reason than the default's type are not reported: kube-cel may lack their functions.
fn rule_violations(default: &Value, schema: &Value, is_resource: bool) -> Vec<FieldError> {
    let Some(rules) = Rules::compile_checked(schema, is_resource) else {
        return Vec::new();
    };
    for old in [Some(default), None] {
        let mut found = Violations::default();
        rules.check(default, old, schema, &mut found);
        let violations = found.errors.into_iter().chain(found.unchanged);
        let violations: Vec<FieldError> = violations
            .filter(|error| {
                !error.detail.contains(" evaluating rule: ") || error.detail.starts_with("invalid data, ")
            })
            .collect();
        if !violations.is_empty() {
            return violations;
        }
    }
    Vec::new()
}

/// The real server does not restrict the type of defaults of integers or strings.
fn without_int_or_string(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .filter(|(name, _)| *name != "x-kubernetes-int-or-string")
            .map(|(name, value)| (name.clone(), without_int_or_string(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_int_or_string).collect(),
        other => other.clone(),
    }
}
