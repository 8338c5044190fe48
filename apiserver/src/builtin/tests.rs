use super::*;
use crate::types::{builtin, check, normalize};
use serde_json::Value;

/// What admission, allocation and controllers' strategies add.
const ADDED: &[(&str, &[&str])] = &[
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
fn objects_get_the_real_servers_defaults() {
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
        default(&mut object, ty);
        let mut expected = case["result"].clone();
        for pointer in ADDED
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
        default(&mut object, ty);
        for pointer in ADDED
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
