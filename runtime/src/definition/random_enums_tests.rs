//! Random enums as schemars describes them: their structural schema accepts the same values, and one variant of it has the variant's fields.

use std::collections::BTreeSet;

use kubewright_api_types::{one_variant, strings};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::structural_schema;
use crate::random_values::Random;

/// Values of each schema.
const VALUES: usize = 15;

const INTEGERS: [(&str, &str); 6] = [
    ("int8", r#"{"minimum": -128, "maximum": 127}"#),
    ("uint8", r#"{"minimum": 0, "maximum": 255}"#),
    ("int32", "{}"),
    ("int32", r#"{"minimum": 1, "maximum": 5}"#),
    ("uint32", r#"{"minimum": 0}"#),
    ("int64", "{}"),
];
const TEXTS: [&str; 5] = [
    "{}",
    r#"{"minLength": 2}"#,
    r#"{"maxLength": 1}"#,
    r#"{"enum": ["a", "b"]}"#,
    r#"{"enum": ["b", "ccc"]}"#,
];

/// Makes schemas in which a field of one name has one type, with other limits everywhere.
struct Model {
    random: Random,
    /// The fields of objects.
    names: Vec<&'static str>,
}

impl Model {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            names: vec!["count", "texts", "text", "place", "choice", "maybe"],
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for name in self.names.clone() {
            let is_nested = ["place", "choice"].contains(&name);
            if self.random.one_in(if is_nested && depth > 1 { 100 } else { 2 }) {
                properties.insert(name.to_owned(), self.field(name, depth));
                // An optional field that is not always written is not nullable.
                if name == "maybe" || self.random.one_in(2) {
                    required.push(name);
                }
            }
        }
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if depth == 0 && self.random.one_in(4) {
            schema["additionalProperties"] = false.into();
        }
        schema
    }

    fn field(&mut self, name: &str, depth: usize) -> Value {
        match name {
            "count" | "maybe" => {
                let (format, limits) = *self.random.pick(&INTEGERS);
                let mut schema: Value = serde_json::from_str(limits).unwrap();
                schema["type"] = if name == "maybe" {
                    json!(["integer", "null"])
                } else {
                    json!("integer")
                };
                schema["format"] = format.into();
                schema
            }
            "text" => self.text(),
            "texts" => json!({"type": "array", "items": self.text()}),
            "place" => self.object(depth + 1),
            _ => self.choice("type", depth + 1),
        }
    }

    fn text(&mut self) -> Value {
        let mut schema: Value = serde_json::from_str(TEXTS[self.random.below(TEXTS.len())]).unwrap();
        schema["type"] = "string".into();
        schema
    }

    /// Makes an enum.
    fn choice(&mut self, tag: &str, depth: usize) -> Value {
        let representation = if depth == 0 { self.random.below(4) } else { 0 };
        let count = 1 + self.random.below(3);
        let variants = ["A", "B", "C"].into_iter().take(count);
        let mut variants: Vec<Value> = variants
            .map(|name| self.variant(representation, tag, name, depth))
            .collect();
        // Of variants within others, all deny unknown fields or none: of some, only the fields of this enum are excluded.
        if depth == 1 && self.random.one_in(4) {
            for variant in &mut variants {
                variant["additionalProperties"] = false.into();
            }
        }
        let keyword = if representation == 3 { "anyOf" } else { "oneOf" };
        json!({ keyword: variants })
    }

    fn variant(&mut self, representation: usize, tag: &str, name: &str, depth: usize) -> Value {
        let mut data = self.object(depth);
        match representation {
            // Internally tagged.
            0 => {
                data["properties"][tag] = json!({"type": "string", "const": name});
                data["required"].as_array_mut().unwrap().push(tag.into());
                data
            }
            // Adjacently tagged.
            1 => {
                json!({"type": "object", "required": [tag, "data"], "properties": {tag: {"type": "string", "const": name}, "data": data}})
            }
            // Externally tagged.
            2 => {
                json!({"type": "object", "required": [name], "properties": {name: data}, "additionalProperties": false})
            }
            // Untagged.
            _ => {
                data["title"] = name.into();
                data
            }
        }
    }

    /// Makes a struct that flattens enums.
    fn flattening(&mut self) -> Value {
        // serde would write a field twice that both enums have.
        let others = self.names.split_off(3);
        let one = self.choice("type", 1);
        self.names = others;
        let mut enums = vec![one, self.choice("kind", 1)];
        for variant in enums
            .iter_mut()
            .flat_map(|choice| choice["oneOf"].as_array_mut().unwrap())
        {
            variant.as_object_mut().unwrap().remove("additionalProperties");
        }
        let mut schema =
            json!({"type": "object", "properties": {"own": {"type": "string"}}, "required": ["own"]});
        match self.random.below(3) {
            0 => schema["allOf"] = enums.into(),
            1 => schema["anyOf"] = json!([enums[0], {}]),
            _ => schema["oneOf"] = enums[0]["oneOf"].take(),
        }
        schema
    }

    /// Makes a value that the schema accepts, or almost.
    fn value(&mut self, schema: &Value) -> Value {
        for keyword in ["oneOf", "anyOf"] {
            if let Some(variants) = schema[keyword].as_array() {
                let variant = self.random.pick(variants).clone();
                let mut value = self.value(&variant);
                if let (Value::Object(own), Value::Object(value)) = (self.object_value(schema), &mut value) {
                    own.into_iter()
                        .for_each(|(name, field)| drop(value.insert(name, field)));
                }
                return value;
            }
        }
        if let Some(schemas) = schema["allOf"].as_array() {
            let mut value = self.object_value(schema);
            for schema in schemas {
                let Value::Object(fields) = self.value(schema) else {
                    continue;
                };
                fields.into_iter().for_each(|(name, field)| value[name] = field);
            }
            return value;
        }
        if !schema["const"].is_null() {
            return self
                .random
                .pick(&[schema["const"].clone(), schema["const"].clone(), json!("B")])
                .clone();
        }
        let types: Vec<&str> = schema["type"]
            .as_str()
            .into_iter()
            .chain(strings(schema.get("type")))
            .collect();
        match types.first() {
            Some(&"integer") if types.len() > 1 && self.random.one_in(4) => Value::Null,
            Some(&"integer") => {
                json!(self.random.pick(&[
                    -129,
                    -1,
                    0,
                    1,
                    3,
                    5,
                    6,
                    127,
                    255,
                    256,
                    i64::from(i32::MAX) + 1,
                    i64::from(u32::MAX) + 1
                ]))
            }
            Some(&"string") => json!(self.random.pick(&["", "a", "b", "ccc", "dd"])),
            Some(&"array") => (0..self.random.below(3))
                .map(|_| self.value(&schema["items"]))
                .collect(),
            _ => self.object_value(schema),
        }
    }

    fn object_value(&mut self, schema: &Value) -> Value {
        let required: Vec<&str> = strings(schema.get("required")).collect();
        let mut fields = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_present = if required.contains(&name.as_str()) {
                !self.random.one_in(20)
            } else {
                self.random.one_in(2)
            };
            if is_present {
                fields.insert(name.clone(), self.value(property));
            }
        }
        if self.random.one_in(8) {
            fields.insert("count".to_owned(), json!(3));
        }
        fields.into()
    }
}

/// Returns whether a schema accepts a value: one of JSON Schema, or of a custom resource as the API server reads it.
fn accepts(schema: &Value, value: &Value) -> bool {
    let types: Vec<&str> = schema["type"]
        .as_str()
        .into_iter()
        .chain(strings(schema.get("type")))
        .collect();
    if value.is_null() && schema["nullable"] == true {
        return schema["enum"].is_null();
    }
    let ty = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let list = |keyword: &str| schema[keyword].as_array();
    let count = |keyword: &str| {
        list(keyword)
            .into_iter()
            .flatten()
            .filter(|schema| accepts(schema, value))
            .count()
    };
    (types.is_empty() || types.contains(&ty))
        && (schema["const"].is_null() || schema["const"] == *value)
        && list("enum").is_none_or(|values| values.contains(value))
        && value.as_i64().is_none_or(|number| accepts_number(schema, number))
        && value.as_str().is_none_or(|text| accepts_text(schema, text))
        && value
            .as_object()
            .is_none_or(|fields| accepts_fields(schema, fields))
        && value
            .as_array()
            .into_iter()
            .flatten()
            .all(|item| accepts(&schema["items"], item))
        && list("allOf").is_none_or(|all| count("allOf") == all.len())
        && list("anyOf").is_none_or(|_| count("anyOf") > 0)
        && list("oneOf").is_none_or(|_| count("oneOf") == 1)
        && (schema["not"].is_null() || !accepts(&schema["not"], value))
}

fn accepts_number(schema: &Value, number: i64) -> bool {
    let is_typed = !schema["type"].is_null();
    let has_format = match schema["format"].as_str() {
        Some("int32") if is_typed => i32::try_from(number).is_ok(),
        Some("uint32") => u32::try_from(number).is_ok(),
        // Without a type, the API server refuses other integers than of 64 bits.
        Some(format) => is_typed || format == "int64",
        None => true,
    };
    let limit = |keyword: &str| schema[keyword].as_i64();
    has_format
        && limit("minimum").is_none_or(|limit| number >= limit)
        && limit("maximum").is_none_or(|limit| number <= limit)
}

fn accepts_text(schema: &Value, text: &str) -> bool {
    let limit = |keyword: &str| schema[keyword].as_u64();
    let length = text.len() as u64;
    limit("minLength").is_none_or(|limit| length >= limit)
        && limit("maxLength").is_none_or(|limit| length <= limit)
}

fn accepts_fields(schema: &Value, fields: &Map<String, Value>) -> bool {
    let property = |name: &str| schema["properties"].get(name);
    strings(schema.get("required")).all(|name| fields.contains_key(name))
        && fields.iter().all(|(name, value)| match property(name) {
            Some(schema) => accepts(schema, value),
            None => schema["additionalProperties"] != false,
        })
}

/// Returns the schema and the alternatives within it that accept a value.
fn accepting<'s>(schema: &'s Value, value: &Value, found: &mut Vec<&'s Value>) {
    found.push(schema);
    for alternative in ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema[keyword].as_array())
        .flatten()
    {
        if accepts(alternative, value) {
            accepting(alternative, value, found);
        }
    }
}

