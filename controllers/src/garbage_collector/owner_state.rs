//! Whether an owner exists: by the caches, by what is remembered, else by asking the API server.

use kubewright::{
    NamespacedName, Scope,
    cache::{Metadata, OwnerRef},
};

use super::{
    FOREGROUND,
    absent_owners::{AbsentOwners, OwnerPlace},
    graph::waits,
    monitors::Monitors,
};
use crate::shared::metadata_client::MetadataClient;

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// It exists.
    Solid,
    /// It exists, and waits until its dependents are deleted.
    Waiting,
    /// It does not exist.
    Dangling,
}

/// Why the state of an owner is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnknownOwner {
    /// No such kind is served, for now.
    #[error("the API server serves no kind {kind} in {api_version}")]
    Kind { api_version: String, kind: String },
    /// A cluster-scoped object names an owner that is in a namespace, but not in which.
    #[error("a cluster-scoped object names the namespaced owner {0}")]
    Namespaced(String),
    /// The request failed.
    #[error(transparent)]
    Request(#[from] kube::Error),
}

impl UnknownOwner {
    /// The reason with which the dependent is reported, if a request would not help.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Kind { .. } => Some("UnknownOwnerKind"),
            Self::Namespaced(_) => Some("NamespacedOwner"),
            Self::Request(_) => None,
        }
    }
}

/// Finds owners.
pub(super) struct OwnerStates<'a> {
    pub(super) monitors: &'a Monitors,
    pub(super) absent: &'a AbsentOwners,
    pub(super) client: &'a MetadataClient,
}

impl OwnerStates<'_> {
    /// Returns the state of an owner of an object.
    pub(super) async fn of(
        &self,
        dependent: &Metadata,
        owner: &OwnerRef,
    ) -> Result<OwnerState, UnknownOwner> {
        let namespace = dependent.name().namespace();
        let is_absent = |namespace| self.absent.contains(&OwnerPlace::of(owner, namespace));
        if is_absent(None) || is_absent(namespace) {
            return Ok(OwnerState::Dangling);
        }
        let kind = self.monitors.kind(&owner.api_version, &owner.kind);
        let kind = kind.ok_or_else(|| UnknownOwner::Kind {
            api_version: owner.api_version.to_string(),
            kind: owner.kind.to_string(),
        })?;
        let name = match (kind.scope, namespace) {
            (Scope::Cluster, _) => NamespacedName::cluster(&*owner.name),
            (Scope::Namespaced, Some(namespace)) => NamespacedName::namespaced(namespace, &*owner.name),
            (Scope::Namespaced, None) => {
                return Err(UnknownOwner::Namespaced(format!("{} {}", owner.kind, owner.name)));
            }
        };
        let cached = self.monitors.object(&kind, &name);
        if let Some(cached) = cached.filter(|cached| cached.metadata().uid() == &*owner.uid) {
            return Ok(existing(waits(cached.metadata(), FOREGROUND)));
        }
        let live = self.client.get(&kind, &name).await?;
        let live = live.filter(|live| live.metadata.uid.as_deref() == Some(&*owner.uid));
        let Some(live) = live else {
            self.absent.insert(OwnerPlace::of(owner, name.namespace()));
            return Ok(OwnerState::Dangling);
        };
        let finalizers = live.metadata.finalizers.unwrap_or_default();
        let is_waiting = live.metadata.deletion_timestamp.is_some()
            && finalizers.iter().any(|finalizer| finalizer == FOREGROUND);
        Ok(existing(is_waiting))
    }
}

fn existing(is_waiting: bool) -> OwnerState {
    if is_waiting {
        OwnerState::Waiting
    } else {
        OwnerState::Solid
    }
}
