//! What one change is to one watcher.

use crate::http::{Form, Shape, object_bytes, partial};
use crate::kinds::Kind;
use crate::registry::ListOptions;
use crate::status::ApiError;
use crate::store::{Change, ChangeKind, Object};
use crate::tables;
use serde_json::{Value, json};

/// What a change is to who watches a selection; None when it is nothing to it.
pub(super) fn of_change(kind: &Kind, options: &ListOptions, form: Form, change: &Change) -> Option<Vec<u8>> {
    let selected = |object: &Object| {
        options.labels.matches(object.value()) && options.fields.matches(kind, object.value())
    };
    let now = change.kind != ChangeKind::Deleted && selected(&change.object);
    let before = change.before.as_deref().is_some_and(selected);
    match (before, now) {
        (false, true) => Some(event("ADDED", kind, form, &change.object)),
        (true, true) => Some(event("MODIFIED", kind, form, &change.object)),
        (true, false) if change.kind == ChangeKind::Deleted => {
            Some(event("DELETED", kind, form, &change.object))
        }
        // It left the selection: what it was, with the version in which it left.
        (true, false) => {
            let before = change.before.as_deref()?.value().clone();
            let gone = Object::new(before, change.revision);
            Some(event("DELETED", kind, form, &gone))
        }
        (false, false) => None,
    }
}

/// An object in the form of the watch, on a line.
pub(super) fn event(what: &str, kind: &Kind, form: Form, object: &Object) -> Vec<u8> {
    let object = match form.shape {
        Shape::Objects => object_bytes(kind, object),
        Shape::Partial => partial(object.value()).to_string().into_bytes(),
        Shape::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            let headed = what == "ADDED";
            tables::table(kind, [object.value()], &metadata, headed)
                .to_string()
                .into_bytes()
        }
    };
    line(what, &object)
}

/// A version up to which nothing was left out.
pub(super) fn bookmark(kind: &Kind, form: Form, revision: u64, initial_end: bool) -> Vec<u8> {
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if initial_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let object = match form.shape {
        Shape::Objects => {
            json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata })
        }
        Shape::Partial => partial(&json!({ "metadata": metadata })),
        Shape::Table => tables::table(kind, [], &metadata, false),
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
