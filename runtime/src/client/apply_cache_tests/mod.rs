//! When an apply is skipped: each condition alone, and whole histories.

mod histories;
mod model_server;

use kube::core::params::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, advance};

use super::*;
use crate::{
    ApiResource, Kind as _, NamespacedName,
    client::{
        All, ApplyOptions, CachedObject, Connection, Fence, PatchBody, TypedClient, WriteObserver,
        WriteRecord, with_write_observer,
    },
};
use model_server::{Failure, ModelServer, Widget, widget_name};

fn intent() -> Value {
    json!({"metadata": {"name": "a", "namespace": "shop"}, "spec": {"x": "1", "y": "1"}})
}

fn status_intent() -> Value {
    json!({"metadata": {"name": "a", "namespace": "shop"}, "status": {"ready": "yes"}})
}

/// An operator with a model server and its informer cache.
struct Operator {
    server: ModelServer,
    connection: Connection,
    client: TypedClient<Widget, All>,
}

impl Operator {
    /// Nothing was applied yet.
    fn new() -> Self {
        Self::on(&ModelServer::new())
    }

    fn on(server: &ModelServer) -> Self {
        Self::over(server, server.connection())
    }

    fn over(server: &ModelServer, connection: Connection) -> Self {
        let connection = connection.with_cached_objects(Arc::new(server.clone()));
        Self {
            server: server.clone(),
            client: TypedClient::new(connection.clone()),
            connection,
        }
    }

    /// Has applied the intent, and the cache shows that.
    async fn applied() -> Self {
        let operator = Self::new();
        operator.client.apply(&intent()).await.unwrap();
        operator.server.sync_cache();
        operator.server.take_requests();
        operator
    }

    fn cache(&self) -> &ApplyCache {
        self.connection.apply_cache().unwrap()
    }

    fn skipped(&self) -> u64 {
        self.cache().skipped().get()
    }

    #[track_caller]
    fn assert_sent(&self, requests: u32, why: &str) {
        assert_eq!(self.server.take_requests(), requests, "{why}");
    }

    /// Applies the intent, and expects a request.
    async fn apply_is_sent(&self, why: &str) {
        let _ = self.client.apply(&intent()).await;
        self.assert_sent(1, why);
    }

    async fn apply_is_skipped(&self, why: &str) {
        self.client.apply(&intent()).await.unwrap();
        self.assert_sent(0, why);
    }
}

#[tokio::test(start_paused = true)]
async fn apply_that_changes_nothing_sends_no_request_and_returns_the_cached_object() {
    let operator = Operator::new();
    let sent = operator.client.apply(&intent()).await.unwrap();
    operator.server.sync_cache();
    operator.assert_sent(1, "the first apply");
    for _ in 0..3 {
        let skipped = operator.client.apply(&intent()).await.unwrap();
        assert!(!sent.metadata.managed_fields.is_empty());
        assert!(skipped.metadata.managed_fields.is_empty(), "the cache has none");
        assert_eq!(
            (
                &skipped.metadata.uid,
                &skipped.metadata.resource_version,
                &skipped.spec
            ),
            (&sent.metadata.uid, &sent.metadata.resource_version, &sent.spec)
        );
    }
    operator.assert_sent(0, "the others");
    assert_eq!(operator.skipped(), 3);
}

#[tokio::test(start_paused = true)]
async fn apply_status_is_skipped_beside_apply() {
    let operator = Operator::new();
    for round in 0..3 {
        operator.client.apply(&intent()).await.unwrap();
        operator.server.sync_cache();
        operator.client.apply_status(&status_intent()).await.unwrap();
        operator.server.sync_cache();
        // The status is written once; then the apply is resent, because the resource version changed.
        operator.assert_sent([2, 1, 0][round], "both converge");
    }
}

#[tokio::test(start_paused = true)]
async fn closed_fence_sends_and_fails_as_every_write() {
    let (server, fence) = (ModelServer::new(), Fence::default());
    let operator = Operator::over(&server, server.connection().fenced(fence.clone()));
    operator.client.apply(&intent()).await.unwrap();
    server.sync_cache();
    fence.close();
    let refused = operator.client.apply(&intent()).await;
    assert!(refused.unwrap_err().is_not_leading());
    fence.renewed(Instant::now(), Duration::from_secs(10), Duration::from_secs(12));
    server.take_requests();
    operator.apply_is_skipped("the fence is open").await;
    advance(Duration::from_secs(10)).await;
    assert!(
        operator
            .client
            .apply(&intent())
            .await
            .unwrap_err()
            .is_not_leading()
    );
}

