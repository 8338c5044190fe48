//! Events: requests, series, limits, and the flush at the end.

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Node},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kubewright::{
    events::{EventType, EventsApi, Recorder, Regarding},
    kube::core::Status,
    testing::{Reply, Request, ScriptedApi},
    unstable::EventWriter,
};
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("shop".to_owned()),
            uid: Some(format!("uid-of-{name}")),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn run(writer: EventWriter, api: &ScriptedApi) -> (CancellationToken, JoinHandle<()>) {
    let cancel = CancellationToken::new();
    let task = tokio::spawn(writer.run(api.connection(), cancel.clone()));
    (cancel, task)
}

fn heads(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| request.verb).collect()
}

async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn event_has_all_fields() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    recorder.event(&map("a"), EventType::Warning, "Failed", "x".repeat(1023) + "ä");
    let (_cancel, _task) = run(writer, &api);
    settle().await;
    let sent = api.requests();
    assert_eq!(heads(&sent), ["create"]);
    let (event, resource) = (&sent[0].body, sent[0].resource.as_str());
    assert_eq!(resource, "events.events.k8s.io");
    assert_eq!(sent[0].namespace.as_deref(), Some("shop"));
    assert!(event["metadata"]["name"].as_str().unwrap().starts_with("a."));
    assert_eq!(
        event["regarding"],
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a", "uid": "uid-of-a"})
    );
    assert_eq!(
        (&event["type"], &event["reason"]),
        (&json!("Warning"), &json!("Failed"))
    );
    assert_eq!(event["note"].as_str().unwrap().len(), 1023);
    assert_eq!(event["reportingController"], "shop");
    assert!(event["reportingInstance"].as_str().unwrap().starts_with("shop"));
    assert!(!event["action"].as_str().unwrap().is_empty());
    // Go parses microseconds with exactly six digits.
    let time = event["eventTime"].as_str().unwrap();
    assert_eq!(time.split_once('.').unwrap().1.len(), "123456Z".len(), "{time}");
}

#[tokio::test(start_paused = true)]
async fn core_event_has_all_fields() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    recorder.set_api(EventsApi::Core);
    let (_cancel, _task) = run(writer, &api);
    for _ in 0..2 {
        recorder.event(&map("a"), EventType::Warning, "Failed", "out of paper");
        settle().await;
    }
    let sent = api.requests();
    assert_eq!(heads(&sent), ["create", "patch"]);
    assert_eq!(
        (sent[0].resource.as_str(), sent[0].namespace.as_deref()),
        ("events", Some("shop"))
    );
    let event = &sent[0].body;
    assert_eq!(
        (&event["apiVersion"], &event["kind"]),
        (&json!("v1"), &json!("Event"))
    );
    assert_eq!(
        event["involvedObject"],
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a", "uid": "uid-of-a"})
    );
    assert_eq!(
        (
            &event["type"],
            &event["reason"],
            &event["message"],
            &event["count"]
        ),
        (
            &json!("Warning"),
            &json!("Failed"),
            &json!("out of paper"),
            &json!(1)
        )
    );
    assert_eq!(event["source"], json!({"component": "shop"}));
    assert_eq!(event["reportingComponent"], "shop");
    assert_eq!(event["firstTimestamp"], event["lastTimestamp"]);
    assert!(event.get("eventTime").is_none_or(serde_json::Value::is_null));
    assert_eq!(sent[1].name, sent[0].name);
    assert_eq!(
        (&sent[1].body["count"], &sent[1].body["message"]),
        (&json!(2), &json!("out of paper"))
    );
    assert!(sent[1].body["lastTimestamp"].is_string());
}

