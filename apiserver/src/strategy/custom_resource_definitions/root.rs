//! What a schema may have at its root if the status is a subresource.

use crate::meta::text;
use crate::status::Cause;
use serde_json::Value;

/// The keywords for which Go does not distinguish false from a missing value. Of all others, any value counts.
const FALSE_IS_UNSET: [&str; 3] = [
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];
/// Those for which it does not distinguish an empty text from a missing one.
const EMPTY_IS_UNSET: [&str; 2] = ["id", "$schema"];

/// The keywords that the real server visits before the type. It reports only the first error.
const BEFORE_TYPE: [&str; 3] = ["id", "$schema", "$ref"];

/// What a schema may have at its root if the status is a subresource, which is validated by its own part of the schema.
const ALLOWED_AT_ROOT: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// Those whose empty lists and maps are not kept in the schema.
const COLLECTIONS: [&str; 8] = [
    "enum",
    "allOf",
    "oneOf",
    "anyOf",
    "patternProperties",
    "dependencies",
    "definitions",
    "x-kubernetes-list-map-keys",
];

/// Refuses keywords that a validation of the status alone would ignore. `is_empty` says whether the client sent an empty list or map.
pub(super) fn check(schema: &Value, is_empty: impl Fn(&str) -> bool, path: &str, causes: &mut Vec<Cause>) {
    let keywords = schema.as_object().into_iter().flatten();
    let mut set: Vec<&str> = keywords
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, value)| is_set(name, value))
        .map(|(name, _)| name)
        .collect();
    set.extend(COLLECTIONS.into_iter().filter(|name| is_empty(name)));
    let ty = text(schema, "type");
    let has_other_type = !ty.is_empty() && ty != "object";
    if has_other_type && !BEFORE_TYPE.iter().any(|name| set.contains(name)) {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        causes.push(Cause::invalid(format!("{path}.type"), &schema["type"], why));
    } else if set.iter().any(|name| !ALLOWED_AT_ROOT.contains(name)) {
        let why = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern \
                   MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields \
                   XValidations] fields are allowed at the root of the schema if the status subresource is enabled";
        causes.push(Cause::invalid(path, schema, why));
    }
}

fn is_set(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(false) => !FALSE_IS_UNSET.contains(&name),
        Value::String(text) if text.is_empty() => !EMPTY_IS_UNSET.contains(&name),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_set_at_the_root_is_refused() {
        for (keyword, value, is_refused) in [
            ("nullable", json!(false), false),
            ("additionalProperties", json!(false), true),
            ("x-kubernetes-map-type", json!(""), true),
            ("oneOf", json!([]), true),
            ("required", json!([]), false),
            ("id", json!(""), false),
            ("format", json!("x"), false),
        ] {
            let mut causes = vec![];
            check(
                &json!({ "type": "object", keyword: value }),
                |_| false,
                "s",
                &mut causes,
            );
            assert_eq!(!causes.is_empty(), is_refused, "{keyword}");
        }
    }
}
