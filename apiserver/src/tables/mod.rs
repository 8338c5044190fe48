//! Tables: objects as rows, for people's eyes.

mod age;
mod jsonpath;

use crate::crd::Column;
use crate::http::partial;
use crate::kinds::Kind;
use serde_json::{Value, json};

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to \
request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. \
Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set \
in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated \
by the system. Read-only. Null for lists. More info: \
https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Rows of objects, with the columns of their kind; with `headed`, the columns are described.
pub(crate) fn table<'a>(
    kind: &Kind,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    headed: bool,
) -> Value {
    let columns = columns(kind);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name, "type": column.kind, "format": column.format, "description": column.description,
                "priority": column.priority,
            })
        })
        .collect();
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let cells: Vec<Value> = columns.iter().map(|column| cell(object, column)).collect();
            json!({ "cells": cells, "object": partial(object) })
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": if headed { json!(definitions) } else { Value::Null }, "rows": rows,
    })
}

fn columns(kind: &Kind) -> Vec<Column> {
    let column = |name: &str, kind: &str, format: &str, description: &str, path: &str| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: format.to_owned(),
        description: description.to_owned(),
        priority: 0,
        path: path.to_owned(),
    };
    let mut columns = vec![column("Name", "string", "name", NAME, ".metadata.name")];
    let version = kind
        .definition
        .as_ref()
        .and_then(|definition| definition.version(&kind.version));
    match version {
        Some(version) if !version.columns.is_empty() => columns.extend(version.columns.iter().cloned()),
        Some(_) => columns.push(column("Age", "date", "", AGE, ".metadata.creationTimestamp")),
        None => columns.push(column("Age", "string", "", AGE, ".metadata.creationTimestamp")),
    }
    columns
}

fn cell(object: &Value, column: &Column) -> Value {
    let found = jsonpath::find(object, &column.path);
    let is_age = column.kind == "date" || column.path == ".metadata.creationTimestamp";
    match (column.kind.as_str(), found) {
        (_, None) if is_age => json!("<unknown>"),
        (_, None) => Value::Null,
        (_, Some(value)) if is_age => json!(age::since(value.as_str().unwrap_or_default())),
        ("integer", Some(value)) => value.as_i64().map_or(Value::Null, |number| json!(number)),
        ("number", Some(value)) => value.as_f64().map_or(Value::Null, |number| json!(number)),
        ("boolean", Some(value)) => value.as_bool().map_or(Value::Null, |truth| json!(truth)),
        (_, Some(Value::String(text))) => json!(text),
        (_, Some(value)) => json!(value.to_string()),
    }
}
