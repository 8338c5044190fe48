//! JSON patch, merge patch and strategic merge patch.

use serde::Serialize;

/// A patch. For server-side apply see [`TypedClient::apply`](super::TypedClient::apply).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchBody<T> {
    /// A JSON patch (RFC 6902), such as `[{"op": "add", "path": "/metadata/finalizers/-", "value": "demo.dev/x"}]`.
    Json(T),
    /// A merge patch (RFC 7386): null removes a field, lists are replaced.
    Merge(T),
    /// A strategic merge patch: as `Merge`, but lists are merged by their merge keys. Custom resources do not support it.
    Strategic(T),
}

impl<T: Serialize> PatchBody<T> {
    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json-patch+json",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
        }
    }

    pub(crate) fn value(&self) -> &T {
        match self {
            Self::Json(value) | Self::Merge(value) | Self::Strategic(value) => value,
        }
    }
}
