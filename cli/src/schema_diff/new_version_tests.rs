use serde_json::json;

use super::super::compare;
use super::*;

/// A version whose spec has these fields.
fn version(name: &str, required: &[&str], fields: &Value) -> Value {
    json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": {
        "type": "object", "required": ["spec"], "properties": {"spec": {
            "type": "object", "required": required, "properties": fields}}}}})
}

/// The changes of a definition that gets another version, sorted.
fn changes(before: &[&Value], new: &Value, conversion: &Value) -> Vec<String> {
    let conversion: VersionConversion = serde_json::from_value(conversion.clone()).unwrap();
    let after = [before, &[new]].concat();
    let definition = |versions: &[&Value]| json!({"spec": {"versions": versions}});
    let changes = compare(&definition(before), &definition(&after), Some(&conversion));
    let mut texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

/// The changes that make objects of `old` invalid in `new`, and the version, sorted.
fn stricter(old: &str, new: &str, texts: &[&str]) -> Vec<String> {
    let prefix = format!("BREAKING an object of {old} may be invalid in {new}: ");
    let mut expected: Vec<_> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
    expected.push(format!("version {new} added"));
    expected.sort();
    expected
}

#[test]
fn new_hub_is_compared_at_the_fields_that_both_have() {
    let old = version(
        "v1",
        &["old"],
        &json!({
            "old": {"type": "string"},
            "size": {"type": "integer", "minimum": 0},
            "colour": {"type": "string"},
            "kept": {"type": "string", "maxLength": 5},
            "ports": {"type": "array", "items": {"type": "object", "properties": {
                "number": {"type": "integer"}, "old": {"type": "string"}}}},
        }),
    );
    let new = version(
        "v2",
        &["new", "colour"],
        &json!({
            "new": {"type": "string"},
            "size": {"type": "integer", "minimum": 1},
            "colour": {"type": "string"},
            "kept": {"type": "string", "maxLength": 9, "description": "Longer now."},
            "ports": {"type": "array", "items": {"type": "object", "properties": {
                "number": {"type": "integer", "maximum": 9}, "new": {"type": "string"}}}},
        }),
    );
    let expected = stricter(
        "v1",
        "v2",
        &[
            "spec.colour now required",
            "spec.ports[].number: maximum none → 9",
            "spec.size: minimum 0 → 1",
        ],
    );
    let conversion = json!({"hub": "v2", "rules": {"v1": []}});
    assert_eq!(changes(&[&old], &new, &conversion), expected);
}

#[test]
fn renamed_fields_are_compared_and_those_with_a_function_are_not() {
    let old = version(
        "v1",
        &["mode"],
        &json!({
            "limit": {"type": "integer"},
            "ports": {"type": "array", "items": {"type": "object", "required": ["number"], "properties": {
                "number": {"type": "integer"}, "name": {"type": "string"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "text": {"type": "string"}}}},
            "mode": {"type": "string"},
            "signals": {"type": "array", "items": {"type": "string"}},
            "reused": {"type": "string"},
        }),
    );
    let new = version(
        "v2",
        &["maxSize", "seconds", "reused"],
        &json!({
            "maxSize": {"type": "integer", "maximum": 10},
            "listeners": {"type": "array", "items": {"type": "object", "required": ["port", "name"], "properties": {
                "port": {"type": "integer", "minimum": 1}, "name": {"type": "string", "maxLength": 3}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "value": {"type": "string", "pattern": "x"}}}},
            "mode": {"type": "integer"},
            "signals": {"type": "array", "items": {"type": "integer"}},
            "seconds": {"type": "integer"},
            "reused": {"type": "integer"},
        }),
    );
    let rules = json!([
        {"field": "spec.limit", "hub": "spec.maxSize"},
        {"field": "spec.ports", "hub": "spec.listeners"},
        {"field": "spec.ports[].number", "hub": "spec.listeners[].port"},
        {"field": "spec.labels.*.text", "hub": "spec.labels.*.value"},
        {"field": "spec.mode", "hub": "spec.mode", "function": true},
        {"field": "spec.signals[]", "hub": "spec.signals[]", "function": true},
        {"hub": "spec.seconds"},
        {"field": "spec.reused"},
        {"hub": "spec.reused"},
    ]);
    let to_new = stricter(
        "v1",
        "v2",
        &[
            "spec.maxSize now required",
            "spec.maxSize: maximum none → 10",
            "spec.listeners[].port: minimum none → 1",
            "spec.listeners[].name now required",
            "spec.listeners[].name: maxLength none → 3",
            "spec.labels.*.value: pattern none → \"x\"",
        ],
    );
    let conversion = json!({"hub": "v2", "rules": {"v1": rules}});
    assert_eq!(changes(&[&old], &new, &conversion), to_new);
    // The other way, a version that is looser than the hub accepts its objects.
    let conversion = json!({"hub": "v2", "rules": {"v1": rules, "v3": []}});
    assert_eq!(changes(&[&new], &old, &conversion), stricter("v2", "v1", &[]));
}

#[test]
fn version_beside_the_hub_is_compared_with_the_hub_and_not_with_others() {
    let size = |minimum: u32| json!({"size": {"type": "integer", "minimum": minimum}});
    let [stored, hub] = [version("v1", &[], &size(0)), version("v2", &[], &size(1))];
    let new = version(
        "v1beta1",
        &[],
        &json!({"amount": {"type": "integer", "minimum": 2}}),
    );
    let conversion = json!({"hub": "v2", "rules": {
        "v1": [], "v1beta1": [{"field": "spec.amount", "hub": "spec.size"}]}});
    assert_eq!(
        changes(&[&stored, &hub], &new, &conversion),
        stricter("v2", "v1beta1", &["spec.amount: minimum 1 → 2"])
    );
    let newer = version("v3", &[], &size(3));
    let conversion = json!({"hub": "v3", "rules": {"v1": [], "v2": []}});
    let mut expected = stricter("v1", "v3", &["spec.size: minimum 0 → 3"]);
    expected.extend(stricter("v2", "v3", &["spec.size: minimum 1 → 3"]));
    expected.sort();
    expected.dedup();
    assert_eq!(changes(&[&stored, &hub], &newer, &conversion), expected);
}

#[test]
fn equal_new_version_is_only_added() {
    let fields = json!({"a": {"type": "string"}});
    let (old, new) = (version("v1", &["a"], &fields), version("v2", &["a"], &fields));
    let conversion = json!({"hub": "v2", "rules": {"v1": []}});
    assert_eq!(changes(&[&old], &new, &conversion), ["version v2 added"]);
}