#[tokio::test(start_paused = true)]
async fn similar_events_are_aggregated() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    for note in 0..11 {
        recorder.event(&map("a"), EventType::Normal, "Retried", format!("try {note}"));
        settle().await;
    }
    let sent = api.requests();
    assert_eq!(heads(&sent[..10]), ["create"; 10]);
    assert_eq!(sent[9].body["note"], "(combined from similar events): try 9");
    assert_eq!(heads(&sent[10..]), ["patch"]);
    assert_eq!(sent[10].name, sent[9].name);
    // All other fields are immutable.
    assert_eq!(sent[10].body.as_object().unwrap().len(), 1);
    assert_eq!(sent[10].body["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn events_over_the_limit_of_an_object_are_dropped_and_counted() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    for reason in 0..40 {
        recorder.event(&map("a"), EventType::Normal, format!("Reason{reason}"), "x");
    }
    recorder.event(&map("b"), EventType::Normal, "Reason", "x");
    settle().await;
    assert_eq!(api.requests().len(), 25 + 1);
    assert_eq!((recorder.suppressed(), recorder.dropped()), (15, 0));
}

#[tokio::test(start_paused = true)]
async fn events_of_cluster_scoped_objects_are_in_default_with_a_valid_name() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let node = Node {
        metadata: ObjectMeta {
            name: Some("system:Node".to_owned()),
            ..ObjectMeta::default()
        },
        ..Node::default()
    };
    recorder.event(&node, EventType::Normal, "Ready", "it is");
    let (_cancel, _task) = run(writer, &api);
    settle().await;
    let sent = api.requests();
    assert_eq!(sent[0].namespace.as_deref(), Some("default"));
    assert!(
        sent[0].name.as_deref().unwrap().starts_with("system-node."),
        "{}",
        sent[0]
    );
}

#[tokio::test(start_paused = true)]
async fn repeats_become_a_series() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    let record = || recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    record();
    settle().await;
    record();
    settle().await;
    // The first repeat is written at once, further ones in batches.
    for _ in 0..10 {
        record();
        settle().await;
    }
    recorder.event(&map("a"), EventType::Normal, "Synced", "done otherwise");
    settle().await;
    let sent = api.requests();
    assert_eq!(heads(&sent), ["create", "patch", "create"]);
    assert_eq!(sent[1].name, sent[0].name);
    assert_eq!(sent[1].body["series"]["count"], 2);
    assert_ne!(sent[2].name, sent[0].name);
    sleep(Duration::from_secs(61)).await;
    let sent = api.requests();
    assert_eq!(heads(&sent), ["patch"]);
    assert_eq!(sent[0].body["series"]["count"], 12);
    assert!(sent[0].body["series"]["lastObservedTime"].is_string());
}

#[tokio::test(start_paused = true)]
async fn series_ends_after_six_minutes_without_a_repeat() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    let record = || recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    for pause in [0, 359, 361] {
        sleep(Duration::from_secs(pause)).await;
        record();
        settle().await;
    }
    assert_eq!(heads(&api.requests()), ["create", "patch", "create"]);
}

