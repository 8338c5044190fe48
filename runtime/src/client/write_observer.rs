//! What a running reconcile writes: noted from successful answers, for the worker that runs it.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};

use super::request::ApiRequest;
use crate::{ApiResource, NamespacedName};

/// A write that the API server has carried out.
#[derive(Debug, Clone)]
pub(crate) struct WriteRecord {
    pub(crate) kind: ApiResource,
    pub(crate) name: NamespacedName,
    /// Empty where the answer does not say.
    pub(crate) uid: Box<str>,
    /// Empty where the answer does not say.
    pub(crate) version: Box<str>,
    pub(crate) effect: WriteKind,
    /// The whole object as it is now, where the answer has it.
    pub(crate) object: Option<Bytes>,
}

/// What a write does to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// It is now this version.
    Written,
    /// It was asked to go.
    Deleted,
    /// The last finalizer was taken off: it is gone.
    Removed,
}

/// Told of each write of the reconcile in whose task it is set.
pub(crate) trait WriteObserver: Send + Sync {
    fn wrote(&self, write: WriteRecord);
}

tokio::task_local! {
    static WITNESS: Arc<dyn WriteObserver>;
}

/// The write_observer of the running task, if it has one.
pub(crate) fn write_observer() -> Option<Arc<dyn WriteObserver>> {
    WITNESS.try_with(Arc::clone).ok()
}

/// `future`, whose writes are told to `write_observer`.
pub(crate) fn with_write_observer<F: Future>(
    write_observer: Arc<dyn WriteObserver>,
    future: F,
) -> tokio::task::futures::TaskLocalFuture<Arc<dyn WriteObserver>, F> {
    WITNESS.scope(write_observer, future)
}

/// Tells the running task's write_observer of a call that succeeded. A delete of a collection says nothing of single objects; a dry run writes
/// nothing.
pub(super) fn note(call: &ApiRequest, is_dry_run: bool, answer: &Bytes) {
    let is_deletion = call.action == "delete";
    if is_dry_run || !(is_deletion || ["create", "update", "patch", "apply"].contains(&call.action)) {
        return;
    }
    let Some(write_observer) = write_observer() else {
        return;
    };
    if let Some(write) = WriteRecord::read(call, is_deletion, answer) {
        write_observer.wrote(write);
    }
}

impl WriteRecord {
    /// None where the answer is no object, nor a `Status` about one.
    fn read(call: &ApiRequest, is_deletion: bool, answer: &Bytes) -> Option<Self> {
        let head: Head<'_> = serde_json::from_slice(answer).ok()?;
        let is_status = head.kind.as_deref() == Some("Status");
        if is_status && !is_deletion {
            return None;
        }
        let metadata = head.metadata;
        // An object that the server named is not known by the name of the call.
        let name = match &metadata.name {
            Some(name) if !is_status => (**name).to_owned(),
            _ => call.name.clone()?,
        };
        let namespace = metadata.namespace.as_deref().or(call.namespace.as_deref());
        let uid = if is_status {
            let Status { details } = serde_json::from_slice(answer).ok()?;
            details.uid
        } else {
            metadata.uid
        };
        let is_gone = metadata.deletion_timestamp.is_some()
            && metadata.finalizers.is_none_or(|finalizers| finalizers.is_empty())
            && metadata.deletion_grace_period_seconds.unwrap_or_default() == 0;
        Some(Self {
            kind: call.info.clone(),
            name: match namespace {
                Some(namespace) => NamespacedName::namespaced(namespace, name),
                None => NamespacedName::cluster(name),
            },
            uid: uid.unwrap_or_default().into(),
            version: metadata.resource_version.unwrap_or_default().into(),
            effect: match (is_deletion, is_gone) {
                (true, _) => WriteKind::Deleted,
                (false, true) => WriteKind::Removed,
                (false, false) => WriteKind::Written,
            },
            object: (!is_status && call.subresource != Some("scale")).then(|| answer.clone()),
        })
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: HeadMetadata<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata<'a> {
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
struct Status<'a> {
    #[serde(borrow, default)]
    details: Details<'a>,
}

#[derive(Deserialize, Default)]
struct Details<'a> {
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::*;
    use crate::Kind as _;

