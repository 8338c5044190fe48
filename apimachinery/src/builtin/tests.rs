use super::*;
use crate::field::tests::without_shown_object;
use crate::types::{DecodeError, builtin_kinds};
use crate::types::{ExplicitEmptyFields, builtin, check, normalize};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Fields that admission, allocation and strategies set; they are not compared.
const SET_BY_SERVER: &[(&str, &[&str])] = &[
    (
        "Pod",
        &[
            "/spec/tolerations",
            "/spec/priority",
            "/spec/preemptionPolicy",
            "/spec/serviceAccount",
            "/spec/serviceAccountName",
            "/status",
        ],
    ),
    (
        "Service",
        &[
            "/spec/clusterIP",
            "/spec/clusterIPs",
            "/spec/ipFamilies",
            "/spec/ipFamilyPolicy",
            "/spec/ports/0/nodePort",
        ],
    ),
    (
        "Job",
        &[
            "/spec/selector",
            "/spec/template/metadata/labels",
            "/metadata/labels",
            "/spec/manualSelector",
        ],
    ),
    ("Namespace", &["/spec"]),
    ("Node", &["/spec/taints"]),
    ("CustomResourceDefinition", &["/status"]),
    ("PersistentVolumeClaim", &["/metadata/finalizers"]),
    (
        "PersistentVolume",
        &["/metadata/finalizers", "/status/lastPhaseTransitionTime"],
    ),
    ("DaemonSet", &["/metadata/annotations"]),
];

fn remove(object: &mut Value, pointer: &str) {
    let (holder, name) = pointer.rsplit_once('/').unwrap();
    if let Some(holder) = object.pointer_mut(holder).and_then(Value::as_object_mut) {
        holder.remove(name);
    }
}

