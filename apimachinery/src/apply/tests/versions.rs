//! Managers of versions that a webhook converts. The recorded cases of the API server have more.

use super::*;

const V1: &str = "x.io/v1";
const V2: &str = "x.io/v2";

/// The kind has `spec.a` in `v1` and `spec.b` in `v2`, and `spec.n` in both.
static TYPES: LazyLock<[Type; 2]> = LazyLock::new(|| {
    ["a", "b"].map(|renamed| {
        type_of(
            &json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
                renamed: { "type": "string" }, "n": { "type": "integer" },
            }}}}),
        )
    })
});

fn types(version: &str) -> Option<&'static Type> {
    match version {
        V1 => Some(&TYPES[0]),
        V2 => Some(&TYPES[1]),
        _ => None,
    }
}

/// Converts as a webhook would.
fn convert(object: &Value, version: &str) -> Result<Option<Value>, String> {
    if types(version).is_none() {
        return Err(format!("no version {version}"));
    }
    if object["apiVersion"] == version {
        return Ok(None);
    }
    let mut object = object.clone();
    object["apiVersion"] = version.into();
    let (from, to) = if version == V1 { ("b", "a") } else { ("a", "b") };
    if let Some(value) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
        object["spec"][to] = value;
    }
    Ok(Some(object))
}

fn write<'a>(
    api_version: &'a str,
    manager: &'a str,
    convert: Convert<'a>,
    reset: &'a FieldSet,
) -> Write<'a, 'static> {
    Write {
        api_version,
        convert,
        ..typed_write(manager, &types, reset)
    }
}

/// Reads an object in a version, and applies a spec in it.
fn apply_spec(
    live: Option<&Value>,
    version: &str,
    manager: &str,
    spec: &Value,
    convert: Convert<'_>,
) -> Result<Value, ApplyError> {
    let live = live.map(|live| {
        self::convert(live, version)
            .unwrap()
            .unwrap_or_else(|| live.clone())
    });
    let config = json!({ "apiVersion": version, "kind": "Typed", "metadata": { "name": "x" }, "spec": spec });
    apply(
        live.as_ref(),
        &config,
        false,
        write(version, manager, convert, &FieldSet::default()),
    )
}

/// The object of a `v1` manager `one` and of a `v2` manager `two`.
fn object_of_both_versions() -> Value {
    let object = apply_spec(None, V1, "one", &json!({ "a": "x" }), &convert).unwrap();
    let mut object = apply_spec(Some(&object), V2, "two", &json!({ "n": 1 }), &convert).unwrap();
    object["metadata"]["uid"] = json!("u");
    object
}

#[test]
fn applier_that_changes_its_version_removes_a_renamed_field() {
    let object = apply_spec(None, V1, "one", &json!({ "a": "x", "n": 1 }), &convert).unwrap();
    let object = apply_spec(Some(&object), V2, "one", &json!({ "n": 1 }), &convert).unwrap();
    assert_eq!(
        (&object["apiVersion"], &object["spec"]),
        (&json!(V2), &json!({ "n": 1 }))
    );
}

#[test]
fn renamed_field_of_another_version_is_kept_and_conflicts() {
    let object = object_of_both_versions();
    let shared = apply_spec(Some(&object), V2, "two", &json!({ "b": "x" }), &convert).unwrap();
    let shared = apply_spec(Some(&shared), V2, "two", &json!({ "n": 2 }), &convert).unwrap();
    assert_eq!(shared["spec"], json!({ "b": "x", "n": 2 }));
    let conflict = apply_spec(Some(&object), V2, "two", &json!({ "b": "y" }), &convert).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.a"
    );
}

#[test]
fn failed_conversion_refuses_an_apply_at_once() {
    let object = object_of_both_versions();
    let calls = std::cell::Cell::new(0);
    let fails = |_: &Value, _: &str| {
        calls.set(calls.get() + 1);
        Err("the webhook failed".to_owned())
    };
    let error = apply_spec(Some(&object), V2, "two", &json!({ "n": 2 }), &fails).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        (500, "the webhook failed".to_owned())
    );
    // A call may take long, and each would fail.
    assert_eq!(calls.get(), 1);
}

#[test]
fn manager_of_a_version_without_conversion_refuses_an_apply() {
    let mut object = object_of_both_versions();
    object["metadata"]["managedFields"][0]["apiVersion"] = json!("x.io/v0");
    let error = apply_spec(Some(&object), V2, "two", &json!({ "n": 1 }), &convert).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (500, "no version x.io/v0")
    );
}

#[test]
fn failed_conversion_of_a_pruned_object_is_named() {
    let object = object_of_both_versions();
    let object = apply_spec(Some(&object), V2, "two", &json!({ "b": "x", "n": 1 }), &convert).unwrap();
    let needs_n = |object: &Value, version: &str| match object["spec"].get("n") {
        None => Err("n is missing".to_owned()),
        Some(_) => convert(object, version),
    };
    let error = apply_spec(Some(&object), V2, "two", &json!({ "b": "x" }), &needs_n).unwrap_err();
    let expected = "failed to prune fields: failed add back owned items: failed to convert pruned object at version x.io/v1: n is missing";
    assert_eq!((error.code(), error.to_string().as_str()), (500, expected));
}

#[test]
fn fields_that_a_request_cannot_change_are_kept_by_managers_of_versions_with_this_rule() {
    let mut live = apply_spec(None, V1, "one", &json!({ "a": "x", "n": 1 }), &convert).unwrap();
    live["metadata"]["uid"] = json!("u");
    let live = convert(&live, V2).unwrap().unwrap();
    let reset = FieldSet::of_fields(&[&["spec", "n"]]);
    let owned = |resets_in: &dyn Fn(&str) -> bool| {
        let mut new = live.clone();
        new["spec"]["n"] = json!(2);
        let write = Write {
            resets_in,
            ..write(V2, "two", &convert, &reset)
        };
        track(Some(&live), &mut new, write);
        new["metadata"]["managedFields"][0]["fieldsV1"].clone()
    };
    assert_eq!(owned(&|_| true), json!({ "f:spec": { "f:a": {}, "f:n": {} } }));
    assert_eq!(
        owned(&|version| version == V2),
        json!({ "f:spec": { "f:a": {} } })
    );
}

#[test]
fn other_writes_drop_managed_fields_if_a_conversion_fails() {
    let live = object_of_both_versions();
    let changed = |convert: Convert<'_>| {
        let mut new = live.clone();
        new["spec"]["n"] = json!(2);
        track(
            Some(&live),
            &mut new,
            write(V2, "three", convert, &FieldSet::default()),
        );
        new["metadata"]["managedFields"].as_array().map(Vec::len)
    };
    assert_eq!(changed(&convert), Some(2));
    assert_eq!(changed(&|_, _| Err("the webhook failed".to_owned())), None);
}
