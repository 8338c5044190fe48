//! Generates the CRD files.

use std::path::PathBuf;

use serde_json::Value;

use super::KindManifest;
use crate::{schema_diff, yaml, yaml::YamlError};

/// Directory of the CRD files.
pub const FOLDER: &str = "manifests/crds";

/// Limit of the API server for all annotations of an object; client-side apply stores the whole object in one.
const MAX_ANNOTATIONS_BYTES: usize = 262_144;

/// Returns the path of a kind's CRD file.
pub fn path(kind: &KindManifest) -> PathBuf {
    format!("{FOLDER}/{}_{}.yaml", kind.group, kind.plural).into()
}

/// Returns the CRD as YAML.
pub fn text(crd: &Value) -> Result<String, YamlError> {
    yaml::write(crd)
}

/// Removes fields that only the API server sets, and turns whole floats into integers: schemars writes bounds as floats.
pub(crate) fn clean(crd: &mut Value) {
    if let Some(object) = crd.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    floats_to_integers(crd);
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole and in the range in which floats hold integers exactly"
)]
fn floats_to_integers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(floats_to_integers),
        Value::Object(fields) => fields.values_mut().for_each(floats_to_integers),
        Value::Number(number) if number.is_f64() => {
            let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9e15;
            if let Some(float) = number.as_f64().filter(whole) {
                *value = (float as i64).into();
            }
        }
        _ => {}
    }
}

/// Returns the changes from the existing file to the new CRD, for the plan's notes.
pub fn notes(file: &str, kind: &KindManifest, crd: &Value) -> Vec<String> {
    match yaml::read_all(file).as_deref() {
        Ok([old]) => schema_diff::compare(old, crd, kind.conversion.as_ref())
            .iter()
            .map(ToString::to_string)
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns a warning if the CRD is near or above the size limit of client-side apply.
pub fn size_warning(kind: &KindManifest, crd: &Value) -> Option<String> {
    let size = crd.to_string().len();
    (size > MAX_ANNOTATIONS_BYTES / 10 * 8).then(|| {
        format!(
            "the CRD of {} has {size} bytes, and client-side apply supports at most {MAX_ANNOTATIONS_BYTES}: \
             use `kubectl apply --server-side`, or set `descriptions = \"short\"` in kubewright.toml",
            kind.kind
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn clean_removes_server_fields_and_whole_floats() {
        let mut crd = json!({"status": {}, "metadata": {"name": "a", "creationTimestamp": null},
            "spec": [{"minimum": 0.0, "maximum": 1.5, "multipleOf": 1e300}]});
        clean(&mut crd);
        let spec = json!([{"minimum": 0, "maximum": 1.5, "multipleOf": 1e300}]);
        assert_eq!(crd, json!({"metadata": {"name": "a"}, "spec": spec}));
    }

    #[test]
    fn warns_from_80_percent_of_the_limit() {
        let kind = KindManifest {
            group: "demo.dev".into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            namespaced: true,
            external: false,
            rust_types: BTreeMap::new(),
            conversion: None,
            crd: None,
        };
        let warning = |size| size_warning(&kind, &json!({ "a": "x".repeat(size) }));
        assert_eq!(warning(200_000), None);
        assert!(warning(220_000).unwrap().contains("--server-side"));
    }
}
