//! The strategy of PersistentVolumeClaims.

use crate::meta::{self, text};
use serde_json::{Map, Value, json};

pub(super) fn prepare(claim: &mut Value, old: Option<&Value>) {
    if old.is_none() {
        meta::entry_mut(claim, "status").insert("phase".into(), json!("Pending"));
    }
    sync_data_sources(
        meta::entry_mut(claim, "spec"),
        old.map_or(&Value::Null, |old| &old["spec"]),
    );
}

/// Keeps `dataSource` and the newer `dataSourceRef`, which may name more kinds, in sync.
fn sync_data_sources(spec: &mut Map<String, Value>, old: &Value) {
    const DATA_SOURCE: &str = "dataSource";
    const DATA_SOURCE_REF: &str = "dataSourceRef";
    let get = |spec: &Map<String, Value>, name: &str| spec.get(name).cloned().unwrap_or_default();
    // References to other namespaces require a feature gate that is off.
    if !text(&get(spec, DATA_SOURCE_REF), "namespace").is_empty() && old[DATA_SOURCE_REF].is_null() {
        spec.remove(DATA_SOURCE_REF);
    }
    let (source, reference) = (get(spec, DATA_SOURCE), get(spec, DATA_SOURCE_REF));
    let is_supported = matches!(
        (text(&source, "apiGroup"), text(&source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if reference.is_null() && !is_supported && old[DATA_SOURCE].is_null() && old[DATA_SOURCE_REF].is_null() {
        spec.remove(DATA_SOURCE);
    } else if reference.is_null() && !source.is_null() {
        spec.insert(DATA_SOURCE_REF.to_owned(), source);
    } else if source.is_null() && !reference.is_null() && text(&reference, "namespace").is_empty() {
        let mut source = reference;
        if let Value::Object(fields) = &mut source {
            fields.remove("namespace");
        }
        spec.insert(DATA_SOURCE.to_owned(), source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sources_are_synced() {
        let synced = |spec: Value, old: Value| {
            let mut spec = spec;
            sync_data_sources(spec.as_object_mut().unwrap(), &old);
            spec
        };
        let claim = json!({ "apiGroup": null, "kind": "PersistentVolumeClaim", "name": "c" });
        let both = json!({ "dataSource": claim, "dataSourceRef": claim });
        assert_eq!(synced(json!({ "dataSource": claim }), Value::Null), both);
        assert_eq!(synced(json!({ "dataSourceRef": claim }), Value::Null), both);
        // `dataSource` of an unsupported kind is dropped, unless the stored object had a source.
        let other = json!({ "apiGroup": "x.dev", "kind": "X", "name": "c" });
        assert_eq!(synced(json!({ "dataSource": other }), Value::Null), json!({}));
        let both_other = json!({ "dataSource": other, "dataSourceRef": other });
        assert_eq!(synced(json!({ "dataSource": other }), both), both_other);
        assert_eq!(synced(json!({ "dataSourceRef": other }), Value::Null), both_other);
        let mut cross_namespace = claim;
        cross_namespace["namespace"] = json!("n");
        assert_eq!(
            synced(json!({ "dataSourceRef": cross_namespace }), Value::Null),
            json!({})
        );
    }
}