#[tokio::test(start_paused = true)]
async fn dry_run_is_sent_and_is_no_apply() {
    let operator = Operator::applied().await;
    let dry_run = ApplyOptions::new().dry_run();
    operator.client.apply_with(&intent(), &dry_run).await.unwrap();
    operator.assert_sent(1, "a dry run");
    operator.apply_is_skipped("a dry run writes nothing").await;
}

#[tokio::test(start_paused = true)]
async fn other_kind_is_sent() {
    #[derive(Deserialize)]
    struct Gadget {}
    impl crate::Kind for Gadget {
        fn info() -> crate::ApiResource {
            crate::ApiResource {
                kind: "Gadget".into(),
                plural: "gadgets".into(),
                ..Widget::info()
            }
        }
    }
    let operator = Operator::applied().await;
    let client = TypedClient::<Gadget, All>::new(operator.connection.clone());
    client.apply(&intent()).await.unwrap();
    operator.assert_sent(1, "another kind");
}

#[tokio::test(start_paused = true)]
async fn other_object_is_sent() {
    let operator = Operator::applied().await;
    for (name, namespace) in [("b", "shop"), ("a", "mall")] {
        let mut other = intent();
        other["metadata"] = json!({"name": name, "namespace": namespace});
        operator.client.apply(&other).await.unwrap();
        operator.assert_sent(1, "another object");
    }
}

#[tokio::test(start_paused = true)]
async fn other_subresource_is_sent() {
    let operator = Operator::applied().await;
    operator.client.apply_status(&intent()).await.unwrap();
    operator.assert_sent(1, "the same body to the status");
}

#[tokio::test(start_paused = true)]
async fn other_field_manager_is_sent() {
    let operator = Operator::applied().await;
    let other = ApplyOptions::new().field_manager("op-2");
    operator.client.apply_with(&intent(), &other).await.unwrap();
    operator.assert_sent(1, "another field manager");
}

#[tokio::test(start_paused = true)]
async fn other_force_is_sent() {
    let operator = Operator::applied().await;
    let unforced = ApplyOptions::new().without_force();
    operator.client.apply_with(&intent(), &unforced).await.unwrap();
    operator.assert_sent(1, "without force");
    operator
        .apply_is_sent("with force again: the last one was without")
        .await;
}

#[tokio::test(start_paused = true)]
async fn other_body_is_sent_and_replaces_the_record() {
    let operator = Operator::applied().await;
    let mut other = intent();
    other["spec"]["y"] = json!("2");
    operator.client.apply(&other).await.unwrap();
    operator.assert_sent(1, "another body");
    operator
        .apply_is_sent("the last successful apply was another")
        .await;
    operator.server.sync_cache();
    operator.apply_is_skipped("now it is this one").await;
}

#[tokio::test(start_paused = true)]
async fn answer_that_lacks_a_value_of_the_intent_is_sent_again() {
    let operator = Operator::new();
    operator.server.set_unknown_field("y");
    operator.client.apply(&intent()).await.unwrap();
    operator.server.sync_cache();
    operator.assert_sent(1, "the first apply");
    operator.apply_is_sent("y was dropped").await;
    operator.server.learn_all_fields();
    let upgraded = operator.client.apply(&intent()).await.unwrap();
    assert_eq!(upgraded.spec["y"], "1", "the schema knows it now");
    operator.server.sync_cache();
    operator.assert_sent(1, "after the upgrade");
    operator.apply_is_skipped("nothing is missing any more").await;
}

#[tokio::test(start_paused = true)]
async fn answer_with_a_warning_is_sent_again() {
    let operator = Operator::new();
    operator.server.set_warning(Some("299 - \"deprecated\""));
    operator.client.apply(&intent()).await.unwrap();
    operator.server.sync_cache();
    operator.assert_sent(1, "the first apply");
    operator.apply_is_sent("it came with a warning").await;
    operator.server.set_warning(None);
    operator.apply_is_sent("the last answer had a warning").await;
    operator.apply_is_skipped("the last answer had none").await;
}

