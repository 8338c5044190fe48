//! Warnings about the schemas of CustomResourceDefinitions.

use crate::meta::text;
use crate::quote::quoted;
use crate::schema::is_recognized_format;
use serde_json::Value;

/// Warns about the formats of a definition's schemas that the API server ignores, once each; in an update, only about new ones.
pub(super) fn warn_formats(definition: &Value, old: &Value, warnings: &mut Vec<String>) {
    let known = unrecognized_formats(old);
    let formats = unrecognized_formats(definition).into_iter();
    warnings.extend(
        formats
            .filter(|format| !known.contains(format))
            .map(|format| format!("unrecognized format {}", quoted(format))),
    );
}

/// Returns the unrecognized formats in the schemas of all versions, in order and once each.
fn unrecognized_formats(definition: &Value) -> Vec<&str> {
    let mut formats = vec![];
    for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
        add_formats(&version["schema"]["openAPIV3Schema"], &mut formats);
    }
    formats
}

fn add_formats<'s>(schema: &'s Value, formats: &mut Vec<&'s str>) {
    // Also ends the recursion at fields that a schema lacks.
    if !schema.is_object() {
        return;
    }
    let format = text(schema, "format");
    if !format.is_empty() && !is_recognized_format(format, text(schema, "type")) && !formats.contains(&format)
    {
        formats.push(format);
    }
    add_formats(&schema["items"], formats);
    for name in ["allOf", "anyOf", "oneOf"] {
        for schema in schema[name].as_array().into_iter().flatten() {
            add_formats(schema, formats);
        }
    }
    add_formats(&schema["not"], formats);
    for (_, schema) in schema["properties"].as_object().into_iter().flatten() {
        add_formats(schema, formats);
    }
    add_formats(&schema["additionalProperties"], formats);
}
