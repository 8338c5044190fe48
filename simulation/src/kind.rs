//! The watched kinds, and their paths at the API server.

/// The watched kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Node,
    Pod,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Node, Self::Pod];

    /// The path of a collection; of all namespaces if `namespace` is empty.
    pub(crate) fn path(self, namespace: &str) -> String {
        match self {
            Self::Node => "/api/v1/nodes".to_owned(),
            Self::Pod if namespace.is_empty() => "/api/v1/pods".to_owned(),
            Self::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
        }
    }
}

/// Namespace and name.
pub(crate) type Key = (String, String);