#[test]
fn defaults_match_kube_apiserver() {
    let table: Value = serde_json::from_str(include_str!("tests/defaults.json")).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 45);
    let mut failures = Vec::new();
    for case in cases {
        let kind = case["object"]["kind"].as_str().unwrap();
        let ty = builtin(case["object"]["apiVersion"].as_str().unwrap(), kind).unwrap();
        let mut object = case["object"].clone();
        assert_eq!(check(&mut object, ty, true), [], "{object}");
        normalize(&mut object, ty);
        apply_defaults(&mut object, ty);
        let mut expected = case["result"].clone();
        for pointer in SET_BY_SERVER
            .iter()
            .filter(|(name, _)| *name == kind)
            .flat_map(|(_, pointers)| *pointers)
        {
            remove(&mut object, pointer);
            remove(&mut expected, pointer);
        }
        if object != expected {
            failures.push(format!("ours   {object}\ntheirs {expected}"));
        }
        let once = object.clone();
        normalize(&mut object, ty);
        apply_defaults(&mut object, ty);
        for pointer in SET_BY_SERVER
            .iter()
            .filter(|(name, _)| *name == kind)
            .flat_map(|(_, pointers)| *pointers)
        {
            remove(&mut object, pointer);
        }
        assert_eq!(object, once, "defaulting twice");
    }
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn validation_errors_match_kube_apiserver() {
    let table: Value = serde_json::from_str(include_str!("tests/faults.json")).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 180);
    let mut failures = Vec::new();
    for case in cases {
        let ty = builtin(
            case["object"]["apiVersion"].as_str().unwrap(),
            case["kind"].as_str().unwrap(),
        )
        .unwrap();
        let mut object = case["object"].clone();
        assert_eq!(check(&mut object, ty, true), [], "{object}");
        normalize(&mut object, ty);
        apply_defaults(&mut object, ty);
        let mut actual: Vec<(String, String, String)> = Vec::new();
        for error in validate(&object, case.get("old"), &ExplicitEmptyFields::default(), "") {
            let message = without_shown_object(&error.body());
            let error = (error.field.clone(), error.kind.reason().to_owned(), message);
            if !actual.contains(&error) {
                actual.push(error);
            }
        }
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
        let messages_match = |actual: &str, expected: &str| {
            expected
                .strip_prefix('\u{2026}')
                .map_or(actual == expected, |end| actual.ends_with(end))
        };
        let same = actual.len() == expected.len()
            && actual.iter().zip(&expected).all(|(actual, expected)| {
                actual.0 == expected.0 && actual.1 == expected.1 && messages_match(&actual.2, &expected.2)
            });
        if !same {
            failures.push(format!("{object}\n  ours   {actual:?}\n  theirs {expected:?}"));
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
fn objects_of_kube_apiserver_are_valid() {
    let table: Value = serde_json::from_str(include_str!("tests/defaults.json")).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let mut object = case["result"].clone();
        // The table leaves it out, but validated objects always have it.
        object["metadata"]["namespace"] = json!("default");
        let object = &object;
        assert_eq!(
            validate(object, None, &ExplicitEmptyFields::default(), ""),
            [],
            "{object}"
        );
        assert_eq!(
            validate(object, Some(object), &ExplicitEmptyFields::default(), ""),
            [],
            "{object}"
        );
    }
}

#[test]
fn containers_can_mount_volume_claim_templates_of_a_stateful_set() {
    let set = |mounted: &str| {
        json!({ "kind": "StatefulSet", "metadata": { "name": "a" }, "spec": {
            "selector": { "matchLabels": { "a": "b" } }, "podManagementPolicy": "Parallel",
            "updateStrategy": { "type": "OnDelete" },
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "restartPolicy": "Always", "containers": [{
                "name": "c", "image": "x", "imagePullPolicy": "Always", "terminationMessagePolicy": "File",
                "volumeMounts": [{ "name": mounted, "mountPath": "/data" }],
            }] } },
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
            } }],
        } })
    };
    let mut accepted = set("data");
    apply_defaults(&mut accepted, builtin("apps/v1", "StatefulSet").unwrap());
    assert_eq!(validate(&accepted, None, &ExplicitEmptyFields::default(), ""), []);
    assert_eq!(
        validate(&set("other"), None, &ExplicitEmptyFields::default(), "").len(),
        1
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..70000).prop_map(Value::from),
        "[a-z/%.: -]{0,6}".prop_map(Value::from),
        Just(json!("10%")),
        Just(json!("1Gi")),
    ];
    leaf.prop_recursive(6, 64, 4, |inner| {
        let name = prop_oneof![
            Just("spec"),
            Just("metadata"),
            Just("template"),
            Just("containers"),
            Just("ports"),
            Just("selector"),
            Just("matchLabels"),
            Just("matchExpressions"),
            Just("labels"),
            Just("data"),
            Just("name"),
            Just("strategy"),
            Just("rollingUpdate"),
            Just("resources"),
            Just("limits"),
            Just("rules"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..4).prop_map(|map| map
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    // Requests may contain any JSON. What does not match the type is rejected by the type check.
    #[test]
    fn validation_never_panics(object in any_json(), old in any_json(), index in any::<prop::sample::Index>()) {
        let kinds: Vec<_> = builtin_kinds().collect();
        let (version, kind) = kinds[index.index(kinds.len())];
        let ty = builtin(version, kind).unwrap();
        let mut object = object;
        if object.is_object() {
            object["kind"] = json!(kind);
        }
        let _ = validate(&object, Some(&old), &ExplicitEmptyFields::default(), "");
        let mismatches = check(&mut object, ty, true).iter().any(|error| matches!(error, DecodeError::Mismatch(_)));
        normalize(&mut object, ty);
        apply_defaults(&mut object, ty);
        let _ = validate(&object, None, &ExplicitEmptyFields::default(), "");
        let once = object.clone();
        normalize(&mut object, ty);
        prop_assert!(mismatches || object == once, "{} became {}", once, object);
    }
}
