//! Tables: objects as rows of printer columns, for `kubectl get`.

mod age;
mod built_in;
mod cells;
mod jsonpath;

use super::representation::partial_object_metadata;
use crate::crd::PrinterColumn;
use crate::go_format;
use crate::kinds::Kind;
use crate::quote;
use crate::types;
use jsonpath::JsonPath;
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
            // A column with an invalid path is left out, and those after it.
            let columns: Vec<(PrinterColumn, JsonPath)> = columns
                .into_iter()
                .map_while(|column| JsonPath::parse(&column.path).map(|path| (column, path)))
                .collect();
            let cells = |object| -> Vec<Value> {
                columns
                    .iter()
                    .map(|(column, path)| match path.find(object) {
                        None => Value::Null,
                        // The timestamp itself, not the age.
                        Some(value) if !is_custom => value.into_owned(),
                        Some(value) => custom_cell(&value, &column.kind),
                    })
                    .collect()
            };
            let rows = objects.into_iter().map(|object| row(object, &cells(object)));
            let definitions = columns.iter().map(|(column, _)| column_definition(column));
            (definitions.collect(), rows.collect())
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

/// Returns a value as a column of this type shows it; null if it has another type.
fn custom_cell(value: &Value, kind: &str) -> Value {
    let number = value.as_f64();
    let mut cell = match (kind, value) {
        ("string", Value::Null) => json!("<no value>"),
        ("string", Value::Array(_) | Value::Object(_)) => json!(quote::json(value)),
        ("string", value) => json!(go_format::show(value)),
        ("date", Value::String(text)) if text.is_empty() => json!("<unknown>"),
        ("date", Value::String(text)) => json!(age::since(text)),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("integer", Value::Number(integer)) if integer.is_i64() => value.clone(),
        // Go drops the fraction.
        ("integer", _) => number.map_or(Value::Null, |number| json!(number.trunc())),
        ("number", _) => number.map_or(Value::Null, |number| json!(number)),
        _ => Value::Null,
    };
    types::floats_to_integers(&mut cell);
    cell
}
