//! Messages with a JSON of another form than an object with their fields, such as quantities and times.

use super::table::Message;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Messages with the only field `raw`: JSON as bytes.
pub(super) const RAW_JSON: [&str; 3] = [
    "apiextensions.v1.JSON",
    "meta.v1.FieldsV1",
    "runtime.RawExtension",
];

/// The field that a JSON list is in, of messages for JSON that may be a list or an object.
const LIST_FIELDS: [(&str, &str); 2] = [
    ("apiextensions.v1.JSONSchemaPropsOrArray", "jSONSchemas"),
    ("apiextensions.v1.JSONSchemaPropsOrStringArray", "property"),
];

/// Go encodes the zero time as the year 1.
const ZERO_TIME_SECONDS: i64 = -62_135_596_800;

/// Returns the JSON of a message with these fields.
pub(super) fn from_fields(
    mut fields: Map<String, Value>,
    name: &str,
    message: &Message,
) -> Result<Value, String> {
    if RAW_JSON.contains(&name) {
        return embedded_json(fields.get("raw"));
    }
    if let Some((_, list)) = LIST_FIELDS.iter().find(|(message, _)| *message == name) {
        let schema = fields.remove("schema").or_else(|| fields.remove(*list));
        return Ok(schema.unwrap_or_else(|| json!([])));
    }
    Ok(match name {
        "resource.Quantity" => fields.remove("string").unwrap_or_else(|| json!("0")),
        "intstr.IntOrString" if fields.get("type") == Some(&json!(1)) => {
            fields.remove("strVal").unwrap_or_else(|| json!(""))
        }
        "intstr.IntOrString" => fields.remove("intVal").unwrap_or_else(|| json!(0)),
        "meta.v1.Time" => time(&fields, false),
        "meta.v1.MicroTime" => time(&fields, true),
        "apiextensions.v1.JSONSchemaPropsOrBool" => {
            let schema = fields.remove("schema").or_else(|| fields.remove("allows"));
            schema.unwrap_or(Value::Bool(false))
        }
        _ if message.is_list => fields.remove("items").unwrap_or_else(|| json!([])),
        _ => Value::Object(fields),
    })
}

/// Returns the fields of a message with this JSON. Those of [`RAW_JSON`] are not supported.
pub(super) fn to_fields<'v>(value: &'v Value, name: &str, message: &Message) -> Cow<'v, Value> {
    if let Some((_, list)) = LIST_FIELDS.iter().find(|(message, _)| *message == name) {
        let field = if value.is_array() { *list } else { "schema" };
        return Cow::Owned(json!({ field: value }));
    }
    let fields = match (name, value) {
        ("resource.Quantity", Value::String(text)) => json!({ "string": text }),
        ("resource.Quantity", Value::Number(number)) => json!({ "string": number.to_string() }),
        ("resource.Quantity", _) => json!({ "string": "0" }),
        ("intstr.IntOrString", Value::String(text)) => json!({ "type": 1, "strVal": text }),
        ("intstr.IntOrString", number) => json!({ "intVal": number }),
        ("meta.v1.Time", Value::String(text)) => time_fields(text, false),
        ("meta.v1.MicroTime", Value::String(text)) => time_fields(text, true),
        ("apiextensions.v1.JSONSchemaPropsOrBool", Value::Bool(allows)) => json!({ "allows": allows }),
        ("apiextensions.v1.JSONSchemaPropsOrBool", schema) => json!({ "allows": true, "schema": schema }),
        _ if message.is_list => json!({ "items": value }),
        _ => return Cow::Borrowed(value),
    };
    Cow::Owned(fields)
}

/// Whether the message has no fields at all: the zero time.
pub(super) fn is_empty(fields: &Value, name: &str) -> bool {
    matches!(name, "meta.v1.Time" | "meta.v1.MicroTime") && fields.is_null()
}

/// Decodes the base64 of a bytes field.
pub(super) fn bytes_of(value: &Value) -> Vec<u8> {
    STANDARD
        .decode(value.as_str().unwrap_or_default())
        .unwrap_or_default()
}

fn time(fields: &Map<String, Value>, micros: bool) -> Value {
    let part = |key: &str| fields.get(key).and_then(Value::as_i64).unwrap_or(0);
    let nanos = i32::try_from(part("nanos")).unwrap_or(0);
    match Timestamp::new(part("seconds"), nanos) {
        Ok(time) if fields.is_empty() || time.as_second() <= ZERO_TIME_SECONDS => Value::Null,
        Ok(time) if micros => json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
        Ok(time) => json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Err(_) => Value::Null,
    }
}

/// Times that are not valid are encoded as the zero time.
fn time_fields(text: &str, micros: bool) -> Value {
    let time = text.parse::<Timestamp>().ok();
    let Some(time) = time.filter(|time| time.as_second() > ZERO_TIME_SECONDS) else {
        return Value::Null;
    };
    let nanos = if micros {
        time.subsec_nanosecond() / 1000 * 1000
    } else {
        0
    };
    json!({ "seconds": time.as_second(), "nanos": nanos })
}

/// Decodes JSON that is embedded as bytes.
fn embedded_json(raw: Option<&Value>) -> Result<Value, String> {
    match raw.map(bytes_of) {
        Some(bytes) if !bytes.is_empty() => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        _ => Ok(Value::Null),
    }
}
