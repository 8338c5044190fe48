//! The webhooks of CronJobs: called directly, and by an in-process API server.

use cronjob::{api::CronJob, webhook::CronJobWebhook};
use kubewright::{
    CustomKind,
    serde_json::{Value, json},
    testing::{Harness, TestOperator},
    webhooks::AdmissionRequest,
};
use kubewright_testkit::Cluster;

fn cron_job(name: &str, schedule: &str) -> Value {
    let containers = json!([{"name": "report", "image": "report"}]);
    let template = json!({"spec": {"restartPolicy": "Never", "containers": containers}});
    json!({
        "apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}},
    })
}

// ANCHOR: harness
#[tokio::test]
async fn schedules_must_parse() {
    let test = Harness::new(CronJobWebhook::register);
    let (good, bad) = (cron_job("report", "0 * * * *"), cron_job("report", "hourly"));
    let admitted = test.admit(AdmissionRequest::create(&good)).await.unwrap();
    assert_eq!(admitted.object["spec"]["failedJobsHistoryLimit"], 1);

    let denied = test.admit(AdmissionRequest::create(&bad)).await.unwrap_err();
    let expected = "CronJob.batch.tutorial.kubebuilder.io \"report\" is invalid: spec.schedule: Invalid value: \"hourly\": ";
    assert!(denied.message.starts_with(expected), "{}", denied.message);
    let update = AdmissionRequest::update(&good, &bad);
    assert_eq!(test.admit(update).await.unwrap_err().code, 422);
    // From before the webhook.
    test.admit(AdmissionRequest::update(&bad, &bad)).await.unwrap();
}
// ANCHOR_END: harness

#[tokio::test]
async fn names_leave_room_for_those_of_jobs() {
    let test = Harness::new(CronJobWebhook::register);
    let create = |length| AdmissionRequest::create(&cron_job(&"a".repeat(length), "0 * * * *"));
    test.admit(create(52)).await.unwrap();
    let denied = test.admit(create(53)).await.unwrap_err();
    assert!(
        denied.message.ends_with("must be no more than 52 characters"),
        "{}",
        denied.message
    );
}

#[tokio::test]
async fn limits_that_are_set_are_kept() {
    let test = Harness::new(CronJobWebhook::register);
    let mut object = cron_job("report", "0 * * * *");
    object["spec"]["successfulJobsHistoryLimit"] = json!(0);
    let admitted = test.admit(AdmissionRequest::create(&object)).await.unwrap();
    let spec = &admitted.object["spec"];
    assert_eq!(
        (
            &spec["successfulJobsHistoryLimit"],
            &spec["failedJobsHistoryLimit"]
        ),
        (&json!(0), &json!(1))
    );
}

// ANCHOR: cluster
// The operator answers in other threads, while this one waits for the API server.
#[tokio::test(flavor = "multi_thread")]
async fn api_server_calls_the_webhooks() {
    let cluster = Cluster::embedded().unwrap();
    cluster.install_crd(&CronJob::definition()).unwrap();
    let permissions = TestOperator::permissions(CronJobWebhook::register);
    let identity = cluster.operator("test", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, CronJobWebhook::register);
    cluster.install_webhooks(&operator.webhooks().await).await;

    let denied = cluster.apply(&cron_job("report", "hourly")).unwrap_err();
    assert!(denied.to_string().contains("spec.schedule"), "{denied}");
    let stored = cluster.apply(&cron_job("report", "0 * * * *")).unwrap();
    let spec = &stored["spec"];
    assert_eq!(spec["successfulJobsHistoryLimit"], 3);
    assert_eq!(spec["concurrencyPolicy"], "Allow");
    cluster.assert_exact_permissions(&identity).await;
}
// ANCHOR_END: cluster
