//! What the sources of one controller are connected with.

use std::sync::Arc;

use super::{
    RegistrationError,
    consistency::ConsistencyStore,
    controller_sources::ControllerSources,
    source::{EventSource, KeyMapping},
};
use crate::{
    ApiResource,
    cache::{HandlerOptions, SharedInformerFactory},
    workqueue::WorkQueue,
};

/// What sources are connected with.
pub(super) struct SourceTarget {
    pub(super) controller: Box<str>,
    pub(super) primary: ApiResource,
    pub(super) queue: Arc<WorkQueue>,
    pub(super) consistency: Arc<ConsistencyStore>,
    pub(super) options: HandlerOptions,
    /// Starts informers of added sources.
    pub(super) factory: Option<SharedInformerFactory>,
}

impl SourceTarget {
    /// Fails if a namespaced primary kind would own a cluster-scoped kind.
    pub(super) fn check_scopes(&self, source: &EventSource) -> Result<(), RegistrationError> {
        match source.mapping {
            KeyMapping::Owner => {
                RegistrationError::check_owned_scope(&self.controller, &self.primary, source.informer.info())
            }
            KeyMapping::Primary | KeyMapping::Custom(_) => Ok(()),
        }
    }
}

/// The sources of a controller that is registered or runs. Dropping it ends them.
pub(super) struct SourcesGuard(pub(super) ControllerSources);

impl SourcesGuard {
    /// Whether both are of one handle.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.0, &other.0.0)
    }
}

impl Drop for SourcesGuard {
    fn drop(&mut self) {
        self.0.0.stop();
    }
}