#[tokio::test(start_paused = true)]
async fn cache_of_parts_of_objects_sends() {
    let operator = Operator::applied().await;
    operator.server.keep_parts_of_objects();
    operator.apply_is_sent("the cached object lacks fields").await;
}

#[tokio::test(start_paused = true)]
async fn cache_without_the_object_sends() {
    let operator = Operator::new();
    operator.client.apply(&intent()).await.unwrap();
    operator.server.take_requests();
    operator.apply_is_sent("the cache does not show it yet").await;
}

#[tokio::test(start_paused = true)]
async fn cache_with_another_resource_version_sends() {
    let operator = Operator::applied().await;
    operator.server.edit("spec", "x", "foreign");
    operator
        .apply_is_skipped("the cache does not show the foreign edit yet")
        .await;
    operator.server.sync_cache();
    operator.apply_is_sent("the cache shows the foreign edit").await;
    assert_eq!(operator.server.content().unwrap().0["spec"]["x"], "1");
}

/// A cache with the same resource version of another object, as after a restore of etcd.
struct Restored(String);
impl CachedObjects for Restored {
    fn object_at(
        &self,
        _: &crate::ApiResource,
        _: &NamespacedName,
        is_version: &dyn Fn(&str, &str) -> bool,
    ) -> Option<Bytes> {
        assert!(is_version("uid-1", "1"), "this is the recorded version");
        is_version("other", "1").then(|| self.0.clone().into())
    }
}

