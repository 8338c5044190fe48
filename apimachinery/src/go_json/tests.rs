use super::*;
use serde_json::json;

fn text(value: &Value) -> String {
    String::from_utf8(encode(value)).unwrap()
}

#[test]
fn status_has_the_order_of_the_go_struct() {
    let status = json!({
        "apiVersion": "v1", "code": 404, "kind": "Status", "message": "no", "metadata": {}, "reason": "NotFound", "status": "Failure",
        "details": {
            "retryAfterSeconds": 1, "uid": "u", "name": "n", "kind": "k", "group": "g",
            "causes": [{ "field": "f", "message": "m", "reason": "r" }],
        },
    });
    let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"NotFound","details":{"name":"n","group":"g","kind":"k","uid":"u","causes":[{"reason":"r","message":"m","field":"f"}],"retryAfterSeconds":1},"code":404}"#;
    assert_eq!(text(&status), expected);
}

#[test]
fn inlined_structs_have_the_place_of_their_embedding_and_maps_are_sorted() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { "b": "1", "a": "2" }, "name": "p" },
        "spec": {
            "containers": [{ "livenessProbe": { "periodSeconds": 1, "exec": {} }, "image": "i", "name": "c" }],
            "volumes": [{ "emptyDir": {}, "name": "v" }],
        },
    });
    let expected = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"2","b":"1"}},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i","livenessProbe":{"exec":{},"periodSeconds":1}}]}}"#;
    assert_eq!(text(&pod), expected);
    let mut fields = vec![];
    write_without_kind(&mut fields, &pod);
    let without = expected.replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1);
    assert_eq!(String::from_utf8(fields).unwrap(), without);
}

#[test]
fn schemas_in_schemas_have_the_order_of_schemas_and_defaults_are_sorted() {
    let nested = json!({ "maxLength": 1, "type": "string" });
    let schema = json!({
        "additionalProperties": nested, "items": nested, "properties": { "b": { "items": false, "type": "array" }, "a": nested },
        "default": { "type": 1, "maxLength": 2 }, "type": "object",
    });
    let ordered = r#"{"type":"string","maxLength":1}"#;
    let expected = [
        r#"{"type":"object","default":{"maxLength":2,"type":1},"items":"#,
        ordered,
        r#","properties":{"a":"#,
        ordered,
        r#","b":{"type":"array","items":false}},"additionalProperties":"#,
        ordered,
        "}",
    ];
    let mut json = vec![];
    write(
        &mut json,
        &schema,
        types::definition("apiextensions.v1.JSONSchemaProps"),
    );
    assert_eq!(String::from_utf8(json).unwrap(), expected.concat());
}

#[test]
fn custom_resources_are_sorted_and_metadata_of_them_is_not() {
    let metadata = json!({ "creationTimestamp": "t", "name": "x" });
    let custom = json!({ "apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": metadata, "data": 1 });
    assert_eq!(
        text(&custom),
        r#"{"apiVersion":"demo.dev/v1","data":1,"kind":"Foo","metadata":{"creationTimestamp":"t","name":"x"}}"#
    );
    let only =
        json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata });
    let table = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "Table", "metadata": {},
        "rows": [{ "object": only, "cells": [1] }, { "object": custom, "cells": [] }], "columnDefinitions": null,
    });
    let expected = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":null,"rows":[{"cells":[1],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x","creationTimestamp":"t"}}},{"cells":[],"object":{"apiVersion":"demo.dev/v1","data":1,"kind":"Foo","metadata":{"creationTimestamp":"t","name":"x"}}}]}"#;
    assert_eq!(text(&table), expected);
}

#[test]
fn characters_of_html_and_control_characters_are_escaped() {
    let value = json!("<&>\u{2028}\u{2029}\u{2027}\u{1}\u{7f}\u{8}\u{c}\n\r\t\"\\ä😀");
    let expected = r#""\u003c\u0026\u003e\u2028\u2029‧\u0001⌂\b\f\n\r\t\"\\ä😀""#.replace('⌂', "\u{7f}");
    assert_eq!(text(&value), expected);
}

#[test]
fn doubles_have_exponents_as_in_go() {
    let doubles = json!([
        0.5,
        1e20,
        1e21,
        -1.5e22,
        1e-6,
        1e-7,
        -0.0,
        2.0,
        123_456_789_012_i64,
        u64::MAX
    ]);
    let expected =
        "[0.5,100000000000000000000,1e+21,-1.5e+22,0.000001,1e-7,-0,2,123456789012,18446744073709551615]";
    assert_eq!(text(&doubles), expected);
}

#[test]
fn indented_lines_and_empty_brackets() {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "details": { "causes": [] }, "code": 1 });
    let pretty = encode_pretty(&status, type_of_kind(&status));
    let expected = "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"details\": {\n    \"causes\": []\n  },\n  \"code\": 1\n}";
    assert_eq!(String::from_utf8(pretty).unwrap(), expected);
}

#[test]
fn entries_of_field_sets_are_ordered_by_their_values() {
    let ordered = [
        ".",
        "f:a",
        "f:b",
        r#"k:{"containerPort":80,"protocol":"TCP"}"#,
        r#"k:{"containerPort":443,"protocol":"TCP"}"#,
        r#"k:{"containerPort":443,"protocol":"UDP"}"#,
        r#"k:{"name":"A"}"#,
        r#"k:{"name":"A b"}"#,
        r#"v:"a""#,
        r#"v:"a b""#,
    ];
    let set: serde_json::Map<String, Value> = ordered
        .map(|name| (name.to_owned(), json!({})))
        .into_iter()
        .collect();
    let encoded = text(&json!({ "fieldsV1": set }));
    let places = ordered.map(|name| encoded.find(&format!("{}:", json!(name))).unwrap());
    assert!(places.is_sorted(), "{encoded}");
}
