//! Calls of webhooks: `endpoint` says where a webhook's `clientConfig` points to, `ca_bundle` reads its certificates, `bundle_verifier` compares
//! the server's with them, `https` calls it, on what `connections` keeps, `redirect` says where a redirection leads; `go_errors` has the messages of Go's HTTP client, which kube-apiserver passes on to its clients.

mod bundle_verifier;
mod ca_bundle;
mod connections;
mod endpoint;
mod go_errors;
mod https;
mod redirect;

pub(crate) use ca_bundle::root_certificates;
pub(crate) use endpoint::{ClientConfig, Endpoint};
pub(crate) use https::HttpsCaller;

use serde_json::Value;
use std::fmt;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Sends reviews to webhooks.
///
/// The registry is synchronous, and so is this: a call is started, and the thread that needs the response blocks until it arrives. So only
/// threads that may block call webhooks, never one that drives tasks, and never while a lock is held. In return, a write is one function
/// with or without webhooks, and one without a matching webhook costs nothing more.
pub(crate) trait WebhookCaller: fmt::Debug + Send + Sync {
    /// Sends a review. Does not block.
    fn start(&self, endpoint: &Endpoint, review: &Value, timeout: Duration) -> PendingCall;
}

/// Fails each call.
#[derive(Debug)]
pub(crate) struct NoCaller;

impl WebhookCaller for NoCaller {
    fn start(&self, _: &Endpoint, _: &Value, _: Duration) -> PendingCall {
        let (sender, receiver) = mpsc::sync_channel(1);
        // The receiver exists.
        let _ = sender.send(Err("this registry calls no webhooks".to_owned()));
        PendingCall(receiver)
    }
}

/// A review that was sent.
#[derive(Debug)]
pub(crate) struct PendingCall(Receiver<Result<Value, String>>);

impl PendingCall {
    pub(crate) fn new(response: Receiver<Result<Value, String>>) -> Self {
        Self(response)
    }

    /// Blocks until the response arrives. The error is the message of Go's client.
    pub(crate) fn wait(self) -> Result<Value, String> {
        let response = self.0.recv();
        response.unwrap_or_else(|_| Err("the API server is shutting down".to_owned()))
    }
}
