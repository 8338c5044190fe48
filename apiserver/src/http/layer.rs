//! A layer in front of the server, in which tests delay, fail or drop requests.

use crate::render::{ApiResponse, ConnectionAborted};
use crate::request::{ListOptions, Query, RequestInfo};
use futures::future::BoxFuture;
use std::fmt;

/// Intercepts requests before authentication, authorization and audit: a response that the layer returns itself is not audited.
pub trait Layer: fmt::Debug + Send + Sync {
    /// Answers a request, with or without the server. If `next` is dropped without being awaited, the server never sees the request.
    fn call(&self, request: LayerRequest, next: ResponseFuture) -> ResponseFuture;
}

/// The server's response, once awaited. An error closes the connection without a response.
pub type ResponseFuture = BoxFuture<'static, Result<ApiResponse, ConnectionAborted>>;

/// The attributes of a request by which a layer can select it.
#[derive(Clone, Debug, Default)]
pub struct LayerRequest {
    /// The user name, after impersonation. `system:anonymous` if the token is unknown.
    pub user: String,
    /// Verb, resource and name, from method and path.
    pub info: RequestInfo,
    /// The query.
    pub query: Query,
}

impl LayerRequest {
    /// Returns the past resource version that the request reads: the start of a watch, or the version of a list or page. None if any will
    /// do.
    pub fn past_revision(&self) -> Option<u64> {
        let watches = self.info.verb == "watch";
        if !watches && self.info.verb != "list" {
            return None;
        }
        ListOptions::parse(&self.query, watches)
            .ok()?
            .past_revision(watches)
    }
}
