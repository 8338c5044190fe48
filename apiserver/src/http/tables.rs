//! Answers as tables and as metadata alone, in the form that was asked for.

use super::negotiate::{Form, Rows};
use super::respond::partial;
use crate::kinds::Kind;
use crate::registry::present;
use crate::tables;
use serde_json::{Value, json};

/// Rows of objects; with `headed`, the columns are described.
pub(crate) fn table(form: Form, kind: &Kind, objects: &[&Value], metadata: &Value, headed: bool) -> Value {
    let mut table = tables::build_table(kind, objects.iter().copied(), metadata, headed);
    // Go's empty slice, where there are no columns of the kind's own.
    if objects.is_empty() && table["columnDefinitions"][1]["name"] == "Created At" {
        table["rows"] = Value::Null;
    }
    let rows = table["rows"].as_array_mut().into_iter().flatten();
    for (row, object) in rows.zip(objects) {
        match form.rows {
            Rows::Metadata => {}
            Rows::Nothing => row["object"] = Value::Null,
            Rows::Objects => {
                let converted = present(kind, object);
                row["object"] = converted.unwrap_or_else(|| (*object).clone());
            }
        }
        // Bookmarks are nameless.
        if kind.definition.is_none() && row["cells"][0].is_null() {
            row["cells"][0] = json!("");
        }
        if form.rows == Rows::Metadata {
            of_version(form, &mut row["object"]);
        }
    }
    of_version(form, &mut table);
    table
}

/// The metadata of an object, alone.
pub(crate) fn metadata_only(form: Form, object: &Value) -> Value {
    let mut only = partial(object);
    of_version(form, &mut only);
    only
}

/// Says in which version of their group tables and metadata are.
pub(super) fn of_version(form: Form, value: &mut Value) {
    if form.beta {
        value["apiVersion"] = json!("meta.k8s.io/v1beta1");
    }
}

/// What the real server calls the Go type of an object, or of a list of objects.
pub(super) fn go_type(kind: &Kind, list: bool) -> String {
    let (package, name) = match (&kind.definition, kind.group.split('.').next()) {
        (Some(_), _) => ("unstructured", "Unstructured"),
        (None, Some("") | None) => ("core", kind.kind.as_str()),
        (None, Some(package)) => (package, kind.kind.as_str()),
    };
    format!("*{package}.{name}{}", if list { "List" } else { "" })
}
