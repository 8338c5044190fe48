//! Parses the output of `manifests --yaml`.

use serde_json::Value;

/// Returns the objects of a YAML text.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let objects: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
    let mut objects = objects.unwrap_or_else(|error| panic!("{error}:\n{text}"));
    objects.retain(|object| !object.is_null());
    objects
}
