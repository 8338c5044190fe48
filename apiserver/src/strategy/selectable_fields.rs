//! The selectable fields of a CustomResourceDefinition: which paths are valid.

use crate::field::FieldError;
use crate::meta::text;
use crate::status::Cause;
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_FIELDS: u64 = 8;

/// Requires selectable fields to be strings, integers or booleans in the schema.
pub(super) fn check(fields: &[Value], schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut known = BTreeSet::new();
    for (at, field) in fields.iter().enumerate() {
        let field_path = format!("{path}[{at}].jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            causes.push(Cause::required(field_path, ""));
            continue;
        }
        let mut refuse = |why: &str| causes.push(Cause::invalid(&field_path, &field["jsonPath"], why));
        let (names, field_schema) = match resolve(json_path, schema) {
            Ok(found) => found,
            Err(why) => {
                refuse(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if names.first() == Some(&"metadata") {
            refuse("must not point to fields in metadata");
        }
        if !matches!(text(field_schema, "type"), "string" | "integer" | "boolean") {
            refuse(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            );
        }
        if !known.insert(names) {
            causes.push(Cause::from(FieldError::duplicate(&field_path, json_path)));
        }
    }
    if known.len() as u64 > MAX_FIELDS {
        causes.push(Cause::from(FieldError::too_many(path, known.len(), MAX_FIELDS)));
    }
}

/// Returns the names in a path, and the schema of what it points to.
fn resolve<'a>(path: &'a str, schema: &'a Value) -> Result<(Vec<&'a str>, &'a Value), String> {
    let (mut schema, mut names, mut rest) = (schema, vec![], path);
    while !rest.is_empty() {
        let (separator, after) = split_token(rest);
        match separator {
            "." if after.is_empty() => return Err("unexpected end of JSON path".to_owned()),
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let (name, after) = split_token(after);
        let properties = schema["properties"].as_object();
        let field = match properties.filter(|properties| !properties.is_empty()) {
            Some(properties) => properties.get(name),
            None => schema.get("additionalProperties"),
        };
        schema = field.ok_or("does not refer to a valid field")?;
        names.push(name);
        rest = after;
    }
    Ok((names, schema))
}

/// Splits a separator, or the text before one, from a path.
fn split_token(path: &str) -> (&str, &str) {
    let separators = ['.', '[', ']'];
    let length = if path.starts_with(separators) {
        1
    } else {
        path.find(separators).unwrap_or(path.len())
    };
    path.split_at(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_selectable_fields_are_checked() {
        let text = json!({ "type": "string" });
        let schema = json!({ "properties": {
            "spec": { "properties": { "a": text, "m": { "additionalProperties": text }, "o": { "type": "object" } } },
            "metadata": { "properties": { "name": text } },
        } });
        for (path, expected) in [
            (".spec.a", ""),
            (".spec.m.x", ""),
            ("", "Required value"),
            ("spec.a", "is an invalid path: expected [ or . but got: spec"),
            (
                ".spec.m['x']",
                "is an invalid path: array notation is not allowed",
            ),
            (".spec.", "is an invalid path: unexpected end of JSON path"),
            (".spec.b", "is an invalid path: does not refer to a valid field"),
            (".metadata.name", "must not point to fields in metadata"),
            (
                ".spec.o",
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ),
        ] {
            let mut causes = vec![];
            check(&[json!({ "jsonPath": path })], &schema, "f", &mut causes);
            let found = causes
                .first()
                .map(|cause| cause.message.as_str())
                .unwrap_or_default();
            assert!(
                found.ends_with(expected) && found.is_empty() == expected.is_empty(),
                "{path}: {found}"
            );
        }
        let same = json!({ "jsonPath": ".spec.a" });
        let mut causes = vec![];
        check(&[same.clone(), same], &schema, "f", &mut causes);
        assert_eq!(causes[0].message, "Duplicate value: \".spec.a\"");
    }
}
