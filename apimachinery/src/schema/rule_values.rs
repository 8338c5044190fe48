//! Values as rules see them: with types that depend on the schema, and with the names that fields have in rules.

use super::format::{duration_in_words, is_go_duration};
use crate::cel::{escaped, number_to_cel};
use crate::go_format;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Value as CelValue, functions};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Converts a value of a schema.
pub(super) fn to_cel(value: &Value, schema: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(truth) => CelValue::Bool(*truth),
        Value::Number(number) => number_to_cel(number),
        Value::String(text) => text_to_cel(text, schema),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_cel(item, &schema["items"]));
            CelValue::List(Arc::new(items.collect()))
        }
        Value::Object(fields) => {
            let values = &schema["additionalProperties"];
            // The keys of a map are no names of fields.
            let is_map = !values.is_null() && *values != false;
            // A field that is null is absent; an entry of a map is not.
            let present = fields.iter().filter(|(_, value)| is_map || !value.is_null());
            let entries = present.map(|(name, value)| {
                let schema = schema["properties"].get(name).unwrap_or(values);
                let key = if is_map { name.clone() } else { escaped(name) };
                (Key::String(Arc::new(key)), to_cel(value, schema))
            });
            let map: HashMap<Key, CelValue> = entries.collect();
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

/// Returns the error that rules read instead of a value that is not of its schema's type: schemas also accept a float without a fraction as an
/// integer, and any default of an integer or string.
pub(super) fn invalid_data(value: &Value, schema: &Value) -> Option<String> {
    if schema["x-kubernetes-int-or-string"] == true {
        let is_valid = value.is_string() || value.is_i64();
        let why = "invalid data, expected XIntOrString value to be either a string or integer";
        return (!is_valid).then(|| why.to_owned());
    }
    let ty = schema["type"].as_str()?;
    let (is_valid, expected) = match ty {
        "object" => (value.is_object(), "a map"),
        "array" => (value.is_array(), "an array"),
        "string" => (value.is_string(), "string"),
        "number" => (value.is_number(), "float"),
        "integer" => (value.is_i64(), "int"),
        "boolean" => (value.is_boolean(), "bool"),
        _ => return None,
    };
    let rest = match ty {
        "object" | "array" => format!(" for the provided schema with type={ty}"),
        _ => format!(", got {}", go_format::type_name(value)),
    };
    (!is_valid).then(|| format!("invalid data, expected {expected}{rest}"))
}

/// Converts a text by its format; one that does not have its format remains a text.
fn text_to_cel(text: &str, schema: &Value) -> CelValue {
    let plain = || CelValue::String(Arc::new(text.to_owned()));
    if schema["x-kubernetes-int-or-string"] == true {
        return plain();
    }
    match schema["format"].as_str() {
        Some("date-time") => functions::timestamp(Arc::new(text.to_owned())).unwrap_or_else(|_| plain()),
        Some("date") => {
            functions::timestamp(Arc::new(format!("{text}T00:00:00Z"))).unwrap_or_else(|_| plain())
        }
        Some("duration") => {
            let in_words = || duration_in_words(text).map(|nanoseconds| format!("{nanoseconds}ns"));
            let duration = if is_go_duration(text) {
                Some(text.to_owned())
            } else {
                in_words()
            };
            let duration = duration.and_then(|duration| functions::duration(Arc::new(duration)).ok());
            duration.unwrap_or_else(plain)
        }
        Some("byte") => STANDARD
            .decode(text)
            .map_or_else(|_| plain(), |bytes| CelValue::Bytes(Arc::new(bytes))),
        _ => plain(),
    }
}
