//! OpenAPI documents as protobuf: the messages of gnostic, which Go clients read. `messages.txt` has them; `cargo xtask api-openapi`
//! writes it.

use crate::protobuf::wire;
use crate::yaml;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A field of a message.
struct Field {
    number: u64,
    name: &'static str,
    /// The name of the field in JSON.
    json_name: String,
    is_list: bool,
    is_alternative: bool,
    ty: &'static str,
}

type Messages = HashMap<(&'static str, &'static str), Vec<Field>>;

static MESSAGES: LazyLock<Messages> = LazyLock::new(|| parse(include_str!("messages.txt")));

fn parse(text: &'static str) -> Messages {
    let mut messages = Messages::new();
    let mut message = ("", "");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(field) = line.strip_prefix(' ') else {
            message = line.split_once(' ').unwrap_or_default();
            messages.insert(message, vec![]);
            continue;
        };
        let words: Vec<&'static str> = field.split(' ').collect();
        if let (&[number, name, ty], Some(fields)) = (words.as_slice(), messages.get_mut(&message))
            && let Ok(number) = number.parse()
        {
            let (ty, is_alternative) = ty.strip_prefix('|').map_or((ty, false), |ty| (ty, true));
            let (ty, is_list) = ty.strip_prefix("[]").map_or((ty, false), |ty| (ty, true));
            fields.push(Field {
                number,
                name,
                json_name: json_name(name),
                is_list,
                is_alternative,
                ty,
            });
        }
    }
    messages
}

/// Returns the name in JSON: `_ref` is `$ref`, `operation_id` is `operationId`.
fn json_name(name: &str) -> String {
    if name == "_ref" {
        return "$ref".to_owned();
    }
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        text + &head.to_uppercase() + tail
    })
}

/// Encodes a document of a version, `v2` or `v3`.
pub(super) fn encode(version: &'static str, document: &Value) -> Vec<u8> {
    let mut bytes = vec![];
    encode_message(version, "Document", document, &mut bytes);
    bytes
}

fn encode_message(version: &'static str, message: &'static str, value: &Value, bytes: &mut Vec<u8>) {
    let Some(fields) = MESSAGES.get(&(version, message)) else {
        return;
    };
    if message == "Any" {
        // Values that have no type are YAML.
        encode_text(fields, "yaml", &yaml::write(value), bytes);
        return;
    }
    if fields.iter().any(|field| field.is_alternative) {
        let find = |name: &&str| fields.iter().find(|field| field.name == *name);
        let field = alternative(value).and_then(|names| names.iter().find_map(find));
        if let Some(field) = field {
            encode_field(version, field, value, bytes);
        }
        return;
    }
    match value {
        Value::Object(object) => encode_object(version, fields, object, bytes),
        // The types of a schema, and the scopes of a security requirement.
        Value::String(_) | Value::Array(_) => {
            if let Some(field) = fields.iter().find(|field| field.name == "value") {
                encode_field(version, field, value, bytes);
            }
        }
        _ => {}
    }
}

fn encode_object(
    version: &'static str,
    fields: &'static [Field],
    object: &Map<String, Value>,
    bytes: &mut Vec<u8>,
) {
    // A single schema in place of a list of them.
    if let [field] = fields
        && matches!(field.name, "schema" | "schema_or_reference")
    {
        return encode_field(version, field, &Value::Object(object.clone()), bytes);
    }
    let is_entry = |field: &&Field| field.is_list && field.ty.starts_with("Named");
    let is_extension = |field: &&Field| matches!(field.name, "vendor_extension" | "specification_extension");
    let extensions = fields.iter().find(is_extension);
    let entries = fields
        .iter()
        .find(|field| is_entry(field) && !is_extension(field));
    for field in fields.iter().filter(|field| !is_entry(field)) {
        if let Some(value) = object.get(&field.json_name) {
            encode_field(version, field, value, bytes);
        }
    }
    for (name, value) in object {
        let field = if name.starts_with("x-") && extensions.is_some() {
            extensions
        } else {
            entries
        };
        if let Some(field) = field {
            wire::put_delimited(field.number, bytes, |entry| {
                if let Some(parts) = MESSAGES.get(&(version, field.ty)) {
                    encode_text(parts, "name", name, entry);
                    if let Some(part) = parts.iter().find(|part| part.name == "value") {
                        encode_field(version, part, value, entry);
                    }
                }
            });
        }
    }
}

/// Returns the possible names of the alternative that a value is: the first one that the message has.
fn alternative(value: &Value) -> Option<&'static [&'static str]> {
    Some(match value {
        Value::Bool(_) => &["boolean"],
        Value::String(_) => &["string"],
        Value::Number(_) => &["number"],
        Value::Object(object) if object.contains_key("$ref") => {
            &["json_reference", "reference", "schema", "schema_or_reference"]
        }
        Value::Object(object) => match object.get("in").and_then(Value::as_str) {
            // The header of a security scheme.
            Some("header") if object.contains_key("type") && object.get("type") == Some(&"apiKey".into()) => {
                &["api_key_security", "security_scheme"]
            }
            Some("body") => &["parameter", "body_parameter"],
            Some("query") => &["parameter", "non_body_parameter", "query_parameter_sub_schema"],
            Some("path") => &["parameter", "non_body_parameter", "path_parameter_sub_schema"],
            Some("header") => &["parameter", "non_body_parameter", "header_parameter_sub_schema"],
            _ => &[
                "schema",
                "response",
                "request_body",
                "schema_or_reference",
                "security_scheme",
            ],
        },
        _ => return None,
    })
}

