use super::*;
use crate::field::tests::without_shown_object;
use crate::status::{ApiError, Cause};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

/// Decodes and validates an object as a write does.
fn decoded_and_validated(
    schema: &Schema,
    mut object: Value,
    old: Option<&Value>,
) -> (Vec<String>, Vec<FieldError>, Value) {
    let unknown = schema.decode(&mut object, false).unwrap();
    let warnings = unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""))
        .collect();
    schema.default(&mut object);
    crate::types::floats_to_integers(&mut object);
    let errors = schema.validate(&object, old);
    (warnings, errors, object)
}

#[test]
fn objects_are_decoded_and_validated_like_on_the_real_server() {
    let table: Value = serde_json::from_str(include_str!("tests/objects.json")).unwrap();
    let schema = Schema::new(&table["schema"]);
    let mut failures = Vec::new();
    let cases = table["cases"].as_array().unwrap();
    for case in cases {
        let with_spec = |spec: &Value| {
            let mut object = json!({"apiVersion": "x.io/v1", "kind": "Val", "metadata": {"name": "v"}});
            if !spec.is_null() {
                object["spec"] = spec.clone();
            }
            object
        };
        let object = case
            .get("object")
            .cloned()
            .unwrap_or_else(|| with_spec(&case["spec"]));
        let old = case.get("old").map(with_spec);
        let mut object = object;
        // `status` is a subresource.
        object.as_object_mut().unwrap().remove("status");
        let (warnings, errors, object) = decoded_and_validated(&schema, object, old.as_ref());
        let actual: BTreeSet<String> = causes(&errors)
            .iter()
            .map(|cause| cause.to_json().to_string())
            .collect();
        let expected: BTreeSet<String> = case["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::to_string)
            .collect();
        if actual != expected {
            failures.push(format!("{case}\n  ours {actual:?}"));
            continue;
        }
        if let [_] = &errors[..] {
            assert_eq!(
                ApiError::invalid_of("x.io", "Val", "v", &causes(&errors)).message,
                case["message"].as_str().unwrap()
            );
        }
        let expected: Vec<Value> = case["warnings"].as_array().cloned().unwrap_or_default();
        if case.get("code").is_none()
            && warnings.iter().map(|text| json!(text)).collect::<Vec<_>>() != expected
        {
            failures.push(format!("{case}\n  ours {warnings:?}"));
        }
        if case.get("code").is_none() && object["spec"] != case["result"] {
            failures.push(format!("{case}\n  ours {}", object["spec"]));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn schemas_are_rejected_like_on_the_real_server() {
    let table: Value = serde_json::from_str(include_str!("tests/schemas.json")).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 50);
    let mut failures = Vec::new();
    for case in cases {
        let errors = check_structural(&case["schema"], "spec.validation.openAPIV3Schema");
        let mut actual: Vec<(String, String, String)> = errors
            .iter()
            .map(|error| {
                let message = without_shown_object(&error.body());
                (error.field.clone(), error.kind.reason().to_owned(), message)
            })
            .collect();
        let text = |cause: &Value, name: &str| cause[name].as_str().unwrap().to_owned();
        let observed = case["causes"].as_array().unwrap().iter();
        let mut expected: Vec<_> = observed
            .map(|cause| {
                (
                    text(cause, "field"),
                    text(cause, "reason"),
                    without_shown_object(&text(cause, "message")),
                )
            })
            .collect();
        actual.sort();
        expected.sort();
        let same = actual.len() == expected.len()
            && actual.iter().zip(&expected).all(|(actual, expected)| {
                actual.0 == expected.0 && actual.1 == expected.1 && actual.2.starts_with(&expected.2)
            });
        if !same {
            failures.push(format!(
                "{}\n  actual   {actual:?}\n  expected {expected:?}",
                case["schema"]
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn a_status_is_validated_alone() {
    let text = json!({"type": "string"});
    let schema = Schema::new(&json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["a"]},
        "status": {"type": "object", "properties": {"s": text}},
    }}));
    let old = json!({"spec": {}});
    assert_eq!(schema.validate_status(&json!({"spec": {}}), &old), []);
    let errors = schema.validate_status(&json!({"spec": {}, "status": {"s": 1}}), &old);
    assert_eq!(
        errors[0].to_string(),
        "status.s: Invalid value: \"integer\": status.s in body must be of type string: \"integer\""
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..5).prop_map(Value::from),
        (-2.0f64..5.0).prop_map(Value::from),
        prop_oneof![
            Just("object"),
            Just("array"),
            Just("string"),
            Just("integer"),
            Just("set"),
            Just("map"),
            Just("[a"),
            Just("self == oldSelf")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let name = prop_oneof![
            Just("type"),
            Just("properties"),
            Just("items"),
            Just("additionalProperties"),
            Just("x-kubernetes-list-type"),
            Just("x-kubernetes-list-map-keys"),
            Just("x-kubernetes-embedded-resource"),
            Just("x-kubernetes-preserve-unknown-fields"),
            Just("x-kubernetes-validations"),
            Just("rule"),
            Just("anyOf"),
            Just("allOf"),
            Just("not"),
            Just("enum"),
            Just("default"),
            Just("required"),
            Just("pattern"),
            Just("minimum"),
            Just("multipleOf"),
            Just("metadata"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..5).prop_map(|map| map
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_schemas_and_objects_do_not_panic(schema in any_json(), object in any_json(), old in any_json()) {
        let rejected = check_structural(&schema, "spec.validation.openAPIV3Schema");
        // The default itself may contain unknown fields.
        let is_unchecked = ["additionalProperties", "embedded"].iter().any(|name| schema.to_string().contains(name));
        let invalid_default = is_unchecked || rejected.iter().any(|error| error.field.ends_with(".default"));
        let schema = Schema::new(&schema);
        // The metadata of an embedded resource may have a wrong type.
        prop_assume!(schema.decode(&mut object.clone(), false).is_ok());
        let (_, _, object) = decoded_and_validated(&schema, object, Some(&old));
        let again = decoded_and_validated(&schema, object.clone(), None);
        prop_assert!(invalid_default || again.0.is_empty(), "unknown fields after pruning: {:?}", again.0);
    }

    #[test]
    fn random_rules_do_not_panic(rule in "[a-z.()\\[\\]'\"!=<>&|?:0-9+*/% {},-]{0,24}") {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "messageExpression": rule}]});
        let _ = check_structural(&schema, "spec.validation.openAPIV3Schema");
        let _ = Schema::new(&schema).validate(&json!({"a": 1}), Some(&json!({"a": 2})));
    }
}

fn causes(errors: &[FieldError]) -> Vec<Cause> {
    errors.iter().cloned().map(Cause::from).collect()
}
