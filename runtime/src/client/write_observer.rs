//! Observes the writes of a running reconcile: the cached object when a write is sent, and the API server's answer.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};

use super::request::ApiRequest;
use crate::{ApiResource, NamespacedName};

/// A write that the API server carried out.
#[derive(Debug, Clone)]
pub(crate) struct WriteRecord {
    pub(crate) kind: ApiResource,
    pub(crate) name: NamespacedName,
    /// The client's verb, as in log lines: `create`, `update`, `patch`, `apply` or `delete`.
    pub(crate) verb: &'static str,
    pub(crate) subresource: Option<&'static str>,
    /// Empty if the answer has none.
    pub(crate) uid: Box<str>,
    /// The resource version; empty if the answer has none.
    pub(crate) version: Box<str>,
    pub(crate) effect: WriteKind,
    /// The whole written object, if the answer has it.
    pub(crate) object: Option<Bytes>,
    /// The object in the observer's caches when the write was sent.
    pub(crate) cached: Vec<CachedObject>,
}

/// What a write does to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// The object has now the answered version.
    Written,
    /// The API server accepted the deletion; finalizers or a grace period may delay it.
    Deleted,
    /// An update took off the last finalizer, which removed the object.
    Removed,
}

/// One object as one informer's cache showed it at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedObject {
    /// The informer's index at the observer.
    pub(crate) informer_index: usize,
    pub(crate) uid: Box<str>,
    pub(crate) version: Box<str>,
    /// Whether it has a deletion timestamp.
    pub(crate) is_deleting: bool,
}

/// Receives the writes of the reconcile in whose task it is set.
pub(crate) trait WriteObserver: Send + Sync {
    /// Returns the object in the observer's caches. Called just before a write of it is sent.
    fn cached(&self, kind: &ApiResource, name: &NamespacedName) -> Vec<CachedObject>;
    /// Receives a write that succeeded.
    fn wrote(&self, write: WriteRecord);
}

tokio::task_local! {
    static WRITE_OBSERVER: Arc<dyn WriteObserver>;
}

/// The running task's observer, if it has one.
pub(crate) fn write_observer() -> Option<Arc<dyn WriteObserver>> {
    WRITE_OBSERVER.try_with(Arc::clone).ok()
}

/// Runs `future` with an observer of its writes.
pub(crate) fn with_write_observer<F: Future>(
    write_observer: Arc<dyn WriteObserver>,
    future: F,
) -> tokio::task::futures::TaskLocalFuture<Arc<dyn WriteObserver>, F> {
    WRITE_OBSERVER.scope(write_observer, future)
}

/// A write that is about to be sent.
pub(super) struct SentWrite {
    observer: Arc<dyn WriteObserver>,
    cached: Vec<CachedObject>,
}

impl SentWrite {
    /// Takes the cached object just before the request is sent.
    ///
    /// None for reads, dry runs, deletions of collections (their answers name no objects) and tasks without an observer.
    pub(super) fn before_send(call: &ApiRequest, is_dry_run: bool) -> Option<Self> {
        if is_dry_run || !["create", "update", "patch", "apply", "delete"].contains(&call.action) {
            return None;
        }
        let observer = write_observer()?;
        let cached = match &call.name {
            Some(name) => observer.cached(
                &call.info,
                &NamespacedName::in_scope(call.namespace.as_deref(), name),
            ),
            None => Vec::new(),
        };
        Some(Self { observer, cached })
    }

    /// Reports the write after the API server answered with success.
    pub(super) fn succeeded(self, call: &ApiRequest, answer: &Bytes) {
        if let Some(mut write) = WriteRecord::read(call, answer) {
            // With `generateName` the request did not know the object's name.
            if call.name.as_deref() == Some(write.name.name()) {
                write.cached = self.cached;
            }
            self.observer.wrote(write);
        }
    }
}

impl WriteRecord {
    /// None if the answer is neither an object nor the `Status` of a deletion.
    fn read(call: &ApiRequest, answer: &Bytes) -> Option<Self> {
        let is_deletion = call.action == "delete";
        let head: AnswerHead<'_> = serde_json::from_slice(answer).ok()?;
        let is_status = head.kind.as_deref() == Some("Status");
        if is_status && !is_deletion {
            return None;
        }
        let metadata = head.metadata;
        let name = match &metadata.name {
            Some(name) if !is_status => name,
            _ => call.name.as_deref()?,
        };
        let namespace = metadata.namespace.as_deref().or(call.namespace.as_deref());
        let name = NamespacedName::in_scope(namespace, name);
        let uid = if is_status {
            let DeletionStatus { details } = serde_json::from_slice(answer).ok()?;
            details.uid
        } else {
            metadata.uid
        };
        // A namespace has a finalizer in its spec, which stands for its content.
        let is_namespace = call.info.group.is_empty() && call.info.kind == "Namespace";
        let is_gone = metadata.deletion_timestamp.is_some()
            && !is_namespace
            && metadata.finalizers.is_none_or(|finalizers| finalizers.is_empty())
            && metadata.deletion_grace_period_seconds.unwrap_or_default() == 0;
        Some(Self {
            kind: call.info.clone(),
            name,
            verb: call.action,
            subresource: call.subresource,
            uid: uid.unwrap_or_default().into(),
            version: metadata.resource_version.unwrap_or_default().into(),
            effect: match (is_deletion, is_gone) {
                (true, _) => WriteKind::Deleted,
                (false, true) => WriteKind::Removed,
                (false, false) => WriteKind::Written,
            },
            object: (!is_status && call.subresource != Some("scale")).then(|| answer.clone()),
            cached: Vec::new(),
        })
    }
}

#[derive(Deserialize)]
struct AnswerHead<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: AnswerMetadata<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct AnswerMetadata<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
    deletion_timestamp: Option<IgnoredAny>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct DeletionStatus<'a> {
    #[serde(borrow, default)]
    details: DeletionDetails<'a>,
}

#[derive(Deserialize, Default)]
struct DeletionDetails<'a> {
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

#[cfg(test)]
#[path = "write_observer_tests.rs"]
mod tests;
