//! The types of values that a schema describes, as the rules of custom resources see them.

use super::RESERVED_WORDS;
use super::checker::{STRING, Type};
use super::value_type::SchemaObject;
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the type of the value that a schema describes; None if rules cannot use it. `is_object` marks the schema of a whole object, whose
/// name and type rules can read.
pub(super) fn of_schema(schema: &Value, is_object: bool) -> Option<Type> {
    at_path(schema, is_object, "selfType".to_owned())
}

fn at_path(schema: &Value, is_object: bool, path: String) -> Option<Type> {
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(Type::Dyn);
    }
    Some(match schema["type"].as_str()? {
        "boolean" => Type::Simple("bool"),
        "integer" => Type::Simple("int"),
        "number" => Type::Simple("double"),
        "string" => Type::Simple(match schema["format"].as_str() {
            Some("byte") => "bytes",
            Some("duration") => "google.protobuf.Duration",
            Some("date" | "date-time") => "google.protobuf.Timestamp",
            _ => "string",
        }),
        "array" => Type::list(at_path(&schema["items"], false, format!("{path}.@idx"))?),
        "object" if schema["additionalProperties"].is_object() => {
            let value = at_path(&schema["additionalProperties"], false, format!("{path}.@elem"))?;
            Type::map(STRING, value)
        }
        "object" => {
            let is_object = is_object || schema["x-kubernetes-embedded-resource"] == true;
            let schema = if is_object {
                with_object_fields(schema)
            } else {
                schema.clone()
            };
            Type::Schema(Arc::new(SchemaObject { path, schema }))
        }
        _ => return None,
    })
}

/// Returns the type of a field of an object, by its name in rules; None if they cannot use it. A reserved word may stand without its
/// escape.
pub(super) fn field(object: &SchemaObject, name: &str) -> Option<Type> {
    let fields = object.schema["properties"].as_object()?;
    let name = if RESERVED_WORDS.contains(&name) {
        &escaped(name)
    } else {
        name
    };
    let (_, field) = fields.iter().find(|(field, _)| escaped(field) == *name)?;
    at_path(field, false, format!("{}.{name}", object.path))
}

/// Returns the schema of an object with the fields that all objects have, and no other metadata. A schema that declares all of them keeps what
/// it declares.
pub(super) fn with_object_fields(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let properties = &schema["properties"];
    let metadata = &properties["metadata"];
    let texts = [
        &properties["apiVersion"],
        &properties["kind"],
        &metadata["properties"]["name"],
        &metadata["properties"]["generateName"],
    ];
    if metadata["type"] == "object" && texts.iter().all(|field| field["type"] == "string") {
        return schema;
    }
    let text = json!({ "type": "string" });
    let metadata = json!({ "type": "object", "properties": { "name": text, "generateName": text } });
    for (name, field) in [("apiVersion", &text), ("kind", &text), ("metadata", &metadata)] {
        schema["properties"][name] = field.clone();
    }
    schema
}

/// Returns the name of a field in rules.
pub(crate) fn escaped(field: &str) -> String {
    if RESERVED_WORDS.contains(&field) {
        return format!("__{field}__");
    }
    let replaced = [
        ("__", "__underscores__"),
        (".", "__dot__"),
        ("-", "__dash__"),
        ("/", "__slash__"),
    ];
    replaced
        .iter()
        .fold(field.to_owned(), |name, (from, to)| name.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_types_of_their_schemas() {
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string"}, "bytes": {"type": "string", "format": "byte"}, "at": {"type": "string", "format": "date-time"},
            "port": {"x-kubernetes-int-or-string": true}, "any": {"x-kubernetes-preserve-unknown-fields": true},
            "list": {"type": "array", "items": {"type": "number"}},
            "map": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
            "in": {"type": "boolean"}, "namespace": {"type": "string"}, "-": {"type": "string"}, "a-b.c/d": {"type": "boolean"}, "a_b": {"type": "boolean"}, "a__b": {"type": "boolean"},
            "object": {"type": "object", "x-kubernetes-embedded-resource": true},
        }});
        let object = SchemaObject {
            path: "self".to_owned(),
            schema,
        };
        for (name, expected) in [
            ("text", Some("string")),
            ("bytes", Some("bytes")),
            ("at", Some("google.protobuf.Timestamp")),
            ("port", Some("dyn")),
            ("any", None),
            ("list", Some("list(double)")),
            ("map", Some("map(string, list(int))")),
            ("__in__", Some("bool")),
            ("namespace", Some("string")),
            ("__namespace__", Some("string")),
            ("dash", None),
            ("a__dash__b__dot__c__slash__d", Some("bool")),
            ("a_b", Some("bool")),
            ("a__underscores__b", Some("bool")),
            ("nothing", None),
            ("metadata", None),
        ] {
            let found = field(&object, name).map(|ty| ty.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
        let Some(Type::Schema(object)) = field(&object, "object") else {
            panic!("an object")
        };
        let Some(Type::Schema(metadata)) = field(&object, "metadata") else {
            panic!("an object")
        };
        assert_eq!(field(&metadata, "name"), Some(Type::Simple("string")));
        assert_eq!(field(&metadata, "labels"), None);
    }
}
