//! Index methods return the cached objects. Clippy checks the generated code in this file.
#![warn(clippy::pedantic, missing_docs)]

use kubewright::{
    cache::{Items, SharedInformerFactory},
    client::Connection,
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The desired state of a `BatchJob`.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "BatchJob",
    namespaced,
    status = "BatchJobStatus"
)]
#[informer(
    index(by_queue = "spec.queueName", by_paused = "spec.isPaused", by_priority = "spec.priority"),
    index(by_tag = "spec.tags[*]", by_phase: Phase = "status.phase", by_app: String = "metadata.labels['a.b/app']"),
    index(by_size: Size = "spec.queueName")
)]
#[serde(rename_all = "camelCase")]
pub struct BatchJobSpec {
    /// The queue of the job.
    pub queue_name: String,
    /// Whether the job is paused.
    pub is_paused: Option<bool>,
    /// The priority of the job.
    #[serde(default)]
    pub priority: i16,
    /// Tags for searching.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// The observed state of a `BatchJob`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct BatchJobStatus {
    /// The phase of the job.
    pub phase: Phase,
}

/// The phase of a `BatchJob`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// The job runs.
    InProgress,
    /// The job has ended.
    Done,
}

/// An enum that serde does not write as a string.
#[derive(Serialize)]
pub enum Size {
    /// A number.
    Of(u8),
}

fn job(name: &str, labels: &Value, spec: &Value, phase: &str) -> Value {
    json!({
        "apiVersion": "demo.dev/v1",
        "kind": "BatchJob",
        "metadata": { "name": name, "namespace": "default", "labels": labels },
        "spec": spec,
        "status": { "phase": phase },
    })
}

fn names(items: Items<BatchJob>) -> Vec<String> {
    let mut names: Vec<_> = items
        .objects()
        .map(|object| object.name().name().to_owned())
        .collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn index_methods_return_matching_objects() {
    let factory = SharedInformerFactory::new(Connection::late());
    let informer = factory.batch_jobs();
    let spec = json!({ "queueName": "slow", "isPaused": true, "priority": -3, "tags": ["a", "b"] });
    informer
        .seed(&job("one", &json!({ "a.b/app": "shop" }), &spec, "IN_PROGRESS"))
        .unwrap();
    let spec = json!({ "queueName": "slow", "tags": ["b"] });
    informer.seed(&job("two", &json!({}), &spec, "DONE")).unwrap();

    let lister: BatchJobLister = informer.lister();
    assert_eq!(names(lister.by_queue("slow")), ["one", "two"]);
    assert_eq!(names(lister.by_queue(String::from("fast"))), [""; 0]);
    assert_eq!(names(lister.by_paused(true)), ["one"]);
    assert_eq!(
        names(lister.by_paused(false)),
        [""; 0],
        "an absent value is not indexed"
    );
    assert_eq!(names(lister.by_priority(-3)), ["one"]);
    assert_eq!(names(lister.by_tag("a")), ["one"]);
    assert_eq!(names(lister.by_tag("b")), ["one", "two"]);
    assert_eq!(names(lister.by_phase(&Phase::InProgress)), ["one"]);
    assert_eq!(names(lister.by_phase(&Phase::Done)), ["two"]);
    assert_eq!(names(lister.by_app("shop")), ["one"]);
    assert_eq!(
        names(lister.by_size(&Size::Of(1))),
        [""; 0],
        "the enum is not written as a string, so nothing matches"
    );
    assert_eq!(
        names(lister.list()),
        ["one", "two"],
        "the methods of `Lister` are available, too"
    );
}

#[tokio::test]
async fn factory_returns_one_informer_per_kind() {
    let factory = SharedInformerFactory::new(Connection::late());
    let (first, second) = (factory.batch_jobs(), factory.batch_jobs());
    first
        .seed(&job("one", &json!({}), &json!({ "queueName": "slow" }), "DONE"))
        .unwrap();
    assert_eq!(names(second.lister().by_queue("slow")), ["one"]);
    let key = "default/one".parse().unwrap();
    assert_eq!(second.lister().get(&key).unwrap().spec.queue_name, "slow");
    let kinds = factory.custom_kinds();
    assert_eq!(kinds.len(), 1);
    assert_eq!(
        (&*kinds[0].info.kind, &*kinds[0].info.plural),
        ("BatchJob", "batchjobs")
    );
    assert_eq!(kinds[0].indexes.len(), 7);
}
