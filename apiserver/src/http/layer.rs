//! What stands between the wire and the server: here tests make requests fail, wait and get lost.

use super::{Answer, Query, RequestInfo};
use crate::registry::ListOptions;
use futures::future::BoxFuture;
use std::fmt;

/// Stands between the wire and the server. It is asked before the request is authenticated, authorized and noted in the audit: an answer
/// that is given here leaves no trace there.
pub trait Layer: fmt::Debug + Send + Sync {
    /// Answers a request, with or without the server. Nothing happens to a request whose `next` is dropped without being awaited.
    fn call(&self, asked: Asked, next: Next) -> Next;
}

/// What the server answers, once it is awaited; an error ends the connection without an answer.
pub type Next = BoxFuture<'static, Result<Answer, Broken>>;

/// A request, in so far as it can be told from others.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Who asks; the one who is impersonated, if anybody is. `system:anonymous` for a token that is nobody's.
    pub user: String,
    /// What is asked for.
    pub info: RequestInfo,
    /// And how.
    pub query: Query,
}

impl Asked {
    /// The version of the past that the answer is to be of: where a watch goes on, or of which a list or a page is. None where any will do.
    pub fn version(&self) -> Option<u64> {
        let watches = self.info.verb == "watch";
        if !watches && self.info.verb != "list" {
            return None;
        }
        ListOptions::parse(&self.query, watches).ok()?.version(watches)
    }
}

/// The connection is to end at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection is broken on purpose")
    }
}

impl std::error::Error for Broken {}
