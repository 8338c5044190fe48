//! The three kinds of patch that are no apply.

use serde::Serialize;

/// A patch. For server-side apply see [`TypedClient::apply`](super::TypedClient::apply).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchBody<T> {
    /// A list of operations of RFC 6902, such as `[{"op": "add", "path": "/metadata/finalizers/-", "value": "demo.dev/x"}]`.
    Json(T),
    /// The fields to change, null to remove, as in RFC 7386; lists are replaced.
    Merge(T),
    /// As merge, with lists merged by the keys that Kubernetes knows. Custom kinds do not take it.
    Strategic(T),
}

impl<T: Serialize> PatchBody<T> {
    pub(super) fn content_type(&self) -> &'static str {
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
