//! What a reflector says of failures: clearly, with the mend, and not at every try.

use std::time::Duration;

use tokio::time::Instant;

use super::SourceError;
use crate::KindInfo;

/// A failure that lasts is warned of again after this time.
const AGAIN_AFTER: Duration = Duration::from_mins(5);

/// Warns of a failure once, and again when it lasts or turns into another.
#[derive(Debug)]
pub(super) struct Complaints {
    kind: String,
    resource: String,
    place: String,
    last: Option<(Failure, Instant)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NotInstalled,
    Forbidden,
    Unreachable,
    Malformed,
    Other,
}

impl Complaints {
    pub(super) fn new(info: &KindInfo, namespace: Option<&str>) -> Self {
        let resource = info.group_resource();
        let place = match namespace {
            Some(namespace) => format!("informer of {resource} in namespace {namespace}"),
            None => format!("informer of {resource}"),
        };
        Self {
            kind: format!("{} of {}", info.kind, info.api_version()),
            resource,
            place,
            last: None,
        }
    }

    /// Which informer this is about.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn about(&mut self, error: &SourceError) {
        let failure = match error {
            error if error.is_not_found() => Failure::NotInstalled,
            error if error.is_forbidden() => Failure::Forbidden,
            SourceError::Unreachable { .. } => Failure::Unreachable,
            SourceError::Malformed(_) => Failure::Malformed,
            _ => Failure::Other,
        };
        let now = Instant::now();
        let repeated = |(last, at): (Failure, Instant)| last == failure && now - at < AGAIN_AFTER;
        if self.last.is_some_and(repeated) {
            tracing::debug!("{}: {error}", self.place);
            return;
        }
        self.last = Some((failure, now));
        let Self {
            place,
            kind,
            resource,
            ..
        } = self;
        match failure {
            Failure::NotInstalled => tracing::warn!(
                "{place}: the API server does not know {kind}: its CustomResourceDefinition {resource} is not installed, or does not \
                 serve this version; install it (`kubectl apply -f manifests/crds`); waiting for it"
            ),
            Failure::Forbidden => tracing::warn!(
                "{place}: {error}; allow the operator to list and watch {resource} (`kubewright generate`, then `kubectl apply -f manifests/rbac`); trying again"
            ),
            Failure::Unreachable => {
                tracing::warn!("{place}: {error}; check its address and that it runs; trying again");
            }
            Failure::Malformed => tracing::warn!("{place}: {error}; listing anew"),
            Failure::Other => tracing::warn!("{place}: {error}; trying again"),
        }
    }

    /// A list ended well.
    pub(super) fn settled(&mut self) {
        // Data that is bad again and again comes between lists that end well.
        if self
            .last
            .is_some_and(|(failure, _)| failure != Failure::Malformed && failure != Failure::Other)
        {
            self.last = None;
            tracing::info!("{}: listed", self.place);
        }
    }
}
