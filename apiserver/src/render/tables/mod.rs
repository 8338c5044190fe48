//! Tables: objects as rows of printer columns, for `kubectl get`.

mod age;
mod built_in;
mod cells;
mod jsonpath;

use super::representation::partial_object_metadata;
use crate::crd::PrinterColumn;
use crate::kinds::Kind;
use crate::types;
use serde_json::{Value, json};

/// Builds a Table of objects with the columns of their kind. `with_headers`: the columns are described.
pub(super) fn build_table<'a>(
    kind: &Kind,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    with_headers: bool,
) -> Value {
    let (definitions, rows): (Vec<Value>, Vec<Value>) = match built_in::columns(&kind.kind) {
        Some(columns) if kind.definition.is_none() => {
            let rows = objects.into_iter().map(|object| {
                let mut row = row(object, &cells::cells(&kind.kind, object).unwrap_or_default());
                if let Some(conditions) = cells::conditions(&kind.kind, object) {
                    row["conditions"] = conditions;
                }
                row
            });
            (
                if with_headers { columns.to_vec() } else { vec![] },
                rows.collect(),
            )
        }
        _ => {
            let columns = columns(kind);
            let is_custom = kind.definition.is_some();
            let cells = |object| -> Vec<Value> {
                columns
                    .iter()
                    .map(|column| match jsonpath::find(object, &column.path) {
                        // The timestamp itself, not the age.
                        value if !is_custom => value.cloned().unwrap_or_default(),
                        value => custom_cell(value, column),
                    })
                    .collect()
            };
            let rows = objects.into_iter().map(|object| row(object, &cells(object)));
            (columns.iter().map(column_definition).collect(), rows.collect())
        }
    };
    // For kinds without columns of their own, an empty list of rows is null.
    let has_default_columns = kind.definition.is_none() && built_in::columns(&kind.kind).is_none();
    let rows = if has_default_columns && rows.is_empty() {
        Value::Null
    } else {
        json!(rows)
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": if with_headers { json!(definitions) } else { Value::Null }, "rows": rows,
    })
}

fn row(object: &Value, cells: &[Value]) -> Value {
    json!({ "cells": cells, "object": partial_object_metadata(object) })
}

fn column_definition(column: &PrinterColumn) -> Value {
    json!({
        "name": column.name, "type": column.kind, "format": column.format, "description": column.description,
        "priority": column.priority,
    })
}

/// Returns the columns of a custom resource definition; by default, name and age.
fn columns(kind: &Kind) -> Vec<PrinterColumn> {
    let column = |name: &str, kind: &str, format: &str, field: &str| PrinterColumn {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: format.to_owned(),
        description: types::description("meta.v1.ObjectMeta", field)
            .unwrap_or_default()
            .to_owned(),
        priority: 0,
        path: format!(".metadata.{field}"),
    };
    let mut columns = vec![column("Name", "string", "name", "name")];
    let version = kind
        .definition
        .as_ref()
        .and_then(|definition| definition.version(&kind.version));
    match version {
        Some(version) if !version.columns.is_empty() => columns.extend(version.columns.iter().cloned()),
        Some(_) => columns.push(column("Age", "date", "", "creationTimestamp")),
        None => columns.push(column("Created At", "date", "", "creationTimestamp")),
    }
    columns
}

fn custom_cell(value: Option<&Value>, column: &PrinterColumn) -> Value {
    let is_age = column.kind == "date" || column.path == ".metadata.creationTimestamp";
    match (column.kind.as_str(), value) {
        (_, None) => Value::Null,
        (_, Some(Value::String(text))) if is_age && text.is_empty() => json!("<unknown>"),
        (_, Some(value)) if is_age => json!(age::since(value.as_str().unwrap_or_default())),
        ("integer", Some(value)) => value.as_i64().map_or(Value::Null, |number| json!(number)),
        ("number", Some(value)) => value.as_f64().map_or(Value::Null, |number| json!(number)),
        ("boolean", Some(value)) => value.as_bool().map_or(Value::Null, |truth| json!(truth)),
        (_, Some(Value::String(text))) => json!(text),
        (_, Some(value)) => json!(value.to_string()),
    }
}
