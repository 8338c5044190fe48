//! OpenAPI documents in protobuf, decoded for the comparison: by the messages of gnostic, which the embedded server encodes with.

use crate::yaml;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Media types of documents, by version.
pub(crate) const MEDIA_TYPES: [(&str, &str); 2] = [
    ("v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
    ("v3", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"),
];

/// A field of a message.
struct Field {
    name: &'static str,
    ty: &'static str,
    is_list: bool,
}

/// The fields of a message, by number.
type Fields = BTreeMap<u64, Field>;

static MESSAGES: LazyLock<HashMap<&'static str, Fields>> = LazyLock::new(|| {
    let text = include_str!("../../../apiserver/src/discovery/openapi/messages.txt");
    let mut messages = HashMap::new();
    let mut message = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(field) = line.strip_prefix(' ') else {
            message = line;
            messages.insert(message, Fields::new());
            continue;
        };
        let [number, name, ty] = field.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let ty = ty.trim_start_matches('|');
        let is_list = ty.starts_with("[]");
        let ty = ty.trim_start_matches("[]");
        let fields = messages.get_mut(message).unwrap();
        fields.insert(number.parse().unwrap(), Field { name, ty, is_list });
    }
    messages
});

/// Returns the document of a version as JSON, with the names of the messages' fields. Lists of names with values are objects, whose keys are
/// the field and the name. YAML is parsed: Go folds and quotes it in another way. Panics if the bytes are no document, name a value twice, or repeat what is not a list.
pub(crate) fn decode(version: &str, bytes: &[u8]) -> Value {
    decode_message(version, "Document", bytes)
}

fn decode_message(version: &str, message: &str, mut bytes: &[u8]) -> Value {
    let title = format!("{version} {message}");
    let fields = MESSAGES
        .get(&*title)
        .unwrap_or_else(|| panic!("{title}: unknown"));
    let mut object = Map::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = fields
            .get(&(key >> 3))
            .unwrap_or_else(|| panic!("{title}: no field {}", key >> 3));
        let mut value = match (key & 7, field.ty) {
            (0, "bool") => json!(varint(&mut bytes) == 1),
            (0, "int64") => json!(varint(&mut bytes).cast_signed()),
            (1, "double") => json!(f64::from_le_bytes(split(&mut bytes, 8).try_into().unwrap())),
            (2, ty) => {
                let length = varint(&mut bytes).try_into().unwrap();
                let content = split(&mut bytes, length);
                match ty {
                    "string" => text(message, str::from_utf8(content).unwrap()),
                    ty => decode_message(version, ty, content),
                }
            }
            (wire_type, ty) => panic!("{title}: {} is {ty}, not wire type {wire_type}", field.name),
        };
        let previous = match value.get("name").and_then(Value::as_str) {
            Some(name) if field.ty.starts_with("Named") => {
                let key = format!("{} {name}", field.name);
                object.insert(key, value["value"].take())
            }
            _ if field.is_list => {
                let items = object.entry(field.name).or_insert_with(|| json!([]));
                items.as_array_mut().unwrap().push(value);
                None
            }
            _ => object.insert(field.name.to_owned(), value),
        };
        assert_eq!(previous, None, "{title}: {} twice", field.name);
    }
    object.into()
}

fn text(message: &str, text: &str) -> Value {
    match yaml::read_strictly(text) {
        Some(value) if message == "Any" => value,
        _ => json!(text),
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let digits = split(bytes, length).iter().rev();
    digits.fold(0, |value, digit| value << 7 | u64::from(digit & 0x7f))
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(length);
    *bytes = rest;
    first
}

#[test]
fn documents_are_decoded_by_the_messages() {
    let info = [
        &[0x0a, 1][..],
        b"T",
        &[0x3a, 11, 0x0a, 3],
        b"x-a",
        &[0x12, 4, 0x12, 2],
        b"1\n",
    ]
    .concat();
    let paths = [&[0x12, 8, 0x0a, 2][..], b"/a", &[0x12, 2, 0x12, 0]].concat();
    let document = [
        &[0x0a, 3][..],
        b"2.0",
        &[0x12, u8::try_from(info.len()).unwrap()],
        &info,
        // schemes
        &[0x2a, 1],
        b"a",
        &[0x2a, 1],
        b"b",
        &[0x42, u8::try_from(paths.len()).unwrap()],
        &paths,
    ]
    .concat();
    let expected = json!({
        "swagger": "2.0", "info": { "title": "T", "vendor_extension x-a": { "yaml": 1 } }, "schemes": ["a", "b"],
        "paths": { "path /a": { "get": {} } },
    });
    assert_eq!(decode("v2", &document), expected);
}
