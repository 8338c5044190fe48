use super::*;
use crate::status::Cause;
use crate::types::{MAX_DEPTH, Type, builtin, nesting_depth};
use proptest::prelude::*;
use serde_json::json;

/// Calls `check` with each case of a table, its body and its decoding mode.
fn for_each_case(table: &str, mut check: impl FnMut(&Value, &[u8], Decoding)) {
    let table: Value = serde_json::from_str(table).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let body = match &case["patch"] {
            Value::String(text) => text.clone(),
            patch => patch.to_string(),
        };
        let decoding = if case["validation"] == "Ignore" {
            Decoding::Lenient
        } else {
            Decoding::Strict
        };
        check(case, body.as_bytes(), decoding);
    }
}

/// Compares a result with the real server's. `result` selects the part of the object that the table contains.
fn compare(case: &Value, outcome: Result<Patched, PatchError>, result: impl Fn(Value) -> Value) {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array()
            .into_iter()
            .flatten()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    match outcome {
        Ok(patched) if case.get("strict").is_some() => {
            assert_eq!(
                patched.strict_errors.join(", "),
                case["strict"].as_str().unwrap(),
                "{case}"
            );
        }
        Ok(patched) => {
            assert_eq!(case.get("code"), None, "{case} became {}", patched.object);
            assert_eq!(patched.strict_errors, texts(&case["warnings"]), "{case}");
            assert_eq!(result(patched.object), case["result"], "{case}");
        }
        Err(error) => {
            let answer =
                json!({"code": error.code(), "reason": error.reason(), "message": error.to_string()});
            let observed =
                json!({"code": case["code"], "reason": case["reason"], "message": case["message"]});
            assert_eq!(answer, observed, "{case}");
            if let Some(cause) = error.cause() {
                assert_eq!(json!([Cause::from(cause.clone()).to_json()]), case["causes"]);
            }
        }
    }
}

fn compare_on_spec(table: &str, patch: fn(&Value, &[u8], Decoding) -> Result<Patched, PatchError>) {
    let spec = serde_json::from_str::<Value>(table).unwrap()["spec"].take();
    let object = json!({"apiVersion": "x.io/v1", "kind": "Any", "metadata": {"name": "a"}, "spec": spec});
    for_each_case(table, |case, body, decoding| {
        compare(case, patch(&object, body, decoding), |mut object| {
            object["spec"].take()
        });
    });
}

#[test]
fn json_patches_match_the_real_server() {
    compare_on_spec(include_str!("tests/json.json"), json_patch);
}

#[test]
fn merge_patches_match_the_real_server() {
    compare_on_spec(include_str!("tests/merge.json"), merge_patch);
}

#[test]
fn strategic_merge_patches_match_the_real_server() {
    compare_on_deployment(include_str!("tests/strategic.json"));
}

#[test]
fn random_strategic_merge_patches_match_the_real_server() {
    compare_on_deployment(include_str!("tests/strategic_random.json"));
}

fn compare_on_deployment(table: &str) {
    let object = serde_json::from_str::<Value>(table).unwrap()["object"].take();
    let ty = builtin("apps/v1", "Deployment").unwrap();
    for_each_case(table, |case, body, decoding| {
        let case = &without_empty(case.clone());
        compare(
            case,
            strategic_merge_patch(&object, body, ty, decoding),
            |patched| {
                // The table contains only changed fields, as stored: decoding drops empty values.
                let patched = without_empty(patched);
                let object = without_empty(object.clone());
                let fields = patched.as_object().unwrap().iter();
                let changed = fields.filter(|(name, value)| object.get(name.as_str()) != Some(value));
                Value::Object(
                    changed
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                )
            },
        );
    });
}

