//! What one change is to one watcher.

use crate::http::{Form, Shape, append_object, metadata_only, table};
use crate::kinds::Kind;
use crate::registry::ListOptions;
use crate::status::ApiError;
use crate::store::{Change, ChangeKind, Object};
use serde_json::{Value, json};

/// Appends what a change is to who watches a selection, if it is anything to it.
pub(super) fn append_change(
    kind: &Kind,
    options: &ListOptions,
    view: &mut View,
    change: &Change,
    lines: &mut Vec<u8>,
) {
    let selected = |object: &Object| options.select(kind, object);
    let now = change.kind != ChangeKind::Deleted && selected(&change.object);
    let before = change.before.as_deref().is_some_and(selected);
    match (before, now) {
        (false, true) => append("ADDED", kind, view, &change.object, lines),
        (true, true) => append("MODIFIED", kind, view, &change.object, lines),
        (true, false) if change.kind == ChangeKind::Deleted => {
            append("DELETED", kind, view, &change.object, lines);
        }
        // It left the selection: what it was, with the version in which it left.
        (true, false) => {
            if let Some(before) = &change.before {
                let gone = Object::new(before.value().clone(), change.revision);
                append("DELETED", kind, view, &gone, lines);
            }
        }
        (false, false) => {}
    }
}

/// How a watch shows objects.
#[derive(Debug)]
pub(super) struct View {
    /// In this form.
    pub(super) form: Form,
    /// Whether the columns of a table were described: the first event does that.
    pub(super) headed: bool,
}

impl View {
    /// In this form.
    pub(super) fn new(form: Form) -> Self {
        Self { form, headed: false }
    }

    fn table(&mut self, kind: &Kind, object: &Value, metadata: &Value) -> Value {
        let headed = !std::mem::replace(&mut self.headed, true);
        table(self.form, kind, &[object], metadata, headed)
    }
}

/// Appends an object in the form of the watch, on a line.
pub(super) fn append(what: &str, kind: &Kind, view: &mut View, object: &Object, lines: &mut Vec<u8>) {
    lines.extend_from_slice(br#"{"type":""#);
    lines.extend_from_slice(what.as_bytes());
    lines.extend_from_slice(br#"","object":"#);
    match view.form.shape {
        Shape::Objects => append_object(kind, object, lines),
        Shape::Partial | Shape::PartialList => {
            lines.extend(metadata_only(view.form, object.value()).to_string().into_bytes());
        }
        Shape::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            let table = view.table(kind, object.value(), &metadata);
            lines.extend(table.to_string().into_bytes());
        }
    }
    lines.extend_from_slice(b"}\n");
}

/// A version up to which nothing was left out.
pub(super) fn bookmark(kind: &Kind, view: &mut View, revision: u64, initial_end: bool) -> Vec<u8> {
    let version = json!({ "resourceVersion": revision.to_string() });
    let mut metadata = version.clone();
    if initial_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let object = json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata });
    let object = match view.form.shape {
        Shape::Objects => object,
        Shape::Partial | Shape::PartialList => metadata_only(view.form, &object),
        Shape::Table => view.table(kind, &object, &version),
    };
    line("BOOKMARK", object.to_string().as_bytes())
}

/// The end of a watch that cannot go on.
pub(super) fn error(error: &ApiError) -> Vec<u8> {
    let status: Value = error.status();
    line("ERROR", status.to_string().as_bytes())
}

fn line(what: &str, object: &[u8]) -> Vec<u8> {
    let mut line = format!(r#"{{"type":"{what}","object":"#).into_bytes();
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    line
}
