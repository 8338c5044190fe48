//! The methods of indexes find what is in the cache. This file is also where clippy sees the emitted code.
#![warn(clippy::pedantic, missing_docs)]

use kubewright::{
    cache::{Items, SharedInformerFactory},
    client::Connection,
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a Job should be.
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
    /// Where it waits.
    pub queue_name: String,
    /// Whether it waits for somebody.
    pub is_paused: Option<bool>,
    /// How soon it runs.
    #[serde(default)]
    pub priority: i16,
    /// What people call it.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// What a Job is.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct BatchJobStatus {
    /// How far it is.
    pub phase: Phase,
}

/// How far a Job is.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// It runs.
    InProgress,
    /// It ran.
    Done,
}

/// An enum that serde does not write as a string.
#[derive(Serialize)]
pub enum Size {
    /// Of so many.
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
async fn methods_of_indexes_find_what_was_seeded() {
    let factory = SharedInformerFactory::new(Connection::late().0);
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
        "no string, so nothing is found"
    );
    assert_eq!(
        names(lister.list()),
        ["one", "two"],
        "the methods of `Lister` are there too"
    );
}

#[tokio::test]
async fn the_factory_remembers_the_kind_and_makes_one_informer() {
    let factory = SharedInformerFactory::new(Connection::late().0);
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
