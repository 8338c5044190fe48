use std::collections::BTreeSet;

use super::*;

/// Returns the values of a schema with many seeds.
fn values(schema: &Value) -> Vec<Value> {
    (0..300).map(|seed| Random::new(seed).value(schema)).collect()
}

fn texts(schema: &Value) -> BTreeSet<String> {
    values(schema).iter().map(ToString::to_string).collect()
}

#[test]
fn same_seed_gives_the_same_value() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    assert_eq!(values(&schema), values(&schema));
    assert!(texts(&schema).len() > 20);
}

#[test]
fn integers_are_within_their_limits_and_reach_them() {
    for (schema, least, most) in [
        (json!({"type": "integer", "minimum": 2, "maximum": 10}), 2, 10),
        (
            json!({"type": "integer", "minimum": 2.0, "exclusiveMinimum": true, "maximum": 10}),
            3,
            10,
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            i64::from(i32::MIN),
            i64::from(i32::MAX),
        ),
        (
            json!({"type": "integer", "format": "uint16", "minimum": 0}),
            0,
            65535,
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 20, "multipleOf": 5}),
            5,
            20,
        ),
        (json!({"type": "integer"}), i64::MIN, i64::MAX),
    ] {
        let numbers: Vec<i64> = values(&schema)
            .iter()
            .map(|value| value.as_i64().unwrap())
            .collect();
        assert_eq!(numbers.iter().min(), Some(&least), "{schema}");
        assert_eq!(numbers.iter().max(), Some(&most), "{schema}");
    }
    let schema = json!({"type": "number", "minimum": 1, "maximum": 1.25});
    assert_eq!(texts(&schema), ["1", "1.25"].map(str::to_owned).into());
}

#[test]
fn strings_match_patterns_lengths_and_formats() {
    let cases = [
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 3, 8),
        (
            r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$",
            0,
            63,
        ),
        (r"^v[1-9]\d*$", 0, 63),
        (r"^(a|b){2,4}$", 3, 4),
        (r"^.{40}$", 0, 63),
    ];
    for (pattern, least, most) in cases {
        let schema = json!({"type": "string", "pattern": pattern, "minLength": least, "maxLength": most});
        let regex = regex::Regex::new(pattern).unwrap();
        for value in values(&schema) {
            let text = value.as_str().unwrap();
            assert!(regex.is_match(text), "{pattern}: {text:?}");
            assert!((least..=most).contains(&text.len()), "{pattern}: {text:?}");
        }
        assert!(texts(&schema).len() > 3, "{pattern}: {:?}", texts(&schema));
    }
    let lengths = json!({"type": "string", "minLength": 2, "maxLength": 2});
    assert!(
        values(&lengths)
            .iter()
            .all(|value| value.as_str().unwrap().len() == 2)
    );
    assert_eq!(
        texts(&json!({"type": "string", "format": "ipv4"})),
        ["\"10.0.0.1\"", "\"192.0.2.7\""].map(str::to_owned).into()
    );
    // No regular expression: any text.
    assert!(texts(&json!({"type": "string", "pattern": "("})).len() > 2);
}

#[test]
fn objects_have_required_and_some_optional_fields() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "boolean"}, "b": {"type": "string", "enum": ["x", null], "nullable": true},
    }});
    let objects = values(&schema);
    assert!(
        objects
            .iter()
            .all(|object| object["a"].is_boolean() && object.get("unknown").is_none())
    );
    let optional: BTreeSet<String> = objects
        .iter()
        .map(|object| format!("{:?}", object.get("b")))
        .collect();
    assert_eq!(optional.len(), 3, "{optional:?}");
    let mut random = Random::new(1).with_unknown_fields();
    assert!((0..100).any(|_| random.value(&schema).get("unknown").is_some()));

    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": ["a"], "properties": {"a": {"type": "boolean"}}});
    assert!(
        values(&any)
            .iter()
            .any(|object| object["a"].is_boolean() && object.as_object().unwrap().len() > 1)
    );
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true});
    assert_eq!(values(&embedded)[0]["metadata"], json!({"name": "a"}));
    let map = json!({"type": "object", "minProperties": 5, "additionalProperties": {"type": "integer"}});
    assert!(
        values(&map)
            .iter()
            .all(|map| (5..=8).contains(&map.as_object().unwrap().len()))
    );
}

#[test]
fn enums_with_data_have_one_variant() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(
        values(&schema)
            .iter()
            .all(|object| object.as_object().unwrap().len() == 1)
    );
    let tagged = json!({"type": "object", "required": ["type"],
    "properties": {"type": {"type": "string", "enum": ["A", "B"]}, "size": {"type": "integer"}},
    "oneOf": [
        {"properties": {"type": {"enum": ["A"]}, "size": {}}, "required": ["size"]},
        {"properties": {"type": {"enum": ["B"]}}},
    ]});
    for object in values(&tagged) {
        assert_eq!(object["type"] == "A", object["size"].is_i64(), "{object}");
    }
}

#[test]
fn lists_keep_their_length_and_uniqueness() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "minItems": 2, "maxItems": 3, "items": {"type": "string"}});
    for list in values(&set) {
        let list = list.as_array().unwrap();
        let unique: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
        assert_eq!(unique.len(), list.len(), "{list:?}");
        assert!((2..=3).contains(&list.len()), "{list:?}");
    }
    let map = json!({"type": "array", "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "map",
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}});
    for list in values(&map) {
        let keys: Vec<&str> = list
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|item| item["k"].as_str())
            .collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
    }
}

#[test]
fn numbers_or_strings_are_both_unless_a_pattern_says_strings() {
    let either = json!({"x-kubernetes-int-or-string": true});
    let found = values(&either);
    assert!(found.iter().any(Value::is_string) && found.iter().any(Value::is_i64));
    let quantity = json!({"x-kubernetes-int-or-string": true, "pattern": "^[0-9]+$"});
    assert!(values(&quantity).iter().all(Value::is_string));
}
