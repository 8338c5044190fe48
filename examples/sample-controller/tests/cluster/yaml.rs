//! What `manifests --yaml` prints.

use serde_json::Value;

/// The objects of a text.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let objects: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
    let mut objects = objects.unwrap_or_else(|error| panic!("{error}:\n{text}"));
    objects.retain(|object| !object.is_null());
    objects
}
