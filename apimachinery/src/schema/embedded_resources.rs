//! Embedded resources: they must have `apiVersion`, `kind` and valid metadata, which is decoded as that of objects is.

use super::{field_schema_at, join};
use crate::builtin;
use crate::field::FieldError;
use crate::meta::names;
use crate::types::{self, DecodeError, Type};
use serde_json::{Map, Value};

/// Whether a schema has defaults in the metadata of embedded resources.
pub(super) fn have_metadata_defaults(schema: &Value) -> bool {
    let Value::Object(fields) = schema else {
        return schema
            .as_array()
            .is_some_and(|schemas| schemas.iter().any(have_metadata_defaults));
    };
    let is_embedded = schema["x-kubernetes-embedded-resource"] == true;
    is_embedded && has_default(&schema["properties"]["metadata"])
        || fields.values().any(have_metadata_defaults)
}

fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("default") || fields.values().any(has_default),
        _ => false,
    }
}

/// Decodes the metadata of the embedded resources of a value: removes unknown fields, whose paths it adds to `unknown`, and normalizes the
/// others. Values of wrong types are removed with `drops_malformed`.
///
/// # Errors
///
/// The first value of a wrong type, without `drops_malformed`.
pub(super) fn decode(
    value: &mut Value,
    schema: &Value,
    path: &str,
    drops_malformed: bool,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            if schema["x-kubernetes-embedded-resource"] == true {
                decode_object(fields, path, drops_malformed, unknown)?;
            }
            for (name, value) in fields {
                if let Some((schema, below)) = field_schema_at(schema, name, path) {
                    decode(value, schema, &below, drops_malformed, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let below = format!("{path}[{index}]");
                decode(item, &schema["items"], &below, drops_malformed, unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn decode_object(
    fields: &mut Map<String, Value>,
    path: &str,
    drops_malformed: bool,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    for name in ["apiVersion", "kind"] {
        let Some(value) = fields.get(name).filter(|value| !value.is_string()) else {
            continue;
        };
        if !drops_malformed {
            let field = join(path, name);
            return Err(FieldError::invalid(&field, value.clone(), "must be a string"));
        }
        fields.remove(name);
    }
    let Some(metadata) = fields.get_mut("metadata") else {
        return Ok(());
    };
    let (ty, field) = (Type::named("meta.v1.ObjectMeta"), join(path, "metadata"));
    if drops_malformed {
        let Value::Object(values) = metadata else {
            return Ok(());
        };
        values.retain(|name, value| {
            let mut one = Value::from_iter([(name.clone(), value.clone())]);
            types::check(&mut one, &ty, false)
                .iter()
                .all(|error| mismatch(error).is_none())
        });
    }
    if let Some(why) = types::check(metadata, &ty, false).iter().find_map(mismatch) {
        return Err(FieldError::invalid(&field, metadata.clone(), why));
    }
    unknown.append(&mut prune_metadata(metadata, &field));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    types::normalize(metadata, &ty);
    if let Value::Object(metadata) = metadata {
        metadata.retain(|_, value| !value.is_null());
    }
    Ok(())
}

fn mismatch(error: &DecodeError) -> Option<&str> {
    match error {
        DecodeError::Mismatch(why) => Some(why),
        DecodeError::Unknown(_) => None,
    }
}

/// Removes the unknown fields of metadata, and returns their paths.
pub(super) fn prune_metadata(metadata: &mut Value, path: &str) -> Vec<String> {
    let errors = types::check(metadata, &Type::named("meta.v1.ObjectMeta"), true);
    let unknown = errors.into_iter().filter_map(|error| match error {
        DecodeError::Unknown(name) => Some(join(path, &name)),
        DecodeError::Mismatch(_) => None,
    });
    unknown.collect()
}

/// Validates the embedded resources of a value.
pub(super) fn check(value: &Value, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema["x-kubernetes-embedded-resource"] == true {
                check_object(fields, path, errors);
            }
            for (name, value) in fields {
                if let Some((schema, below)) = field_schema_at(schema, name, path) {
                    check(value, schema, &below, errors);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check(item, &schema["items"], &format!("{path}[{index}]"), errors);
            }
        }
        _ => {}
    }
}

fn check_object(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(metadata) = fields.get("metadata") {
        let field = join(path, "metadata");
        for (key, check) in [
            // A prefix may be a dot.
            (
                "generateName",
                (|text| names::path_segment_errors(&format!("{text}-"))) as fn(&str) -> Vec<&'static str>,
            ),
            ("name", names::path_segment_errors),
            ("namespace", names::label_errors),
        ] {
            let Some(text) = metadata[key].as_str().filter(|text| !text.is_empty()) else {
                continue;
            };
            let invalid = |why| FieldError::invalid(&format!("{field}.{key}"), text, why);
            errors.extend(check(text).into_iter().map(invalid));
        }
        errors.extend(builtin::validate_metadata(metadata, &field));
        errors.extend(builtin::validate_managed_fields(metadata, &field));
    }
    for name in ["apiVersion", "kind"] {
        let field = join(path, name);
        let text = match fields.get(name) {
            None => {
                errors.push(FieldError::required(&field, ""));
                continue;
            }
            Some(Value::String(text)) => text,
            Some(other) => {
                errors.push(FieldError::invalid(&field, other.clone(), "must be a string"));
                continue;
            }
        };
        if text.is_empty() {
            errors.push(FieldError::invalid(&field, "", "must not be empty"));
        } else if name == "apiVersion" && text.matches('/').count() > 1 {
            errors.push(FieldError::invalid(
                &field,
                text.as_str(),
                format!("unexpected GroupVersion string: {text}"),
            ));
        } else if name == "kind"
            && let Some(detail) = names::kind_error(text)
        {
            errors.push(FieldError::invalid(&field, text.as_str(), detail));
        }
    }
}
