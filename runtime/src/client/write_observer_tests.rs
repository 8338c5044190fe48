//! Tests of the write observer: which writes it records, and what of their answers.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::Kind as _;

/// Records the writes, and shows the same cached object for each.
#[derive(Default)]
struct RecordingObserver(Mutex<Vec<WriteRecord>>);

impl WriteObserver for RecordingObserver {
    fn cached(&self, _: &ApiResource, name: &NamespacedName) -> Vec<CachedObject> {
        vec![CachedObject {
            informer_index: 3,
            uid: name.to_string().into(),
            version: "8".into(),
            is_deleting: false,
        }]
    }

    fn wrote(&self, write: WriteRecord) {
        self.0.lock().push(write);
    }
}

fn request(action: &'static str, subresource: Option<&'static str>) -> ApiRequest {
    ApiRequest {
        action,
        info: ConfigMap::info(),
        subresource,
        namespace: Some("default".to_owned()),
        name: Some("a-".to_owned()),
    }
}

fn send(call: &ApiRequest, is_dry_run: bool, answer: &Value) {
    if let Some(sent) = SentWrite::before_send(call, is_dry_run) {
        sent.succeeded(call, &answer.to_string().into());
    }
}

/// Sends the request, as it is, as a dry run and without an observer, and returns the only record.
async fn record_of(call: &ApiRequest, answer: &Value) -> Option<WriteRecord> {
    let observer = Arc::new(RecordingObserver::default());
    with_write_observer(observer.clone(), async {
        send(call, false, answer);
        send(call, true, answer);
    })
    .await;
    send(call, false, answer);
    let mut records = observer.0.lock();
    assert!(
        records.len() <= 1,
        "neither dry runs nor writes without an observer are recorded"
    );
    records.pop()
}

/// The recorded name, uid, version and effect, and whether the object is known.
async fn recorded(
    action: &'static str,
    subresource: Option<&'static str>,
    answer: Value,
) -> Option<(String, String, String, WriteKind, bool)> {
    let write = record_of(&request(action, subresource), &answer).await?;
    Some((
        write.name.to_string(),
        write.uid.to_string(),
        write.version.to_string(),
        write.effect,
        write.object.is_some(),
    ))
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
async fn writes_are_recorded_from_their_answers() {
    let text = str::to_owned;
    let written = |effect, is_known| (text("default/a-7"), text("u"), text("9"), effect, is_known);
    for action in ["create", "update", "patch", "apply"] {
        let found = recorded(action, None, object(&json!({}))).await;
        assert_eq!(
            found,
            Some(written(WriteKind::Written, true)),
            "{action}, with the name that the server generated"
        );
    }
    let scale = recorded("update", Some("scale"), object(&json!({}))).await;
    assert_eq!(
        scale,
        Some(written(WriteKind::Written, false)),
        "a Scale does not contain the object"
    );
    for action in ["update", "patch", "apply"] {
        let status = recorded(action, Some("status"), object(&json!({}))).await;
        assert_eq!(
            status,
            Some(written(WriteKind::Written, true)),
            "{action} of a status is answered by the object"
        );
    }
    let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]});
    assert_eq!(
        recorded("patch", None, object(&going)).await,
        Some(written(WriteKind::Written, true))
    );
    assert_eq!(
        recorded("delete", None, object(&going)).await,
        Some(written(WriteKind::Deleted, true))
    );
    let grace = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30});
    assert_eq!(
        recorded("update", None, object(&grace)).await,
        Some(written(WriteKind::Written, true))
    );
    let gone = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": []});
    assert_eq!(
        recorded("patch", None, object(&gone)).await,
        Some(written(WriteKind::Removed, true))
    );
}

#[tokio::test]
async fn deletion_may_be_answered_by_a_status() {
    let status =
        json!({"kind": "Status", "metadata": {}, "status": "Success", "details": {"name": "a", "uid": "u"}});
    let deleted = Some((
        "default/a-".to_owned(),
        "u".to_owned(),
        String::new(),
        WriteKind::Deleted,
        false,
    ));
    assert_eq!(recorded("delete", None, status.clone()).await, deleted);
    assert_eq!(
        recorded("update", None, status.clone()).await,
        None,
        "the Status of another verb names no object"
    );
    assert_eq!(recorded("delete all", None, status).await, None);
}

#[tokio::test]
async fn reads_collection_deletes_and_answers_without_object_are_not_recorded() {
    for action in ["get", "list", "watch", "delete all"] {
        assert_eq!(recorded(action, None, object(&json!({}))).await, None, "{action}");
    }
    assert_eq!(recorded("update", None, json!("not an object")).await, None);
}

#[tokio::test]
async fn cached_object_is_taken_when_the_write_is_sent() {
    let renamed = record_of(&request("create", None), &object(&json!({})))
        .await
        .unwrap();
    assert_eq!(renamed.cached, [], "the request did not know the generated name");
    let named = record_of(
        &request("update", Some("status")),
        &object(&json!({"name": "a-"})),
    )
    .await;
    let named = named.unwrap();
    assert_eq!((named.verb, named.subresource), ("update", Some("status")));
    assert_eq!(
        named.cached,
        [CachedObject {
            informer_index: 3,
            uid: "default/a-".into(),
            version: "8".into(),
            is_deleting: false,
        }]
    );
}

#[tokio::test]
async fn terminating_namespace_is_not_gone_while_its_content_is() {
    let call = ApiRequest {
        info: Namespace::info(),
        namespace: None,
        name: Some("shop".to_owned()),
        ..request("update", Some("status"))
    };
    let metadata = json!({"name": "shop", "uid": "u", "resourceVersion": "9", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let answer = json!({"kind": "Namespace", "metadata": metadata, "spec": {"finalizers": ["kubernetes"]}});
    let write = record_of(&call, &answer).await.unwrap();
    assert_eq!(write.effect, WriteKind::Written);
}
