//! What the real server recorded: objects, their managed fields, and errors. Properties of apply stand in `properties`.

use super::*;
use crate::schema::type_of;
use serde_json::json;
use std::sync::LazyLock;

mod properties;
mod versions;

/// Imitates what the real server does between apply and the store: defaulting, and fields that a request cannot change.
fn finish_write(live: &Value, mut object: Value, subresource: &str) -> Value {
    for item in object
        .pointer_mut("/spec/m")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if item.get("p").is_none() {
            item["p"] = json!("TCP");
        }
    }
    let kept: &[&str] = if subresource == "status" {
        &["spec"]
    } else {
        &["status"]
    };
    let fields = object.as_object_mut().unwrap();
    for name in kept {
        fields.remove(*name);
        if let Some(value) = live.get(*name) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
    for (name, value) in live["metadata"].as_object().into_iter().flatten() {
        let fixed = name != "managedFields" && object["metadata"].get(name).is_none();
        if fixed && (subresource == "status" || ["uid", "namespace"].contains(&name.as_str())) {
            object["metadata"][name] = value.clone();
        }
    }
    object
}

fn latest_time(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten();
    entries
        .filter_map(|entry| entry["time"].as_str())
        .max()
        .unwrap_or("2026-01-01T00:00:00Z")
        .to_owned()
}

#[test]
fn custom_resource_writes_match_the_real_server() {
    compare_sequences(include_str!("tests/custom.json"));
}

#[test]
fn random_custom_resource_writes_match_the_real_server() {
    compare_sequences(include_str!("tests/random.json"));
}

fn compare_sequences(table: &str) {
    let table: Value = serde_json::from_str(table).unwrap();
    let ty = &*TABLE_TYPE;
    let types = |version: &str| (version == "x.io/v1").then_some(ty);
    let status = FieldSet::of_fields(&[&["status"]]);
    let except_status = FieldSet::of_fields(&[&["metadata"], &["spec"]]);
    let mut compared = 0;
    for sequence in table["sequences"].as_array().unwrap() {
        let mut live: Option<Value> = None;
        for (index, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let context = format!("{}, step {index}: {step}", sequence["title"]);
            if step["error"]["code"] == 422 {
                // Rejected by schema validation, which this test does not run.
                continue;
            }
            let subresource = step["subresource"].as_str().unwrap_or_default();
            let expected = &step["object"];
            let time = latest_time(expected);
            let reset = if subresource == "status" {
                &except_status
            } else {
                &status
            };
            let write = Write {
                subresource,
                time: &time,
                ..typed_write(step["manager"].as_str().unwrap(), &types, reset)
            };
            match write_step(live.as_ref(), step, expected.clone(), write) {
                Ok(mut object) => {
                    assert_eq!(step.get("error"), None, "{context}");
                    if let Some(live) = &live {
                        object = finish_write(live, object, subresource);
                        preserve_unchanged_times(live, &mut object);
                    } else {
                        object = finish_write(&Value::Null, object, subresource);
                        for name in ["uid", "namespace"] {
                            object["metadata"][name] = expected["metadata"][name].clone();
                        }
                    }
                    assert_eq!(object, *expected, "{context}");
                    live = Some(object);
                }
                Err(error) => {
                    let causes = match &error {
                        ApplyError::Conflict { causes, .. } => causes.clone(),
                        _ => Vec::new(),
                    };
                    let causes: Vec<Value> = causes
                        .iter()
                        .map(|cause| json!({"reason": "FieldManagerConflict", "message": cause.message, "field": cause.field}))
                        .collect();
                    let answer = json!({"code": error.code(), "reason": error.reason(), "message": error.to_string(), "causes": causes});
                    // The real server lists the causes for several managers in random order.
                    let sorted = |mut error: Value| {
                        if let Some(causes) = error["causes"].as_array_mut() {
                            causes.sort_by_key(ToString::to_string);
                        }
                        error
                    };
                    assert_eq!(sorted(answer), sorted(step["error"].clone()), "{context}");
                }
            }
            compared += 1;
        }
    }
    assert!(compared > 70, "{compared} steps compared");
}

/// Applies the configuration of a step, or makes another write of an object.
fn write_step(
    live: Option<&Value>,
    step: &Value,
    mut new: Value,
    write: Write<'_, '_>,
) -> Result<Value, ApplyError> {
    if step["op"] == "apply" {
        return apply(live, &step["config"], step["force"] == true, write);
    }
    take_managed_fields(&mut new);
    if let Some(sent) = step["patch"]["metadata"].get("managedFields") {
        new["metadata"]["managedFields"] = sent.clone();
    }
    track(live, &mut new, write);
    Ok(new)
}

/// Fields that admission and allocation add to a spec after `managedFields` is computed.
const ADDED_AFTER_APPLY: [&str; 7] = [
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "preemptionPolicy",
    "priority",
    "tolerations",
];

