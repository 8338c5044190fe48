//! Single reconciles of the CronJob controller, at times that the tests set.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::time::Duration;

use cronjob::controller::CronJobController;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kubewright::{
    Clock,
    controller::Action,
    serde_json::{Value, from_value, json},
    testing::{Harness, Reply},
};

const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// An hourly CronJob, created at half past midnight, with further fields of its spec.
fn cron_job(spec: Value) -> Value {
    let template = json!({
        "metadata": {"labels": {"app": "report"}, "annotations": {"team": "data"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "report", "image": "report"}]}}},
    });
    let mut object = json!({
        "apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob",
        "metadata": {"name": "report", "namespace": "default", "uid": "1", "creationTimestamp": "2026-05-01T00:30:00Z"},
        "spec": {"schedule": "0 * * * *", "jobTemplate": template},
    });
    let Value::Object(fields) = spec else {
        panic!("an object")
    };
    object["spec"].as_object_mut().unwrap().extend(fields);
    object
}

/// A Job of the CronJob; `condition` is its finished condition, if any.
fn job(name: &str, scheduled_at: &str, condition: Option<&str>) -> Job {
    let owner = json!({
        "apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob", "name": "report", "uid": "1", "controller": true,
    });
    let conditions: Vec<_> = condition
        .map(|type_| json!({"type": type_, "status": "True"}))
        .into_iter()
        .collect();
    from_value(json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": name,
            "annotations": {SCHEDULED_AT: scheduled_at}, "ownerReferences": [owner],
        },
        "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn harness(now: &str) -> Harness {
    let now: Timestamp = now.parse().unwrap();
    Harness::with_clock(Clock::starting_at(now), CronJobController::register)
}

fn minutes(minutes: u64) -> Action {
    Action::requeue_after(Duration::from_mins(minutes))
}

// ANCHOR: creates
#[tokio::test(start_paused = true)]
async fn creates_the_job_when_it_is_time() {
    let test = harness("2026-05-01T00:45:00Z");
    test.seed(&cron_job(json!({})));
    assert_eq!(test.reconcile("default/report").await.unwrap(), minutes(15));
    assert_eq!(test.requests().len(), 1, "only the status");

    tokio::time::advance(Duration::from_mins(15)).await;
    assert_eq!(test.reconcile("default/report").await.unwrap(), minutes(60));
    let sent = test.requests();
    let job = &sent.last().unwrap();
    assert_eq!(job.to_string(), "create jobs.batch default/report-1777597200");
    let metadata = &job.body["metadata"];
    assert_eq!(metadata["ownerReferences"][0]["uid"], "1");
    assert_eq!(metadata["labels"], json!({"app": "report"}));
    assert_eq!(
        metadata["annotations"],
        json!({SCHEDULED_AT: "2026-05-01T01:00:00Z", "team": "data"})
    );
    assert_eq!(
        job.body["spec"]["template"]["spec"]["containers"][0]["name"],
        "report"
    );
    assert_eq!(test.events()[0].reason, "SuccessfulCreate");
}
// ANCHOR_END: creates

#[tokio::test(start_paused = true)]
async fn status_has_active_jobs_and_the_last_run() {
    let test = harness("2026-05-01T02:30:00Z");
    test.seed(&cron_job(json!({})));
    test.seed(&job("a", "2026-05-01T01:00:00Z", Some("Complete")));
    test.seed(&job("b", "2026-05-01T02:00:00Z", None));
    test.reconcile("default/report").await.unwrap();
    let sent = test.requests();
    assert_eq!(sent.len(), 1);
    let status = &sent[0].body["status"];
    assert_eq!(status["active"].as_array().unwrap().len(), 1);
    assert_eq!(status["active"][0]["name"], "b");
    assert_eq!(status["lastScheduleTime"], "2026-05-01T02:00:00Z");
    assert_eq!(status["conditions"][0]["reason"], "Scheduled");

    // With this status in the cache, nothing is written.
    let mut seen = cron_job(json!({}));
    seen["status"] = status.clone();
    test.seed(&seen);
    test.reconcile("default/report").await.unwrap();
    assert_eq!(test.requests(), []);
}

#[tokio::test(start_paused = true)]
async fn deletes_what_the_history_does_not_keep_after_the_status_is_written() {
    let test = harness("2026-05-01T02:30:00Z");
    test.seed(&cron_job(
        json!({"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 1}),
    ));
    test.seed(&job("a", "2026-05-01T01:00:00Z", Some("Failed")));
    test.seed(&job("b", "2026-05-01T02:00:00Z", Some("Complete")));
    test.reconcile("default/report").await.unwrap();
    let sent = test.requests();
    assert_eq!(sent[0].body["status"]["lastScheduleTime"], "2026-05-01T02:00:00Z");
    assert_eq!(sent[1].to_string(), "delete jobs.batch default/b");
    assert_eq!(sent[1].body["preconditions"]["uid"], "b");
    assert_eq!(sent.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn replace_deletes_the_active_job_first() {
    let test = harness("2026-05-01T02:00:00Z");
    test.seed(&cron_job(json!({"concurrencyPolicy": "Replace"})));
    test.seed(&job("a", "2026-05-01T01:00:00Z", None));
    test.reconcile("default/report").await.unwrap();
    let sent: Vec<_> = test.requests().iter().map(ToString::to_string).collect();
    let expected = [
        "delete jobs.batch default/a",
        "create jobs.batch default/report-1777600800",
    ];
    assert_eq!(sent[1..], expected);
}

#[tokio::test(start_paused = true)]
async fn forbid_waits_for_the_active_job() {
    let test = harness("2026-05-01T02:00:00Z");
    test.seed(&cron_job(json!({"concurrencyPolicy": "Forbid"})));
    test.seed(&job("a", "2026-05-01T01:00:00Z", None));
    assert_eq!(test.reconcile("default/report").await.unwrap(), minutes(60));
    assert_eq!(test.requests().len(), 1, "only the status");
}

#[tokio::test(start_paused = true)]
async fn suspended_and_invalid_schedules_await_a_change() {
    let cases = [
        (json!({"suspend": true}), "Suspended"),
        (json!({"schedule": "every hour"}), "InvalidSchedule"),
    ];
    for (spec, reason) in cases {
        let test = harness("2026-05-01T02:00:00Z");
        test.seed(&cron_job(spec));
        assert_eq!(
            test.reconcile("default/report").await.unwrap(),
            Action::await_change()
        );
        let sent = test.requests();
        assert_eq!(sent.len(), 1);
        let ready = &sent[0].body["status"]["conditions"][0];
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!(reason))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn existing_job_of_the_run_is_not_an_error() {
    let test = harness("2026-05-01T01:00:00Z");
    test.seed(&cron_job(json!({})));
    // The Job exists, but the cache does not have it.
    test.api()
        .put::<Job>(&job("report-1777597200", "2026-05-01T01:00:00Z", None));
    test.reconcile("default/report").await.unwrap();
    assert_eq!(test.requests().last().unwrap().verb, "create");
    assert!(test.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn refused_creation_is_retried() {
    let test = harness("2026-05-01T01:00:00Z");
    test.seed(&cron_job(json!({})));
    test.reply_with(|request| request.verb == "create", Reply::forbidden());
    let error = test.reconcile("default/report").await.unwrap_err();
    assert!(!error.is_terminal(), "{error}");
}
