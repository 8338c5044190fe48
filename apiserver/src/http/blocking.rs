//! Requests that may call webhooks or evaluate policies: writes, connections to pods and others, and all requests to custom resources that a webhook converts. A webhook is
//! called by the thread that handles the request, which blocks until the response; so these requests are handled by a thread that drives
//! nothing else. All other requests stay where they are.

use super::ServerState;
use super::{
    connect,
    resources::{self, RequestContext},
};
use crate::admission::{AdmissionReport, HookSet, WebhookContext};
use crate::auth::User;
use crate::render::{ApiResponse, ResponseFormat};
use crate::request::{Query, RequestInfo, WriteOptions};
use crate::status::ApiError;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// The verbs that webhooks and policies see.
const ADMITTED_VERBS: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];

/// The webhooks and policies that may see a request.
pub(super) struct WebhookAccess {
    hooks: Arc<HookSet>,
    deadline: Instant,
}

impl WebhookAccess {
    pub(super) fn context<'a>(
        &'a self,
        state: &'a ServerState,
        report: &'a AdmissionReport,
        options: &'a WriteOptions,
    ) -> WebhookContext<'a> {
        WebhookContext {
            hooks: &self.hooks,
            caller: state.registry.webhook_caller(),
            options: &options.sent,
            report,
            deadline: self.deadline,
        }
    }
}

/// Returns the webhooks and policies that may see a request, if any.
pub(super) fn hooks_for(state: &ServerState, info: &RequestInfo) -> Option<Arc<HookSet>> {
    if !ADMITTED_VERBS.contains(&info.verb.as_str()) && !connect::is_admitted(info) {
        return None;
    }
    state.hooks.current(&state.registry.store)
}

/// True if the objects of the request are converted by a webhook.
pub(super) fn is_converted(state: &ServerState, info: &RequestInfo) -> bool {
    // Groups without a dot have no definitions.
    info.group.contains('.') && {
        let catalog = state.registry.catalog();
        let kind = catalog.resource(&info.group, &info.version, &info.resource);
        kind.is_some_and(|kind| kind.conversion_webhook().is_some())
    }
}

/// A request that owns what it needs, because its thread may outlive its connection.
pub(super) struct BlockingRequest {
    pub(super) state: Arc<ServerState>,
    pub(super) user: User,
    pub(super) info: RequestInfo,
    pub(super) query: Query,
    pub(super) parts: http::request::Parts,
    pub(super) body: Bytes,
    pub(super) format: ResponseFormat,
    /// When the response must have begun.
    pub(super) deadline: Instant,
}

impl BlockingRequest {
    /// Handles the request; also returns the audit annotations.
    pub(super) async fn run(
        self,
        hooks: Option<Arc<HookSet>>,
    ) -> (Result<ApiResponse, ApiError>, BTreeMap<String, String>) {
        let runtime = Handle::current();
        let handled = spawn_blocking(move || {
            let report = AdmissionReport::default();
            let access = hooks.map(|hooks| WebhookAccess {
                hooks,
                deadline: self.deadline,
            });
            let context = RequestContext {
                state: &self.state,
                user: &self.user,
                info: &self.info,
                query: &self.query,
                parts: &self.parts,
                body: &self.body,
                format: self.format,
                report: &report,
                webhooks: access.as_ref(),
            };
            let response = runtime.block_on(resources::handle(&context));
            (response, report.take_annotations())
        });
        match handled.await {
            Ok(handled) => handled,
            Err(error) if error.is_panic() => panic::resume_unwind(error.into_panic()),
            Err(error) => (Err(ApiError::internal(error)), BTreeMap::new()),
        }
    }
}