/// Returns whether the alternatives that accept a value have all its fields. Others they ignore, and the structural schema may refuse: it has one
/// schema for the fields of all variants.
fn has_only_known_fields(schema: &Value, value: &Value) -> bool {
    let mut alternatives = Vec::new();
    accepting(schema, value, &mut alternatives);
    match value {
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            let properties = alternatives
                .iter()
                .filter_map(|schema| schema["properties"].get(name));
            properties
                .into_iter()
                .any(|property| has_only_known_fields(property, value))
        }),
        Value::Array(items) => items
            .iter()
            .all(|item| has_only_known_fields(&schema["items"], item)),
        _ => true,
    }
}

/// Removes the fields that a schema does not have, as the API server does.
fn prune(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| schema["properties"][name].is_object());
            fields
                .iter_mut()
                .for_each(|(name, value)| prune(&schema["properties"][name], value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(&schema["items"], item)),
        _ => {}
    }
}

fn structural(original: &Value) -> Result<Value, String> {
    let root = json!({"type": "object", "required": ["field"], "properties": {"field": original}});
    Ok(structural_schema(root.clone(), &root)?.0["properties"]["field"].take())
}

fn names(schema: &Value) -> BTreeSet<&String> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect()
}

proptest! {
    #[test]
    fn structural_schema_accepts_what_the_enum_accepts(seed in any::<u64>()) {
        let mut model = Model::new(seed);
        let original = if model.random.one_in(3) { model.flattening() } else { model.choice("type", 0) };
        let structural = match structural(&original) {
            Ok(structural) => structural,
            Err(error) => panic!("{error}: {original:#}"),
        };
        for _ in 0..VALUES {
            let mut value = model.value(&original);
            prune(&structural, &mut value);
            let [is_valid, is_accepted] = [&original, &structural].map(|schema| accepts(schema, &value));
            let must_be_accepted = is_valid && has_only_known_fields(&original, &value);
            prop_assert!(
                if is_accepted { is_valid } else { !must_be_accepted },
                "valid: {is_valid}: {:#}\nof {:#}\nstructural: {:#}",
                value, original, structural
            );
            let random = model.random.value(&structural);
            prop_assert!(
                accepts(&structural, &random) && accepts(&original, &random),
                "random {:#}\nof {:#}\nstructural: {:#}",
                random, original, structural
            );
        }
    }

    #[test]
    fn one_variant_has_the_fields_of_the_variant(seed in any::<u64>()) {
        let mut model = Model::new(seed);
        let original = model.choice("type", 1);
        let structural = structural(&original).unwrap();
        let variants = original["oneOf"].as_array().unwrap();
        for (at, variant) in variants.iter().enumerate() {
            let narrowed = one_variant(&structural, |count| at.min(count - 1));
            if structural["oneOf"].is_array() {
                prop_assert_eq!(names(&narrowed), names(variant), "variant {} of {:#}\nstructural: {:#}", at, original, structural);
                let place = [&narrowed, variant].map(|schema| names(&schema["properties"]["place"]));
                prop_assert_eq!(&place[0], &place[1], "place in variant {} of {:#}\nstructural: {:#}", at, original, structural);
            }
        }
    }
}
