//! Webhooks: MutatingWebhookConfigurations and ValidatingWebhookConfigurations, called as by kube-apiserver.
//!
//! Reading order: `hook` (the stored configurations, compiled), `matching`, `review` (what is sent,
//! and what must be returned), `mutating` and `validating`.
//!
//! A request of a client to a server with webhooks gets a [`WebhookContext`], and runs on a thread that may block
//! (`http/blocking.rs`); a write calls webhooks where its other plugins run. So admission of an update is inside the loop that retries it after
//! a write conflict, as in kube-apiserver: no lock is held during a call, and what changed in the meantime is seen by the next attempt.
//! Writes of the server itself have no context and call no webhooks: some of them hold a lock, and their threads must not block. Differences
//! from kube-apiserver, besides: no webhook is called for connections (`CONNECT`), and the denial of several validating webhooks is that of the first in
//! order.

mod hook;
mod matching;
mod mutating;
mod review;
#[cfg(test)]
mod tests;
mod validating;

pub(crate) use hook::{HookCache, HookSet};
pub(super) use mutating::MutatingWebhooks;
pub(super) use validating::validate;

use crate::admission::AdmissionReport;
use crate::webhook_client::WebhookCaller;
use serde_json::{Map, Value};
use std::time::Instant;

/// What a write needs to call webhooks and evaluate policies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookContext<'a> {
    /// The webhooks and policies when the request arrived.
    pub(crate) hooks: &'a HookSet,
    pub(crate) caller: &'a dyn WebhookCaller,
    /// The options of the request as the client sent them, without kind.
    pub(crate) options: &'a Map<String, Value>,
    pub(crate) report: &'a AdmissionReport,
    /// When the response to the request must have begun: calls end then.
    pub(crate) deadline: Instant,
}
