//! Tests of the fields of schemas that contain a schema or another value.

use super::*;
use serde_json::{Value, json};

const DEFINITION: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

fn definition_with(schema: &Value) -> Value {
    json!({ "spec": { "versions": [{ "schema": { "openAPIV3Schema": schema } }] } })
}

fn definition_type() -> &'static Type {
    builtin(DEFINITION.0, DEFINITION.1).unwrap()
}

/// Checks and normalizes a schema. Returns the messages and the schema.
fn decoded(schema: &Value) -> (Vec<String>, Value) {
    let mut object = definition_with(schema);
    let errors = check(&mut object, definition_type(), true);
    normalize(&mut object, definition_type());
    let schema = object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take();
    (errors.iter().map(ToString::to_string).collect(), schema)
}

// Observed on a kube-apiserver v1.36.3, as are the messages below.
#[test]
fn unknown_and_empty_fields_are_dropped_without_a_message() {
    let schema =
        json!({ "type": "string", "optional": [], "required": [], "properties": {}, "maximum": 2.0 });
    let kept = json!({ "type": "string", "maximum": 2 });
    let within = |schema: &Value| {
        [
            json!({ "items": schema }),
            json!({ "items": [schema, schema] }),
            json!({ "items": { "items": schema } }),
            json!({ "additionalProperties": schema }),
            json!({ "additionalItems": { "properties": { "a": schema } } }),
            json!({ "dependencies": { "a": schema } }),
        ]
    };
    for (sent, expected) in within(&schema).into_iter().zip(within(&kept)) {
        assert_eq!(decoded(&sent), (vec![], expected));
    }
    let (messages, _) = decoded(&json!({ "properties": { "a": { "optional": [] } } }));
    assert_eq!(
        messages,
        ["unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.a.optional\""]
    );
}

#[test]
fn other_values_are_kept_dropped_or_rejected() {
    let rejected = vec!["boolean or JSON schema expected".to_owned()];
    for value in [json!("x"), json!(1), json!(true), json!([]), json!(null)] {
        assert_eq!(
            decoded(&json!({ "items": value })),
            (vec![], json!({})),
            "{value}"
        );
    }
    for value in [json!("x"), json!(1), json!([]), json!([{}])] {
        let (messages, _) = decoded(&json!({ "additionalProperties": value }));
        assert_eq!(messages, rejected, "{value}");
    }
    for kept in [
        json!({ "items": {} }),
        json!({ "items": [{}] }),
        json!({ "additionalProperties": false }),
        json!({ "additionalItems": true }),
        json!({ "dependencies": { "a": ["b"] } }),
    ] {
        assert_eq!(decoded(&kept), (vec![], kept));
    }
    assert_eq!(decoded(&json!({ "items": [null] })).1, json!({ "items": [{}] }));
}

#[test]
fn first_mismatch_within_is_reported_with_the_outer_struct() {
    let cases = [
        (
            json!({ "items": { "maxLength": "5" } }),
            "string",
            "items.maxLength",
            "int64",
        ),
        (json!({ "items": ["x"] }), "string", "items", "v1.JSONSchemaProps"),
        (
            json!({ "items": { "items": { "type": 1 } } }),
            "number",
            "items.items.type",
            "string",
        ),
        (
            json!({ "items": { "x-kubernetes-validations": [{ "rule": 1 }] } }),
            "number",
            "items.x-kubernetes-validations.rule",
            "string",
        ),
        (
            json!({ "properties": { "a": { "additionalProperties": { "items": { "enum": "x" } } } } }),
            "string",
            "properties.additionalProperties.items.enum",
            "[]v1.JSON",
        ),
        (
            json!({ "dependencies": { "a": [1] } }),
            "number",
            "dependencies",
            "string",
        ),
        // Decoding stops at the error within.
        (
            json!({ "description": 1, "items": { "type": 2 } }),
            "number",
            "items.type",
            "string",
        ),
    ];
    for (schema, found, field, ty) in cases {
        let expected = format!(
            "json: cannot unmarshal {found} into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.{field} of type {ty}"
        );
        assert_eq!(decoded(&schema).0.first(), Some(&expected), "{schema}");
    }
}

#[test]
fn conversion_reports_mismatches_without_the_outer_path() {
    let cases = [
        (
            json!({ "items": { "maxLength": "5" } }),
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.maxLength of type int64",
        ),
        (
            json!({ "additionalProperties": { "items": { "enum": "x" } } }),
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.items.enum of type []v1.JSON",
        ),
        (
            json!({ "items": { "x-kubernetes-validations": [{ "rule": 1 }] } }),
            "json: cannot unmarshal number into Go struct field ValidationRule.x-kubernetes-validations.rule of type string",
        ),
        (
            json!({ "additionalProperties": "x" }),
            "boolean or JSON schema expected",
        ),
    ];
    for (schema, message) in cases {
        let mut object = definition_with(&schema);
        let patched = convert(&mut object.clone(), definition_type());
        assert_eq!(patched, Err(message.to_owned()), "{object}");
        let applied = conversion_error(&mut object, definition_type());
        assert_eq!(applied.as_deref(), Some(message), "{object}");
    }
}

#[test]
fn paths_into_custom_decoders_are_found() {
    let is_within = |path: &str| is_within_custom_decoder(path, definition_type());
    let schema = "spec.versions[0].schema.openAPIV3Schema";
    for inner in [
        "items.type",
        "default.a",
        "properties.a.additionalProperties.type",
        "enum[0].a",
    ] {
        assert!(is_within(&format!("{schema}.{inner}")), "{inner}");
    }
    for outer in ["items", "default", "properties.a.type", "properties.a", "nope.a"] {
        assert!(!is_within(&format!("{schema}.{outer}")), "{outer}");
    }
    assert!(!is_within("spec.versions") && !is_within("spec.versions[0].name.x"));
}

#[test]
fn status_subresource_has_no_fields() {
    let version =
        |status: Value| json!({ "spec": { "versions": [{ "subresources": { "status": status } }] } });
    let mut object = version(json!({ "x": 1 }));
    let errors = check(&mut object, definition_type(), true);
    let path = "spec.versions[0].subresources.status.x".to_owned();
    assert_eq!(errors, [DecodeError::Unknown(path)]);
    assert_eq!(object, version(json!({})));
    let errors = check(&mut version(json!("x")), definition_type(), true);
    let message = "json: cannot unmarshal string into Go struct field CustomResourceSubresources.spec.versions.subresources.status of \
                   type v1.CustomResourceSubresourceStatus";
    assert_eq!(errors, [DecodeError::Mismatch(message.to_owned())]);
}
