//! Serialization of watch events.

use crate::kinds::Kind;
use crate::render::{Representation, ResponseFormat, append_object, metadata_only, table};
use crate::request::ListOptions;
use crate::status::ApiError;
use crate::storage::{Change, ChangeKind, Object};
use serde_json::{Value, json};

/// Appends the event that a change causes for a watch, if any.
pub(super) fn append_change(
    kind: &Kind,
    options: &ListOptions,
    serializer: &mut EventSerializer,
    change: &Change,
    lines: &mut Vec<u8>,
) {
    let selected = |object: &Object| options.matches(kind, object);
    let now = change.kind != ChangeKind::Deleted && selected(&change.object);
    let before = change.before.as_deref().is_some_and(selected);
    match (before, now) {
        (false, true) => append_event("ADDED", kind, serializer, &change.object, lines),
        (true, true) => append_event("MODIFIED", kind, serializer, &change.object, lines),
        (true, false) if change.kind == ChangeKind::Deleted => {
            append_event("DELETED", kind, serializer, &change.object, lines);
        }
        // The object no longer matches the selectors: a DELETED event with its last matching state and the new version.
        (true, false) => {
            if let Some(before) = &change.before {
                let deleted = Object::new(before.value().clone(), change.revision);
                append_event("DELETED", kind, serializer, &deleted, lines);
            }
        }
        (false, false) => {}
    }
}

/// How a watch serializes objects.
#[derive(Debug)]
pub(super) struct EventSerializer {
    /// The format of the objects.
    pub(super) format: ResponseFormat,
    /// Whether the column definitions of a Table were sent: only the first event has them.
    pub(super) columns_sent: bool,
}

impl EventSerializer {
    /// Creates a serializer for a format.
    pub(super) fn new(format: ResponseFormat) -> Self {
        Self {
            format,
            columns_sent: false,
        }
    }

    fn table(&mut self, kind: &Kind, object: &Value, metadata: &Value) -> Value {
        let with_columns = !std::mem::replace(&mut self.columns_sent, true);
        table(self.format, kind, &[object], metadata, with_columns)
    }
}

/// Appends an event.
pub(super) fn append_event(
    event_type: &str,
    kind: &Kind,
    serializer: &mut EventSerializer,
    object: &Object,
    lines: &mut Vec<u8>,
) {
    lines.extend_from_slice(br#"{"type":""#);
    lines.extend_from_slice(event_type.as_bytes());
    lines.extend_from_slice(br#"","object":"#);
    match serializer.format.representation {
        Representation::Objects => append_object(kind, object, lines),
        Representation::PartialMetadata | Representation::PartialMetadataList => {
            lines.extend(
                metadata_only(serializer.format, object.value())
                    .to_string()
                    .into_bytes(),
            );
        }
        Representation::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            let table = serializer.table(kind, object.value(), &metadata);
            lines.extend(table.to_string().into_bytes());
        }
    }
    lines.extend_from_slice(b"}\n");
}

/// Returns a BOOKMARK event.
pub(super) fn bookmark(
    kind: &Kind,
    serializer: &mut EventSerializer,
    revision: u64,
    initial_end: bool,
) -> Vec<u8> {
    let version = json!({ "resourceVersion": revision.to_string() });
    let mut metadata = version.clone();
    if initial_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let object = json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata });
    let object = match serializer.format.representation {
        Representation::Objects => object,
        Representation::PartialMetadata | Representation::PartialMetadataList => {
            metadata_only(serializer.format, &object)
        }
        Representation::Table => serializer.table(kind, &object, &version),
    };
    serialize_event("BOOKMARK", object.to_string().as_bytes())
}

/// Returns an ERROR event, which ends the watch.
pub(super) fn error(error: &ApiError) -> Vec<u8> {
    let status: Value = error.status();
    serialize_event("ERROR", status.to_string().as_bytes())
}

fn serialize_event(event_type: &str, object: &[u8]) -> Vec<u8> {
    let mut line = format!(r#"{{"type":"{event_type}","object":"#).into_bytes();
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    line
}
