//! The schema of untagged enums of an integer and a string.

use kubewright_api_types::{is_restriction, restrict};
use serde_json::{Value, json};

use super::{
    keywords::{Fields, INT_OR_STRING, limits_of_format},
    merge::{Variant, kind_of_value},
};

/// Lifts untagged variants that are integers and strings, if nothing restricts them but what applies to one of the two.
pub(super) fn lift_int_or_string(fields: &mut Fields, variants: &[Variant]) -> bool {
    const OF_INTEGERS: &[&str] = &[
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ];
    const OF_STRINGS: &[&str] = &["format", "minLength", "maxLength", "pattern"];
    let [one, other] = variants else { return false };
    let (integer, text) = match [&one.schema, &other.schema].map(kind_of_value) {
        [Some("an integer"), Some("a string")] => (&one.schema, &other.schema),
        [Some("a string"), Some("an integer")] => (&other.schema, &one.schema),
        _ => return false,
    };
    if !restricts_by(integer, OF_INTEGERS) || !restricts_by(text, OF_STRINGS) {
        return false;
    }
    fields.insert(INT_OR_STRING.to_owned(), true.into());
    // The API server requires this form of the types, so that other alternatives are in `allOf`.
    restrict(fields, "anyOf", json!([{"type": "integer"}, {"type": "string"}]));
    for (keyword, value) in integer.iter().chain(text) {
        if is_restriction(keyword) && keyword != "format" {
            restrict(fields, keyword, value.clone());
        }
    }
    for (keyword, limit) in limits_of_format(integer) {
        restrict(fields, keyword, limit);
    }
    true
}

/// Returns whether a schema has only these restrictions, which values of another type fulfil, and no CEL rules.
fn restricts_by(schema: &Fields, keywords: &[&str]) -> bool {
    schema
        .iter()
        .all(|(keyword, value)| match (keyword.as_str(), value) {
            ("allOf" | "anyOf", Value::Array(schemas)) => schemas
                .iter()
                .filter_map(Value::as_object)
                .all(|schema| restricts_by(schema, keywords)),
            (keyword, _) if is_restriction(keyword) => keywords.contains(&keyword),
            (keyword, _) => !keyword.starts_with("x-kubernetes-"),
        })
}
