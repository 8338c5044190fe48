//! The state that all requests share.

use super::Layer;
use super::flow_control::FlowSchemas;
use crate::admission::HookCache;
use crate::audit::AuditLog;
use crate::auth::{Authenticator, ImpersonationModeCache};
use crate::discovery::{ServedApi, VersionInfo};
use crate::registry::Registry;
use crate::watch::SharedFeeds;
use std::sync::Arc;

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) registry: Arc<Registry>,
    pub(crate) authenticator: Authenticator,
    pub(crate) impersonation_modes: ImpersonationModeCache,
    pub(crate) audit: AuditLog,
    pub(crate) version: VersionInfo,
    pub(crate) layer: Option<Arc<dyn Layer>>,
    /// Event feeds that are shared by identical watches.
    pub(crate) feeds: SharedFeeds,
    /// The webhooks of the stored configurations.
    pub(crate) hooks: HookCache,
    pub(crate) flow_schemas: FlowSchemas,
    /// Host and port, as discovery reports them.
    pub(crate) address: String,
}

impl ServerState {
    /// What discovery describes.
    pub(super) fn served_api(&self) -> ServedApi<'_> {
        ServedApi {
            registry: &self.registry,
            accounts: &self.authenticator.accounts,
            version: &self.version,
            address: &self.address,
        }
    }
}
