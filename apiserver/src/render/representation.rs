//! Responses as Table and as PartialObjectMetadata.

use super::negotiate::{IncludeObject, ResponseFormat};
use super::tables;
use crate::kinds::Kind;
use crate::kinds::to_request_version;
use crate::strategy;
use serde_json::{Value, json};

/// Returns a Table of objects, with column definitions if `with_columns`.
pub(crate) fn table(
    format: ResponseFormat,
    kind: &Kind,
    objects: &[&Value],
    metadata: &Value,
    with_columns: bool,
) -> Value {
    let mut objects = objects.to_vec();
    if kind.definition.is_none() && kind.kind == "FlowSchema" {
        // In the order in which they are matched.
        objects.sort_by_key(|object| object["spec"]["matchingPrecedence"].as_i64());
    }
    let converted: Vec<Option<Value>> = objects
        .iter()
        .map(|object| to_request_version(kind, object))
        .collect();
    // The cells of built-in kinds are those of the stored version.
    let shown = objects
        .iter()
        .zip(&converted)
        .map(|(object, converted)| match converted {
            Some(converted) if kind.definition.is_some() => converted,
            _ => *object,
        });
    let mut table = tables::build_table(kind, shown, metadata, with_columns);
    let rows = table["rows"].as_array_mut().into_iter().flatten();
    for ((row, object), converted) in rows.zip(&objects).zip(converted) {
        match format.include_object {
            IncludeObject::Metadata => {}
            // The object of a bookmark that ends the initial events stays.
            IncludeObject::None if ends_initial_events(object) => {}
            IncludeObject::None => row["object"] = Value::Null,
            IncludeObject::Object => {
                row["object"] = converted.unwrap_or_else(|| (*object).clone());
            }
        }
        // The object of a bookmark has neither a name nor other texts.
        if kind.definition.is_none() && row["cells"][0].is_null() {
            let cells = row["cells"].as_array_mut().into_iter().flatten();
            cells
                .filter(|cell| cell.is_null())
                .for_each(|cell| *cell = json!(""));
        }
        if format.include_object == IncludeObject::Metadata {
            set_meta_version(format, &mut row["object"]);
        }
    }
    set_meta_version(format, &mut table);
    table
}

fn ends_initial_events(object: &Value) -> bool {
    object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
}

/// Returns the Table of a scale. That of a custom resource has columns of its own.
pub(super) fn scale_table(format: ResponseFormat, kind: &Kind, is_custom: bool, scale: &Value) -> Value {
    let metadata = json!({ "resourceVersion": scale["metadata"]["resourceVersion"] });
    let mut table = table(format, kind, &[scale], &metadata, true);
    if is_custom {
        let texts = ["Number of desired replicas", "Number of actual replicas"];
        for (at, text) in texts.into_iter().enumerate() {
            table["columnDefinitions"][at + 1]["description"] = json!(text);
        }
        table["columnDefinitions"][0]["format"] = json!("name");
        table["columnDefinitions"][3]["type"] = json!("date");
        // Zero replicas are not written.
        table["rows"][0]["cells"][1] = scale["spec"]["replicas"].clone();
    }
    table
}

/// Returns the PartialObjectMetadata of an object.
pub(super) fn partial_object_metadata(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if object["kind"] == "DaemonSet" {
        strategy::hide_internal_annotations(&mut metadata);
    }
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// Returns the PartialObjectMetadata of an object, in the requested version.
pub(crate) fn metadata_only(format: ResponseFormat, object: &Value) -> Value {
    let mut only = partial_object_metadata(object);
    set_meta_version(format, &mut only);
    only
}

/// Sets the requested version of the meta API group.
pub(super) fn set_meta_version(format: ResponseFormat, value: &mut Value) {
    if format.v1beta1 {
        value["apiVersion"] = json!("meta.k8s.io/v1beta1");
    }
}

/// Returns the Go type of an object or a list, as kube-apiserver prints it.
pub(super) fn go_type(kind: &Kind, list: bool) -> String {
    let (package, name) = match (&kind.definition, kind.group.split('.').next()) {
        (Some(_), _) => ("unstructured", "Unstructured"),
        (None, Some("") | None) => ("core", kind.kind.as_str()),
        (None, Some(package)) => (package, kind.kind.as_str()),
    };
    format!("*{package}.{name}{}", if list { "List" } else { "" })
}