#[test]
fn managed_fields_of_built_in_kinds_match_the_real_server() {
    let table: Value = serde_json::from_str(include_str!("tests/builtin.json")).unwrap();
    let status = FieldSet::of_fields(&[&["status"]]);
    let except_status = FieldSet::of_fields(&[&["spec"], &["metadata", "labels"]]);
    let no_fields = FieldSet::default();
    let mut compared = 0;
    for sequence in table["sequences"].as_array().unwrap() {
        let (api_version, kind) = (
            sequence["apiVersion"].as_str().unwrap(),
            sequence["kind"].as_str().unwrap(),
        );
        let types = |version: &str| crate::types::builtin(version, kind);
        let mut live: Option<Value> = None;
        for (index, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let context = format!("{}, step {index}: {step}", sequence["title"]);
            if step["error"]["code"] == 422 {
                continue;
            }
            let subresource = step["subresource"].as_str().unwrap_or_default();
            let expected = &step["object"];
            let time = latest_time(expected);
            let reset = match (subresource, kind) {
                ("status", _) => &except_status,
                (_, "Role" | "ConfigMap" | "ServiceAccount" | "Lease" | "Event" | "Secret") => &no_fields,
                _ => &status,
            };
            let write = Write {
                api_version,
                kind,
                custom: false,
                subresource,
                time: &time,
                ..typed_write(step["manager"].as_str().unwrap(), &types, reset)
            };
            let mut new = expected.clone();
            if let (Some(spec), "create") = (
                new.get_mut("spec").and_then(Value::as_object_mut),
                step["op"].as_str().unwrap(),
            ) {
                spec.retain(|name, _| !ADDED_AFTER_APPLY.contains(&name.as_str()));
            }
            match write_step(live.as_ref(), step, new, write) {
                Ok(object) => {
                    assert_eq!(step.get("error"), None, "{context}");
                    // The object itself has been defaulted: compare only the managed fields.
                    let (recorded, expected) = (
                        &object["metadata"]["managedFields"],
                        &expected["metadata"]["managedFields"],
                    );
                    assert_eq!(recorded, expected, "{context}\n{recorded}\n{expected}");
                    live = Some(step["object"].clone());
                }
                Err(error) => {
                    assert_eq!(error.to_string(), step["error"]["message"], "{context}");
                }
            }
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared} steps compared");
}

#[test]
fn managed_fields_of_scale_and_parent_match_the_real_server() {
    let table: Value = serde_json::from_str(include_str!("tests/scale.json")).unwrap();
    let types = |version: &str| crate::types::builtin(version, "Scale");
    let status = FieldSet::of_fields(&[&["status"]]);
    let replicas = |_: &str| Some(["spec", "replicas"].map(str::to_owned).to_vec());
    let steps = table["steps"].as_array().unwrap();
    for pair in steps.windows(2) {
        let [before, after] = pair else { unreachable!() };
        let scale = |replicas: &Value, record: Option<Value>| {
            let mut scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "sc", "uid": "u"}, "spec": {"replicas": replicas}, "status": {"replicas": 0},
            });
            if let Some(record) = record {
                scale["metadata"]["managedFields"] = record;
            }
            scale
        };
        let live = scale(
            &before["replicas"],
            scale_managed_fields(&before["parent"], &replicas),
        );
        let mut new = scale(&after["replicas"], None);
        let write = Write {
            api_version: "autoscaling/v1",
            kind: "Scale",
            custom: false,
            subresource: "scale",
            ..typed_write(after["manager"].as_str().unwrap(), &types, &status)
        };
        if after["op"] == "scale-apply" {
            let config = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "sc"}, "spec": new["spec"]});
            new = apply(Some(&live), &config, true, write).unwrap();
        } else {
            track(Some(&live), &mut new, write);
        }
        let parent = parent_managed_fields(
            &before["parent"],
            &new["metadata"]["managedFields"],
            "apps/v1",
            &replicas,
        );
        assert_eq!(parent, Some(after["parent"].clone()), "{after}");
    }
    assert_eq!(steps.len(), 7);
}

#[test]
fn replicas_are_those_of_the_managers_version_and_kept_with_an_empty_scale() {
    let replicas = |version: &str| {
        let name = if version == "x.io/v1" { "replicas" } else { "size" };
        Some(["spec", name].map(str::to_owned).to_vec())
    };
    let entries = |version: &str, spec: Value| json!([{ "manager": "m", "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": spec } }]);
    let owner = entries("x.io/v1", json!({ "f:replicas": {} }));
    let other = entries("x.io/v2", json!({ "f:replicas": {} }));
    assert!(scale_managed_fields(&owner, &replicas).is_some());
    assert_eq!(scale_managed_fields(&other, &replicas), None);
    let empty = entries("autoscaling/v1", json!({}));
    let after = |scale: &Value| parent_managed_fields(&owner, scale, "x.io/v2", &replicas);
    assert_eq!(after(&empty), Some(owner.clone()));
    assert_eq!(after(&Value::Null), None);
}

