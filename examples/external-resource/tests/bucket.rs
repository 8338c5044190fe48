//! The bucket operator with a fake storage service: single reconciles, and the whole operator on an in-process API server.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod support;

use external_resource::{
    api::Bucket,
    controller::{BucketController, FINALIZER},
    storage::{Storage, StoredBucket},
};
use kubewright::{
    CustomKind as _,
    testing::{Harness, TestOperator},
};
use kubewright_testkit::{Cluster, Fault, Identity, RequestMatcher};
use serde_json::{Value, json};
use support::FakeStorage;

/// A Bucket with the finalizer, as the cache has it.
fn cached(status: &Value) -> Value {
    let mut bucket = bucket();
    bucket["metadata"]["uid"] = json!("1");
    bucket["metadata"]["finalizers"] = json!([FINALIZER]);
    bucket["status"] = status.clone();
    bucket
}

fn bucket() -> Value {
    let metadata = json!({"name": "photos", "namespace": "default"});
    json!({"apiVersion": "storage.example.com/v1", "kind": "Bucket", "metadata": metadata, "spec": {"versioned": true}})
}

fn stored(id: &str, versioned: bool) -> StoredBucket {
    StoredBucket {
        id: id.to_owned(),
        versioned,
    }
}

fn harness(storage: Storage) -> Harness {
    Harness::new(|setup| BucketController::register(setup, storage))
}

#[tokio::test]
async fn finalizer_is_added_before_the_bucket_is_created() {
    let (fake, storage) = FakeStorage::start().await;
    let test = harness(storage);
    let mut new = cached(&json!({}));
    new["metadata"]["finalizers"] = json!([]);
    test.seed(&new);
    fake.state().failures = 1;
    test.reconcile("default/photos").await.unwrap_err();
    let sent = test.requests();
    assert_eq!(sent[0].body["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(sent[1].body["status"]["conditions"][0]["reason"], "StorageFailed");
    assert_eq!(test.events()[0].reason, "StorageFailed");
}

#[tokio::test]
async fn lost_status_write_does_not_create_a_second_bucket() {
    let (fake, storage) = FakeStorage::start().await;
    let test = harness(storage);
    for _ in 0..2 {
        test.seed(&cached(&json!({})));
        test.reconcile("default/photos").await.unwrap();
        assert_eq!(test.requests()[0].body["status"]["id"], "b-1");
    }
    assert_eq!(fake.state().creations, 1);
}

#[tokio::test]
async fn drift_is_corrected() {
    let (fake, storage) = FakeStorage::start().await;
    let test = harness(storage);
    test.seed(&cached(&json!({"id": "b-0"})));

    // Changed at the service.
    fake.state().buckets.insert("1".to_owned(), stored("b-0", false));
    test.reconcile("default/photos").await.unwrap();
    assert_eq!(fake.state().buckets["1"], stored("b-0", true));

    // Deleted at the service.
    fake.state().buckets.clear();
    test.reconcile("default/photos").await.unwrap();
    assert_eq!(fake.state().buckets["1"], stored("b-1", true));
}

#[tokio::test]
async fn bucket_without_a_known_id_is_deleted_by_its_token() {
    let (fake, storage) = FakeStorage::start().await;
    let test = harness(storage);
    fake.state().buckets.insert("1".to_owned(), stored("b-0", true));
    let mut deleted = cached(&json!({}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-05-01T00:00:00Z");
    test.seed(&deleted);
    test.reconcile("default/photos").await.unwrap();
    assert!(fake.state().buckets.is_empty());
    assert_eq!(test.requests()[0].body["metadata"]["finalizers"], json!([]));
}

/// Starts an API server, the fake service and the operator.
async fn start() -> (Cluster, Identity, FakeStorage, TestOperator) {
    let cluster = Cluster::embedded().unwrap();
    cluster.install_crd(&Bucket::definition()).unwrap();
    let (fake, storage) = FakeStorage::start().await;
    let of_permissions = storage.clone();
    let permissions = TestOperator::permissions(|setup| BucketController::register(setup, of_permissions));
    let identity = cluster.operator("bucket", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, |setup| BucketController::register(setup, storage));
    (cluster, identity, fake, operator)
}

fn is_ready(bucket: &Value) -> bool {
    bucket["status"]["conditions"][0]["status"] == "True"
}

#[tokio::test]
async fn bucket_is_created_updated_and_deleted() {
    let (cluster, _identity, fake, _operator) = start().await;
    cluster.apply(&bucket()).unwrap();
    let ready = cluster.wait_until(&bucket(), is_ready).await;
    assert_eq!(ready["status"]["id"], "b-1");
    let uid = ready["metadata"]["uid"].as_str().unwrap();
    assert_eq!(fake.state().buckets[uid], stored("b-1", true));

    cluster
        .merge_patch(&bucket(), &json!({"spec": {"versioned": false}}))
        .unwrap();
    let is_current = |found: &Value| found["status"]["conditions"][0]["observedGeneration"] == 2;
    cluster.wait_until(&bucket(), is_current).await;
    assert_eq!(fake.state().buckets[uid], stored("b-1", false));

    // The finalizer keeps the Bucket until the service answers.
    fake.state().failures = 1;
    cluster.delete(&bucket()).unwrap();
    cluster.wait_until(&bucket(), Value::is_null).await;
    assert!(fake.state().buckets.is_empty());
    assert_eq!(fake.state().failures, 0);
}

// ANCHOR: failed_write
#[tokio::test]
async fn failed_status_write_is_retried() {
    let (cluster, identity, fake, _operator) = start().await;
    let write = RequestMatcher::verb("patch")
        .resource("buckets/status")
        .user(identity.user());
    let failure = cluster.faults().once(write, Fault::DropRequest);
    cluster.apply(&bucket()).unwrap();
    cluster.wait_until(&bucket(), is_ready).await;
    assert_eq!(failure.hits(), 1);
    assert_eq!(fake.state().creations, 1, "the retry finds the bucket");
}
// ANCHOR_END: failed_write

#[tokio::test]
async fn outage_of_the_service_is_retried_with_exactly_the_permissions() {
    let (cluster, identity, fake, _operator) = start().await;
    fake.state().failures = 3;
    cluster.apply(&bucket()).unwrap();
    cluster.wait_until(&bucket(), is_ready).await;
    assert_eq!(fake.state().failures, 0);
    assert_eq!(fake.state().creations, 1);
    cluster.assert_exact_permissions(&identity).await;
}
