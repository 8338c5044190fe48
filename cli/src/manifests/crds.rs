//! The files of CRDs.

use std::path::PathBuf;

use serde_json::Value;

use super::KindManifest;
use crate::{schema_diff, yaml, yaml::YamlError};

/// The folder of the CRDs.
pub const FOLDER: &str = "manifests/crds";

/// Client-side apply keeps the whole object in an annotation, and annotations together may be so long.
const ANNOTATIONS: usize = 262_144;

/// The file of a kind's CRD.
pub fn path(kind: &KindManifest) -> PathBuf {
    format!("{FOLDER}/{}_{}.yaml", kind.group, kind.plural).into()
}

/// The CRD as YAML.
pub fn text(crd: &Value) -> Result<String, YamlError> {
    yaml::write(crd)
}

/// Takes out what only the API server fills in, and writes whole numbers as such: bounds come as floating point.
pub(super) fn clean(crd: &mut Value) {
    if let Some(object) = crd.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    whole_numbers(crd);
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole and in the range in which floats hold integers exactly"
)]
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9e15;
            if let Some(float) = number.as_f64().filter(whole) {
                *value = (float as i64).into();
            }
        }
        _ => {}
    }
}

/// What a new CRD changes, against the file that there is.
pub fn notes(file: &str, crd: &Value) -> Vec<String> {
    match yaml::read_all(file).as_deref() {
        Ok([old]) => schema_diff::compare(old, crd)
            .iter()
            .map(ToString::to_string)
            .collect(),
        _ => Vec::new(),
    }
}

/// A warning when the CRD is, or will soon be, too long for client-side apply.
pub fn size_warning(kind: &KindManifest, crd: &Value) -> Option<String> {
    let size = crd.to_string().len();
    (size > ANNOTATIONS / 10 * 8).then(|| {
        format!(
            "the CRD of {} is {size} bytes long, and client-side apply takes at most {ANNOTATIONS}: \
             use `kubectl apply --server-side`",
            kind.kind
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cleans_what_is_no_part_of_the_definition() {
        let mut crd = json!({"status": {}, "metadata": {"name": "a", "creationTimestamp": null},
            "spec": [{"minimum": 0.0, "maximum": 1.5, "multipleOf": 1e300}]});
        clean(&mut crd);
        let spec = json!([{"minimum": 0, "maximum": 1.5, "multipleOf": 1e300}]);
        assert_eq!(crd, json!({"metadata": {"name": "a"}, "spec": spec}));
    }

    #[test]
    fn warns_before_the_limit_is_reached() {
        let kind = KindManifest {
            group: "demo.dev".into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            namespaced: true,
            external: false,
            crd: None,
        };
        let warning = |size| size_warning(&kind, &json!({ "a": "x".repeat(size) }));
        assert_eq!(warning(200_000), None);
        assert!(warning(220_000).unwrap().contains("--server-side"));
    }
}
