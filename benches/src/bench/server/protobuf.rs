//! Kubernetes' protobuf encoding: objects are in an envelope (four magic bytes and a `runtime.Unknown`), watch events are preceded by their
//! length.

use kubewright_benches::pods::{END_MARKER_NAMESPACE, resource_version};

const MAGIC: &[u8] = b"k8s\0";
/// The last two fields of the envelope, which are empty.
pub(crate) const UNKNOWN_TAIL: &[u8] = &[0x1a, 0, 0x22, 0];

/// Returns the bytes before the items of a list. `items` is the total size of the items with their field headers.
pub(crate) fn list_head(version: &str, token: &str, items: usize) -> Vec<u8> {
    let mut metadata = Vec::new();
    field(2, version.as_bytes(), &mut metadata);
    field(3, token.as_bytes(), &mut metadata);
    let mut head = envelope_head("PodList", field_size(metadata.len()) + items);
    field(1, &metadata, &mut head);
    head
}

/// Appends an event.
pub(crate) fn event(kind: &str, object_kind: &str, object: &[u8], to: &mut Vec<u8>) {
    event_head(kind, object_kind, object.len(), to);
    to.extend_from_slice(object);
    to.extend_from_slice(UNKNOWN_TAIL);
}

/// Appends the bytes of an event before its object, which has `object` bytes. [`UNKNOWN_TAIL`] must follow the object.
pub(crate) fn event_head(kind: &str, object_kind: &str, object: usize, to: &mut Vec<u8>) {
    let envelope = envelope_head(object_kind, object);
    let enveloped = envelope.len() + object + UNKNOWN_TAIL.len();
    let raw_extension = field_size(enveloped);
    let size = field_size(kind.len()) + field_size(raw_extension);
    to.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    field(1, kind.as_bytes(), to);
    field_head(2, raw_extension, to);
    field_head(1, enveloped, to);
    to.extend_from_slice(&envelope);
}

fn envelope_head(kind: &str, raw: usize) -> Vec<u8> {
    let mut type_meta = Vec::new();
    field(1, b"v1", &mut type_meta);
    field(2, kind.as_bytes(), &mut type_meta);
    let mut head = MAGIC.to_vec();
    field(1, &type_meta, &mut head);
    field_head(2, raw, &mut head);
    head
}

/// Returns the Pod of `pods::end_marker` as protobuf.
pub(crate) fn end_marker(version: u32) -> Vec<u8> {
    let mut metadata = Vec::new();
    field(1, b"marker", &mut metadata);
    field(3, END_MARKER_NAMESPACE.as_bytes(), &mut metadata);
    field(5, b"00000000-0000-4000-8000-000000000000", &mut metadata);
    field(6, resource_version(version).as_bytes(), &mut metadata);
    let mut container = Vec::new();
    field(1, b"none", &mut container);
    let mut spec = Vec::new();
    field(2, &container, &mut spec);
    let mut pod = Vec::new();
    field(1, &metadata, &mut pod);
    field(2, &spec, &mut pod);
    pod
}

pub(crate) fn bookmark(version: &str, ends_initial_events: bool) -> Vec<u8> {
    let mut metadata = Vec::new();
    field(6, version.as_bytes(), &mut metadata);
    if ends_initial_events {
        let mut entry = Vec::new();
        field(1, b"k8s.io/initial-events-end", &mut entry);
        field(2, b"true", &mut entry);
        field(12, &entry, &mut metadata);
    }
    let mut pod = Vec::new();
    field(1, &metadata, &mut pod);
    pod
}

/// Returns a `Status` with code 410.
pub(crate) fn expired(message: &str) -> Vec<u8> {
    let mut status = Vec::new();
    field(2, b"Failure", &mut status);
    field(3, message.as_bytes(), &mut status);
    field(4, b"Expired", &mut status);
    status.push(6 << 3);
    varint(410, &mut status);
    status
}

/// Appends a length-delimited field: bytes, a string or a message.
pub(crate) fn field(number: u8, value: &[u8], to: &mut Vec<u8>) {
    field_head(number, value.len(), to);
    to.extend_from_slice(value);
}

pub(crate) fn field_head(number: u8, size: usize, to: &mut Vec<u8>) {
    to.push(number << 3 | 2);
    varint(size, to);
}

/// Returns the encoded size of a length-delimited field with a value of `size` bytes. All field numbers used here take one byte.
pub(crate) fn field_size(size: usize) -> usize {
    let bits = usize::BITS - size.max(1).leading_zeros();
    1 + bits.div_ceil(7) as usize + size
}

fn varint(mut value: usize, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    to.push(u8::try_from(value).unwrap_or_default());
}
