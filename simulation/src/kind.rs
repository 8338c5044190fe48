//! The watched kinds, and their paths at the API server.

/// The watched kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Namespace,
    Node,
    ServiceAccount,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    Pod,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Namespace,
        Self::Node,
        Self::ServiceAccount,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::Pod,
    ];

    /// The API version and plural of the kind.
    pub(crate) fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::Namespace => ("v1", "namespaces"),
            Self::Node => ("v1", "nodes"),
            Self::ServiceAccount => ("v1", "serviceaccounts"),
            Self::Pod => ("v1", "pods"),
            Self::Deployment => ("apps/v1", "deployments"),
            Self::ReplicaSet => ("apps/v1", "replicasets"),
            Self::StatefulSet => ("apps/v1", "statefulsets"),
            Self::DaemonSet => ("apps/v1", "daemonsets"),
            Self::Job => ("batch/v1", "jobs"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespace => "Namespace",
            Self::Node => "Node",
            Self::ServiceAccount => "ServiceAccount",
            Self::Pod => "Pod",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
        }
    }

    fn namespaced(self) -> bool {
        !matches!(self, Self::Namespace | Self::Node)
    }

    /// The path of a collection; of all namespaces if `namespace` is empty.
    pub(crate) fn path(self, namespace: &str) -> String {
        let (version, plural) = self.api();
        let root = if version.contains('/') { "apis" } else { "api" };
        if self.namespaced() && !namespace.is_empty() {
            format!("/{root}/{version}/namespaces/{namespace}/{plural}")
        } else {
            format!("/{root}/{version}/{plural}")
        }
    }
}

/// Namespace and name.
pub(crate) type Key = (String, String);
