//! Claims of volumes: what they are filled from.

use crate::meta::{self, text};
use serde_json::{Map, Value, json};

pub(super) fn fill(claim: &mut Value, old: Option<&Value>) {
    if old.is_none() {
        meta::add_finalizer(claim, "kubernetes.io/pvc-protection");
        meta::entry_mut(claim, "status").insert("phase".into(), json!("Pending"));
    }
    sources(
        meta::entry_mut(claim, "spec"),
        old.map_or(&Value::Null, |old| &old["spec"]),
    );
}

/// There is an old field for what a claim is filled from, and a newer one, which may name more. Each follows from the other.
fn sources(spec: &mut Map<String, Value>, old: &Value) {
    const OLDER: &str = "dataSource";
    const NEWER: &str = "dataSourceRef";
    let get = |spec: &Map<String, Value>, name: &str| spec.get(name).cloned().unwrap_or_default();
    // Other namespaces need a gate that is closed.
    if !text(&get(spec, NEWER), "namespace").is_empty() && old[NEWER].is_null() {
        spec.remove(NEWER);
    }
    let (older, newer) = (get(spec, OLDER), get(spec, NEWER));
    let known = matches!(
        (text(&older, "apiGroup"), text(&older, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if newer.is_null() && !known && old[OLDER].is_null() && old[NEWER].is_null() {
        spec.remove(OLDER);
    } else if newer.is_null() && !older.is_null() {
        spec.insert(NEWER.to_owned(), older);
    } else if older.is_null() && !newer.is_null() && text(&newer, "namespace").is_empty() {
        let mut source = newer;
        if let Value::Object(fields) = &mut source {
            fields.remove("namespace");
        }
        spec.insert(OLDER.to_owned(), source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_follow_from_one_another() {
        let filled = |spec: Value, old: Value| {
            let mut spec = spec;
            sources(spec.as_object_mut().unwrap(), &old);
            spec
        };
        let claim = json!({ "apiGroup": null, "kind": "PersistentVolumeClaim", "name": "c" });
        let both = json!({ "dataSource": claim, "dataSourceRef": claim });
        assert_eq!(filled(json!({ "dataSource": claim }), Value::Null), both);
        assert_eq!(filled(json!({ "dataSourceRef": claim }), Value::Null), both);
        // What the old field cannot name is dropped, but where there was something.
        let other = json!({ "apiGroup": "x.dev", "kind": "X", "name": "c" });
        assert_eq!(filled(json!({ "dataSource": other }), Value::Null), json!({}));
        let both_other = json!({ "dataSource": other, "dataSourceRef": other });
        assert_eq!(filled(json!({ "dataSource": other }), both), both_other);
        assert_eq!(filled(json!({ "dataSourceRef": other }), Value::Null), both_other);
        let mut far = claim;
        far["namespace"] = json!("n");
        assert_eq!(filled(json!({ "dataSourceRef": far }), Value::Null), json!({}));
    }
}