    #[derive(Default)]
    struct Notes(Mutex<Vec<WriteRecord>>);

    impl WriteObserver for Notes {
        fn wrote(&self, write: WriteRecord) {
            self.0.lock().push(write);
        }
    }

    /// What is noted of a call that is answered like that: name, uid, version, effect, and whether the object is known.
    async fn noted(
        action: &'static str,
        subresource: Option<&'static str>,
        answer: Value,
    ) -> Option<(String, String, String, WriteKind, bool)> {
        let call = ApiRequest {
            action,
            info: ConfigMap::info(),
            subresource,
            namespace: Some("default".to_owned()),
            name: Some("a-".to_owned()),
        };
        let notes = Arc::new(Notes::default());
        with_write_observer(notes.clone(), async {
            note(&call, false, &answer.to_string().into());
            note(&call, true, &answer.to_string().into());
        })
        .await;
        note(&call, false, &answer.to_string().into());
        let mut notes = notes.0.lock();
        assert!(
            notes.len() <= 1,
            "neither a dry run nor what nobody witnesses is noted"
        );
        notes.pop().map(|write| {
            let WriteRecord {
                name, uid, version, ..
            } = &write;
            (
                name.to_string(),
                uid.to_string(),
                version.to_string(),
                write.effect,
                write.object.is_some(),
            )
        })
    }

    fn object(more: &Value) -> Value {
        let mut object = json!({"kind": "ConfigMap", "details": "of another shape than a Status has",
            "metadata": {"name": "a-7", "namespace": "default", "uid": "u", "resourceVersion": "9"}});
        for (key, value) in more.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        object
    }

    #[tokio::test]
    async fn writes_are_noted_from_their_answers() {
        let text = str::to_owned;
        let written = |effect, is_known| (text("default/a-7"), text("u"), text("9"), effect, is_known);
        for action in ["create", "update", "patch", "apply"] {
            let found = noted(action, None, object(&json!({}))).await;
            assert_eq!(
                found,
                Some(written(WriteKind::Written, true)),
                "{action}, with the name that the server gave"
            );
        }
        let scale = noted("update", Some("scale"), object(&json!({}))).await;
        assert_eq!(
            scale,
            Some(written(WriteKind::Written, false)),
            "a Scale says nothing of labels"
        );
        for action in ["update", "patch", "apply"] {
            let status = noted(action, Some("status"), object(&json!({}))).await;
            assert_eq!(
                status,
                Some(written(WriteKind::Written, true)),
                "{action} of a status is answered by the object"
            );
        }
        let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]});
        assert_eq!(
            noted("patch", None, object(&going)).await,
            Some(written(WriteKind::Written, true))
        );
        assert_eq!(
            noted("delete", None, object(&going)).await,
            Some(written(WriteKind::Deleted, true))
        );
        let grace = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30});
        assert_eq!(
            noted("update", None, object(&grace)).await,
            Some(written(WriteKind::Written, true))
        );
        let gone = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": []});
        assert_eq!(
            noted("patch", None, object(&gone)).await,
            Some(written(WriteKind::Removed, true))
        );
    }

    #[tokio::test]
    async fn a_deletion_may_be_answered_by_a_status() {
        let status = json!({"kind": "Status", "metadata": {}, "status": "Success", "details": {"name": "a", "uid": "u"}});
        let deleted = Some((
            "default/a-".to_owned(),
            "u".to_owned(),
            String::new(),
            WriteKind::Deleted,
            false,
        ));
        assert_eq!(noted("delete", None, status.clone()).await, deleted);
        assert_eq!(
            noted("update", None, status.clone()).await,
            None,
            "it is about no object"
        );
        assert_eq!(noted("deletecollection", None, status).await, None);
    }

    #[tokio::test]
    async fn reads_and_what_is_no_object_are_not_noted() {
        for action in ["get", "list", "watch", "deletecollection"] {
            assert_eq!(noted(action, None, object(&json!({}))).await, None, "{action}");
        }
        assert_eq!(noted("update", None, json!("no object")).await, None);
    }
}