#[tokio::test(start_paused = true)]
async fn series_continues_after_its_event_was_deleted() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    settle().await;
    let gone = Status::failure("not found", "NotFound").with_code(404);
    api.reply_with(|request| request.verb == "patch", Reply::status(&gone));
    recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    settle().await;
    let sent = api.requests();
    assert_eq!(heads(&sent), ["create", "patch", "create"]);
    assert_eq!(sent[2].body["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn events_beyond_a_thousand_are_dropped() {
    let (recorder, mut writer) = Recorder::pipeline("shop");
    for _ in 0..1003 {
        recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    }
    assert_eq!(recorder.dropped(), 3);
    assert_eq!(writer.drain().len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn refused_events_are_not_retried_and_do_not_block() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    let details = json!({"causes": [{"reason": "NamespaceTerminating"}]});
    let terminating =
        json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no", "details": details});
    api.reply_with(|_| true, Reply::object(http::StatusCode::FORBIDDEN, terminating));
    api.reply_with(|_| true, Reply::forbidden());
    api.reply_with(
        |_| true,
        Reply::status(&Status::failure("bad", "Invalid").with_code(422)),
    );
    api.reply_with(
        |_| true,
        Reply::status(&Status::failure("no such namespace", "NotFound").with_code(404)),
    );
    for name in ["a", "b", "c", "d", "e"] {
        recorder.event(&map(name), EventType::Normal, "Synced", "done");
    }
    let started = Instant::now();
    settle().await;
    assert_eq!(heads(&api.requests()), ["create"; 5]);
    assert!(started.elapsed() < Duration::from_secs(1));
}

/// A slow API server must not make a busy controller lose events.
#[tokio::test(start_paused = true)]
async fn events_about_other_objects_do_not_wait_for_a_response() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    // The first is lost and resent only after seconds.
    api.reply_with(|request| request.body["reason"] == "Lost", Reply::lost());
    recorder.event(&map("a"), EventType::Normal, "Lost", "gone");
    recorder.event(&map("a"), EventType::Normal, "Next", "here");
    for number in 0..100 {
        recorder.event(&map(&format!("b{number}")), EventType::Normal, "Synced", "done");
    }
    settle().await;
    let sent = api.requests();
    let synced = sent.iter().filter(|request| request.body["reason"] == "Synced");
    assert!(synced.count() > 80, "all but those that share the lane");
    assert!(
        sent.iter().all(|request| request.body["reason"] != "Next"),
        "in order about one object"
    );
    sleep(Duration::from_secs(11)).await;
    let sent = api.requests();
    let reasons: Vec<_> = sent.iter().map(|request| &request.body["reason"]).collect();
    let position = |reason: &str| reasons.iter().position(|have| **have == json!(reason));
    assert!(position("Lost").unwrap() < position("Next").unwrap());
}

#[tokio::test(start_paused = true)]
async fn event_without_a_response_is_sent_twelve_times_at_most() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    for _ in 0..12 {
        api.reply_with(|request| request.body["reason"] == "Lost", Reply::lost());
    }
    recorder.event(&map("a"), EventType::Normal, "Lost", "gone");
    recorder.event(&map("a"), EventType::Normal, "Next", "here");
    sleep(Duration::from_secs(130)).await;
    let sent = api.requests();
    assert_eq!(
        sent.iter()
            .filter(|request| request.body["reason"] == "Lost")
            .count(),
        12
    );
    assert_eq!(sent.last().unwrap().body["reason"], "Next");
}

#[tokio::test(start_paused = true)]
async fn event_created_without_a_response_is_no_error() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (_cancel, _task) = run(writer, &api);
    api.reply_with(|_| true, Reply::lost());
    let exists = Status::failure("exists", "AlreadyExists").with_code(409);
    api.reply_with(|_| true, Reply::status(&exists));
    api.reply_with(
        |request| request.verb == "patch",
        Reply::object(http::StatusCode::OK, json!({})),
    );
    recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    sleep(Duration::from_secs(11)).await;
    recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    settle().await;
    // The repeat is a patch: the event counts as created.
    assert_eq!(heads(&api.requests()), ["create", "create", "patch"]);
}

#[tokio::test(start_paused = true)]
async fn queued_events_and_counts_are_flushed_at_the_end() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let (cancel, task) = run(writer, &api);
    for _ in 0..5 {
        recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    }
    recorder.event(&map("b"), EventType::Normal, "Synced", "done");
    cancel.cancel();
    task.await.unwrap();
    let sent = api.requests();
    // Events about another object are sent concurrently.
    let (of_a, of_b): (Vec<Request>, Vec<Request>) = sent
        .into_iter()
        .partition(|request| request.name.as_deref().unwrap().starts_with("a."));
    assert_eq!(heads(&of_a), ["create", "patch", "patch"]);
    assert_eq!(of_a[2].body["series"]["count"], 5);
    assert_eq!(heads(&of_b), ["create"]);
    recorder.event(&map("c"), EventType::Normal, "Late", "too late");
    assert_eq!(recorder.dropped(), 1);
}

#[tokio::test(start_paused = true)]
async fn end_does_not_wait_for_an_unreachable_api_server() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    api.always_reply_with(|_| true, Reply::lost());
    let (cancel, task) = run(writer.flush_within(Duration::from_secs(2)), &api);
    recorder.event(&map("a"), EventType::Normal, "Synced", "done");
    settle().await;
    let started = Instant::now();
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[test]
fn objects_have_references() {
    let reference = map("a").object_ref();
    assert_eq!(
        (reference.info.kind.as_ref(), reference.name.to_string().as_str()),
        ("ConfigMap", "shop/a")
    );
    assert_eq!(reference.uid, "uid-of-a");
    assert_eq!(reference.object_ref(), reference);
}