#[tokio::test(start_paused = true)]
async fn cache_with_another_uid_sends() {
    let other = json!({"metadata": {"name": "a", "uid": "other", "resourceVersion": "1"}}).to_string();
    let server = ModelServer::new();
    let connection = server.connection().with_cached_objects(Arc::new(Restored(other)));
    let client = TypedClient::<Widget, All>::new(connection);
    for _ in 0..2 {
        client.apply(&intent()).await.unwrap();
        assert_eq!(server.take_requests(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn record_older_than_the_ttl_is_sent() {
    let operator = Operator::applied().await;
    advance(Duration::from_secs(599)).await;
    operator.apply_is_skipped("younger than 10 minutes").await;
    advance(Duration::from_secs(1)).await;
    operator
        .apply_is_sent("10 minutes old, although it was skipped since")
        .await;
    operator.apply_is_skipped("sent just now").await;

    operator.cache().set_ttl(Duration::from_secs(5));
    advance(Duration::from_secs(5)).await;
    operator.apply_is_sent("the time is settable").await;
    operator.cache().set_ttl(Duration::ZERO);
    operator.apply_is_sent("zero switches it off").await;
    operator.apply_is_sent("zero switches it off").await;
}

#[tokio::test(start_paused = true)]
async fn clients_without_a_setup_send() {
    let server = ModelServer::new();
    let client = TypedClient::<Widget, All>::new(server.connection());
    for _ in 0..2 {
        client.apply(&intent()).await.unwrap();
        server.sync_cache();
        assert_eq!(server.take_requests(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_connection_share_the_records() {
    let operator = Operator::applied().await;
    let unfenced = operator.client.clone().unfenced();
    unfenced.apply(&intent()).await.unwrap();
    operator.assert_sent(0, "a clone knows what the other applied");
    let again = Operator::over(&operator.server, operator.server.connection());
    again.apply_is_sent("a restarted operator has no records").await;
}

#[tokio::test(start_paused = true)]
async fn own_writes_invalidate_the_record_before_the_cache_shows_them() {
    let operator = Operator::applied().await;
    let (name, client) = (widget_name(), &operator.client);
    let patch = PatchBody::Merge(json!({"spec": {"x": "patched"}}));
    client.patch(&name, &patch).await.unwrap();
    operator.server.take_requests();
    operator
        .apply_is_sent("the cache shows the version of the first apply, but it was patched since")
        .await;
    operator.server.sync_cache();
    operator.apply_is_skipped("settled").await;

    client.delete(&name, &DeleteParams::default()).await.unwrap();
    operator.server.take_requests();
    operator.apply_is_sent("it was deleted since").await;
    operator.server.sync_cache();
    operator.apply_is_skipped("settled").await;

    let (params, selected) = (DeleteParams::default(), ListParams::default());
    client
        .delete_collection(Some("shop"), &selected, &params)
        .await
        .unwrap();
    operator.server.take_requests();
    operator.apply_is_sent("all were deleted since").await;
}

#[tokio::test(start_paused = true)]
async fn own_write_that_changed_nothing_leaves_the_record() {
    let operator = Operator::applied().await;
    let patch = PatchBody::Merge(json!({"spec": {"x": "1"}}));
    operator.client.patch(&widget_name(), &patch).await.unwrap();
    operator.server.take_requests();
    operator.apply_is_skipped("the version is the same").await;
}

#[tokio::test(start_paused = true)]
async fn write_without_an_answer_invalidates_the_record() {
    let operator = Operator::applied().await;
    let mut other = intent();
    other["spec"]["x"] = json!("2");
    operator.server.fail_next_patch(Failure::AnswerLost);
    operator.client.apply(&other).await.unwrap_err();
    operator.server.take_requests();
    operator
        .apply_is_sent("whether the other apply was carried out is unknown")
        .await;
    assert_eq!(operator.server.content().unwrap().0["spec"]["x"], "1");
}

#[tokio::test(start_paused = true)]
async fn refused_write_leaves_the_record() {
    let operator = Operator::applied().await;
    let mut other = intent();
    other["spec"]["x"] = json!("2");
    operator.server.fail_next_patch(Failure::Refused);
    operator.client.apply(&other).await.unwrap_err();
    operator.server.take_requests();
    operator
        .apply_is_skipped("the other apply was not successful")
        .await;
}

#[tokio::test(start_paused = true)]
async fn overlapping_writes_leave_no_record() {
    let operator = Operator::applied().await;
    let request = ApiRequest::object(Widget::info(), "patch", &widget_name()).unwrap();
    let cache = operator.cache();
    let first = cache.begin_write(&request);
    operator.apply_is_sent("a write is in flight").await;
    operator.apply_is_sent("a write is in flight").await;
    drop(first);
    operator.apply_is_sent("the order of both is unknown").await;
    operator.apply_is_skipped("it was the only one").await;
    assert!(cache.0.table.lock().in_flight.is_empty());
}

#[tokio::test(start_paused = true)]
async fn skipped_apply_is_no_write_for_the_observer() {
    #[derive(Default)]
    struct Writes(Mutex<u32>);
    impl WriteObserver for Writes {
        fn cached(&self, _: &ApiResource, _: &NamespacedName) -> Vec<CachedObject> {
            Vec::new()
        }

        fn wrote(&self, _: WriteRecord) {
            *self.0.lock() += 1;
        }
    }
    let (operator, writes) = (Operator::new(), Arc::new(Writes::default()));
    let applies = async {
        operator.client.apply(&intent()).await.unwrap();
        operator.server.sync_cache();
        operator.client.apply(&intent()).await.unwrap();
    };
    with_write_observer(writes.clone(), applies).await;
    assert_eq!((*writes.0.lock(), operator.skipped()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn records_are_bounded() {
    let operator = Operator::applied().await;
    for number in 0..2 * MAX_RECORDS_PER_OBJECT {
        let options = ApplyOptions::new().field_manager(format!("op-{number}"));
        let only_metadata = json!({"metadata": {"name": "a", "namespace": "shop"}});
        operator
            .client
            .apply_with(&only_metadata, &options)
            .await
            .unwrap();
    }
    let records = |operator: &Operator| {
        let table = operator.cache().0.table.lock();
        let counts: Vec<usize> = table.records.iter().map(|(_, records)| records.len()).collect();
        counts
    };
    assert_eq!(records(&operator), [MAX_RECORDS_PER_OBJECT]);
    operator.server.take_requests();
    operator.apply_is_sent("its record was evicted").await;

    let cache = operator.cache();
    for number in 0..=MAX_OBJECTS {
        let name = NamespacedName::namespaced("shop", format!("w-{number}"));
        let request = ApiRequest::object(Widget::info(), "apply", &name).unwrap();
        let key = ApplyKey {
            applier: 0,
            request: Digest::default(),
        };
        let answer = br#"{"metadata": {"uid": "u", "resourceVersion": "1"}}"#;
        let sent = SentApply {
            key,
            intent: Bytes::from_static(b"{}"),
        };
        cache.begin_write(&request).succeeded(answer, false, Some(sent));
    }
    assert_eq!(records(&operator).len(), MAX_OBJECTS);
}