fn encode_field(version: &'static str, field: &'static Field, value: &Value, bytes: &mut Vec<u8>) {
    if let (true, Value::Array(items)) = (field.is_list, value) {
        for item in items {
            encode_value(version, field, item, bytes);
        }
    } else {
        encode_value(version, field, value, bytes);
    }
}

fn encode_value(version: &'static str, field: &'static Field, value: &Value, bytes: &mut Vec<u8>) {
    let is_zero = *value == false || *value == "" || value.as_f64() == Some(0.0);
    if is_zero && !field.is_list && !field.is_alternative && !MESSAGES.contains_key(&(version, field.ty)) {
        return;
    }
    match field.ty {
        "string" => wire::put_bytes(field.number, value.as_str().unwrap_or_default().as_bytes(), bytes),
        "bool" => wire::put_varint_field(field.number, u64::from(value == true), bytes),
        "int64" => {
            let integer = value.as_i64().unwrap_or_default();
            wire::put_varint_field(field.number, integer.cast_unsigned(), bytes);
        }
        "double" => wire::put_fixed64(field.number, value.as_f64().unwrap_or_default().to_bits(), bytes),
        message => wire::put_delimited(field.number, bytes, |bytes| {
            encode_message(version, message, value, bytes);
        }),
    }
}

fn encode_text(fields: &[Field], name: &str, text: &str, bytes: &mut Vec<u8>) {
    if let Some(field) = fields.iter().find(|field| field.name == name) {
        wire::put_bytes(field.number, text.as_bytes(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn document_is_encoded_as_gnostic_does() {
        let document = json!({ "swagger": "2.0", "info": { "title": "T", "version": "1" }, "definitions": {
            "a": { "type": "object", "x-b": ["c"], "additionalProperties": { "$ref": "#/d" } },
        } });
        let schema = [
            // additional_properties { schema { _ref: "#/d" } }
            &[0xaa, 0x01, 0x07, 0x0a, 0x05, 0x0a, 0x03][..],
            b"#/d",
            // type { value: "object" }
            &[0xb2, 0x01, 0x08, 0x0a, 0x06],
            b"object",
            // vendor_extension { name: "x-b" value { yaml: "- c\n" } }
            &[0xfa, 0x01, 0x0d, 0x0a, 0x03],
            b"x-b",
            &[0x12, 0x06, 0x12, 0x04],
            b"- c\n",
        ]
        .concat();
        let named = [&[0x0a, 0x01][..], b"a", &[0x12, 37], &schema].concat();
        let expected = [
            &[0x0a, 0x03][..],
            b"2.0",
            &[0x12, 0x06, 0x0a, 0x01],
            b"T",
            &[0x12, 0x01],
            b"1",
            &[0x4a, 44, 0x0a, 42],
            &named,
        ]
        .concat();
        assert_eq!(schema.len(), 37);
        assert_eq!(encode("v2", &document), expected);
    }

    #[test]
    fn zero_is_written_only_in_alternatives() {
        let encode = |schema: &Value| {
            let mut bytes = vec![];
            encode_message("v3", "Schema", schema, &mut bytes);
            bytes
        };
        let absent = json!({ "minimum": 0, "minLength": 0, "nullable": false, "title": "" });
        assert!(encode(&absent).is_empty());
        // default { boolean: false }, default { string: "" }
        assert_eq!(encode(&json!({ "default": false })), [0x8a, 2, 2, 0x10, 0]);
        assert_eq!(encode(&json!({ "default": "" })), [0x8a, 2, 2, 0x1a, 0]);
        // required: [""], enum { yaml: "0\n" }
        assert_eq!(encode(&json!({ "required": [""] })), [0xba, 1, 0]);
        assert_eq!(
            encode(&json!({ "enum": [0] })),
            [0xc2, 1, 4, 0x12, 2, b'0', b'\n']
        );
    }

    #[test]
    fn alternatives_follow_from_the_value() {
        let parameter = |value: Value| {
            let mut bytes = vec![];
            encode_message("v2", "ParametersItem", &value, &mut bytes);
            bytes
        };
        assert_eq!(
            parameter(json!({ "$ref": "#/x" })),
            [&[0x12, 5, 0x0a, 3][..], b"#/x"].concat()
        );
        // parameter { non_body_parameter { query_parameter_sub_schema { in: "query" } } }
        let query = [&[0x0a, 11, 0x12, 9, 0x1a, 7, 0x12, 5][..], b"query"].concat();
        assert_eq!(parameter(json!({ "in": "query" })), query);
        // all_of { reference { _ref: "#/x" } }
        let mut schema = vec![];
        encode_message(
            "v3",
            "Schema",
            &json!({ "allOf": [{ "$ref": "#/x" }] }),
            &mut schema,
        );
        assert_eq!(schema, [&[0xd2, 1, 7, 0x12, 5, 0x0a, 3][..], b"#/x"].concat());
        // additional_properties { schema_or_reference { reference { _ref: "#/x" } } }
        let mut schema = vec![];
        encode_message(
            "v3",
            "Schema",
            &json!({ "additionalProperties": { "$ref": "#/x" } }),
            &mut schema,
        );
        assert_eq!(
            schema,
            [&[0x82, 2, 9, 0x0a, 7, 0x12, 5, 0x0a, 3][..], b"#/x"].concat()
        );
    }
}