#[test]
fn objects_that_do_not_match_their_type_have_no_managed_fields() {
    let types = |_: &str| Some(&*TABLE_TYPE);
    let no_fields = FieldSet::default();
    let write = typed_write("m", &types, &no_fields);
    let object = |item: Value| json!({ "apiVersion": "x.io/v1", "kind": "Typed", "metadata": { "name": "a", "uid": "u" }, "spec": { "m": [item] } });
    let mut live = object(json!({ "k": "1", "v": "2" }));
    track(None, &mut live, write);
    assert!(live["metadata"]["managedFields"].is_array(), "{live}");
    let has_no_key = object(json!("x"));
    let mut new = has_no_key.clone();
    track(Some(&live), &mut new, write);
    assert_eq!(new["metadata"]["managedFields"], Value::Null);
    let mut first = has_no_key;
    track(None, &mut first, write);
    assert_eq!(first["metadata"]["managedFields"], Value::Null);
}

#[test]
fn applies_to_objects_that_do_not_match_their_type_are_refused() {
    let types = |_: &str| Some(&*TABLE_TYPE);
    let no_fields = FieldSet::default();
    let write = typed_write("m", &types, &no_fields);
    let config = json!({ "apiVersion": "x.io/v1", "kind": "Typed", "metadata": { "name": "a" } });
    let mut live = config.clone();
    live["metadata"]["namespace"] = json!("n");
    live["spec"] = json!({ "m": "x" });
    let error = |live: &Value| apply(Some(live), &config, true, write).unwrap_err().to_string();
    let why = ".spec.m: expected list, got &{x}";
    assert_eq!(
        error(&live),
        format!(
            "failed to create manager for existing fields: failed to convert new object (n/a; x.io/v1, Kind=Typed) to smd typed: {why}"
        )
    );
    live["metadata"]["managedFields"] = json!([{ "manager": "m", "operation": "Apply", "apiVersion": "x.io/v1", "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": {} } }]);
    assert_eq!(
        error(&live),
        format!("failed to create typed live object (n/a; x.io/v1, Kind=Typed): {why}")
    );
}

#[test]
fn path_elements_of_unknown_types_are_left_out() {
    let decoded = |fields: Value| FieldSet::decode(&fields).map(|set| set.encode());
    let fields = json!({ "f:a": { "f:b": {}, "x:y": {} }, "f:c": { "x:y": {} }, "f:d": null });
    let known = json!({ "f:a": { "f:b": {} }, "f:c": {}, "f:d": {} });
    assert_eq!(decoded(fields), Some(known));
    for invalid in ["f", "fx", "v:x", "i:x"] {
        assert_eq!(decoded(json!({ invalid: {} })), None, "{invalid}");
    }
}

#[test]
fn conflicts_are_in_the_order_of_the_identifiers_of_managers() {
    let set = FieldSet::of_fields(&[&["spec", "replicas"]]);
    let conflicts =
        ["", "scale"].map(|subresource| (Manager::new("one", true, "", subresource), set.clone()));
    let error = ApplyError::conflicts(&conflicts.into());
    let expected = "Apply failed with 2 conflicts: conflicts with \"one\" with subresource \"scale\":\n- .spec.replicas\n\
                    conflicts with \"one\":\n- .spec.replicas";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_annotation_of_the_last_apply_escapes_html() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut object = json!({ "metadata": { "annotations": { ANNOTATION: "{}" } } });
    last_applied::update_annotation(&mut object, &json!({ "data": { "x": "<&>" } }));
    assert_eq!(
        object["metadata"]["annotations"][ANNOTATION],
        "{\"data\":{\"x\":\"\\u003c\\u0026\\u003e\"}}\n"
    );
}

static TABLE_TYPE: LazyLock<Type> = LazyLock::new(|| {
    let table: Value = serde_json::from_str(include_str!("tests/custom.json")).unwrap();
    type_of(&table["schema"])
});

/// A write of an object of the table's type.
fn typed_write<'a, 't>(
    manager: &'a str,
    types: &'a dyn Fn(&str) -> Option<&'t Type>,
    reset: &'a FieldSet,
) -> Write<'a, 't> {
    Write {
        manager,
        api_version: "x.io/v1",
        kind: "Typed",
        custom: true,
        subresource: "",
        time: "2026-01-01T00:00:00Z",
        types,
        convert: &|_, _| Ok(None),
        reset,
        resets_in: &|_| true,
    }
}

/// Restores the timestamps of `old`'s managed fields in `new` if nothing else differs, so that the write is a no-op, as when an
/// object is stored.
fn preserve_unchanged_times(old: &Value, new: &mut Value) {
    let without_times = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for entry in metadata
                .get_mut("managedFields")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                entry["time"] = Value::Null;
            }
            metadata.remove("resourceVersion");
        }
        object
    };
    let (before, after) = (
        &old["metadata"]["managedFields"],
        &new["metadata"]["managedFields"],
    );
    if before != after && before.is_array() && without_times(old) == without_times(new) {
        let before = before.clone();
        if let Some(after) = new.pointer_mut("/metadata/managedFields") {
            *after = before;
        }
    }
}