fn without_empty(value: Value) -> Value {
    let is_empty = |value: &Value| {
        value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    match value {
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, without_empty(value)));
            Value::Object(
                fields
                    .filter(|(name, value)| name == "result" || !is_empty(value))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

#[test]
fn json_patch_with_more_than_10000_operations_gets_413() {
    let operation = json!({"op": "test", "path": "/a", "value": 1});
    let body = |count: usize| Value::Array(vec![operation.clone(); count]).to_string();
    let object = json!({"a": 1});
    assert!(json_patch(&object, body(10_000).as_bytes(), Decoding::Strict).is_ok());
    let error = json_patch(&object, body(10_001).as_bytes(), Decoding::Strict).unwrap_err();
    assert_eq!(error.code(), 413);
}

#[test]
fn total_size_of_json_patch_copies_is_limited() {
    let object = json!({"a": {"b": "0123456789"}});
    let doubled = |count: usize| {
        let step = |at: usize| json!({"op": "copy", "from": "/a", "path": format!("/a/{at}")});
        Value::from((0..count).map(step).collect::<Vec<_>>()).to_string()
    };
    // The first copy adds 18 bytes, the 16th about 800 kB.
    assert!(json_patch(&object, doubled(16).as_bytes(), Decoding::Strict).is_ok());
    let error = json_patch(&object, doubled(40).as_bytes(), Decoding::Strict);
    assert!(matches!(error, Err(PatchError::Unprocessable(why)) if why.contains("accumulated size")));
}

#[test]
fn json_patch_cannot_nest_deeper_than_a_request_body() {
    let lists = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    let replaced = ["/a", &"/0".repeat(199)].concat();
    let appended = ["/a", &"/0".repeat(199), "/-"].concat();
    for (op, path, max_levels) in [
        ("add", &appended, MAX_DEPTH - 201),
        ("copy", &appended, MAX_DEPTH - 201),
        ("move", &appended, MAX_DEPTH - 201),
        ("replace", &replaced, MAX_DEPTH - 200),
    ] {
        for (levels, ok) in [(max_levels, true), (max_levels + 1, false)] {
            let object = json!({"a": lists(200), "b": lists(levels)});
            let patch = json!([{"op": op, "from": "/b", "path": path, "value": lists(levels)}]);
            let patched = json_patch(&object, patch.to_string().as_bytes(), Decoding::Strict);
            assert_eq!(patched.is_ok(), ok, "{op} {levels}");
            assert_eq!(
                patched.map_or(MAX_DEPTH, |patched| nesting_depth(&patched.object)),
                MAX_DEPTH
            );
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        "[ab]".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            "[abn]",
            Just("name".to_owned()),
            Just("$patch".to_owned()),
            Just("$retainKeys".to_owned()),
            Just("$setElementOrder/containers".to_owned()),
            Just("$deleteFromPrimitiveList/finalizers".to_owned()),
            Just("containers".to_owned()),
            Just("finalizers".to_owned()),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let path = || "(/(a|b|name|-|-1|0|1|9)){0,4}";
    // Few removals, or nothing would be left.
    let op = prop_oneof!["add|replace", "copy", "copy|move|remove|test"];
    (op, path(), path(), any_json())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

/// RFC 7386, literally.
fn rfc_7386(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut fields = match target {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    for (name, value) in patch {
        let old = fields.remove(name);
        if !value.is_null() {
            fields.insert(name.clone(), rfc_7386(old.unwrap_or_default(), value));
        }
    }
    Value::Object(fields)
}

fn without_lists(value: Value) -> Value {
    match value {
        Value::Array(_) => Value::from("list"),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_lists(value)))
            .collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn merge_patch_without_lists_follows_rfc_7386(object in any_json(), patch in any_json()) {
        let (object, patch) = (json!({"a": object, "b": 1}), json!({"a": without_lists(patch)}));
        let merged = merge_patch(&object, patch.to_string().as_bytes(), Decoding::Strict).unwrap();
        prop_assert_eq!(merged.object, rfc_7386(object, &patch));
    }

    #[test]
    fn random_strategic_merge_patches_do_not_panic(object in any_json(), patch in any_json()) {
        let ty = Type::named("core.v1.PodSpec");
        let _ = strategic_merge_patch(&object, patch.to_string().as_bytes(), &ty, Decoding::Strict);
        let ty = Type::named("meta.v1.ObjectMeta");
        let _ = strategic_merge_patch(&object, patch.to_string().as_bytes(), &ty, Decoding::Strict);
    }

    #[test]
    fn an_empty_patch_changes_nothing(object in any_json()) {
        let object = json!({"a": object});
        let ty = Type::named("core.v1.PodSpec");
        prop_assert_eq!(&strategic_merge_patch(&object, b"{}", &ty, Decoding::Strict).unwrap().object, &object);
        prop_assert_eq!(&merge_patch(&object, b"{}", Decoding::Strict).unwrap().object, &object);
        prop_assert_eq!(&json_patch(&object, b"[]", Decoding::Strict).unwrap().object, &object);
    }

    #[test]
    fn random_json_patches_do_not_panic(object in any_json(), operations in proptest::collection::vec(operation(), 1..=20)) {
        let patch = Value::from(operations).to_string();
        if let Ok(patched) = json_patch(&object, patch.as_bytes(), Decoding::Strict) {
            prop_assert!(nesting_depth(&patched.object) <= MAX_DEPTH);
        }
    }
}

#[test]
fn strict_decoding_errors_quote_the_patched_object_or_the_patch() {
    let why = "strict decoding error: duplicate field \"spec.replicas\"";
    let body = br#"{"spec":{"replicas":1,"replicas":2}}"#;
    let strategic = undecodable(&json!({}), Some(body), why);
    let expected = r#" "" is invalid: patch: Invalid value: "map[spec:map[replicas:2]]": strict decoding error: duplicate field "spec.replicas""#;
    assert_eq!(strategic.to_string(), expected);
    let merge = undecodable(&json!({"a": 1}), None, why);
    let expected = r#" "" is invalid: patch: Invalid value: "{\"a\":1}": strict decoding error: duplicate field "spec.replicas""#;
    assert_eq!(merge.to_string(), expected);
}
