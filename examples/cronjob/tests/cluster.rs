//! The whole operator against an in-process API server, with exactly its permissions.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use cronjob::{api::CronJob, controller::CronJobController};
use kubewright::{
    CustomKind as _,
    serde_json::{Value, json},
    testing::TestOperator,
};
use kubewright_testkit::{Cluster, Identity};

// ANCHOR: start
/// Starts an API server with a CronJob whose last run was long ago, and the operator.
async fn start(spec: Value) -> (Cluster, Identity, TestOperator) {
    let cluster = Cluster::embedded().unwrap();
    cluster.install_crd(&CronJob::definition()).unwrap();
    let mut cron_job = cron_job();
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "report", "image": "report"}]});
    cron_job["spec"] = spec;
    cron_job["spec"]["schedule"] = json!("0 0 1 1 *");
    cron_job["spec"]["jobTemplate"] = json!({"spec": {"template": {"spec": pod}}});
    cluster.apply(&cron_job).unwrap();
    // A run was missed, so that the first Job is created at once.
    let status = json!({"lastScheduleTime": "2020-01-01T00:00:00Z"});
    cluster.patch_status(&cron_job, &status).unwrap();

    let permissions = TestOperator::permissions(CronJobController::register);
    let identity = cluster.operator("cronjob", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, CronJobController::register);
    (cluster, identity, operator)
}
// ANCHOR_END: start

fn cron_job() -> Value {
    let metadata = json!({"name": "report", "namespace": "default"});
    json!({"apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob", "metadata": metadata})
}

/// Waits until the status lists one active Job, and returns that Job.
async fn active_job(cluster: &Cluster) -> Value {
    let has_active = |found: &Value| found["status"]["active"][0].is_object();
    let cron_job = cluster.wait_until(&cron_job(), has_active).await;
    let job = &cron_job["status"]["active"][0];
    let metadata = json!({"name": job["name"], "namespace": "default"});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata});
    cluster.wait_until(&job, Value::is_object).await
}

// ANCHOR: cluster
#[tokio::test]
async fn job_is_created_and_deleted_by_the_history_limit() {
    let (cluster, identity, _operator) = start(json!({"successfulJobsHistoryLimit": 0})).await;
    let job = active_job(&cluster).await;

    // No pods run here: the test writes the status that a cluster would.
    let (started, completed) = ("2026-05-01T00:00:00Z", "2026-05-01T00:01:00Z");
    let condition = |type_: &str| json!({"type": type_, "status": "True", "lastTransitionTime": completed});
    let status = json!({
        "startTime": started, "completionTime": completed, "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    cluster.patch_status(&job, &status).unwrap();
    cluster.wait_until(&job, Value::is_null).await;

    let is_idle = |found: &Value| found["status"]["active"] == json!([]);
    let cron_job = cluster.wait_until(&cron_job(), is_idle).await;
    assert_ne!(cron_job["status"]["lastScheduleTime"], "2020-01-01T00:00:00Z");
    cluster.assert_exact_permissions(&identity).await;
}
// ANCHOR_END: cluster

#[tokio::test]
async fn jobs_are_deleted_with_the_cron_job() {
    let (cluster, _identity, _operator) = start(json!({})).await;
    let job = active_job(&cluster).await;
    cluster.delete(&cron_job()).unwrap();
    cluster.wait_until(&job, Value::is_null).await;
}

#[tokio::test]
async fn suspended_cron_job_creates_its_job_when_it_is_resumed() {
    let (cluster, _identity, _operator) = start(json!({"suspend": true})).await;
    let is_suspended = |found: &Value| found["status"]["conditions"][0]["reason"] == "Suspended";
    let suspended = cluster.wait_until(&cron_job(), is_suspended).await;
    assert_eq!(suspended["status"]["active"], json!([]));
    cluster
        .merge_patch(&cron_job(), &json!({"spec": {"suspend": false}}))
        .unwrap();
    active_job(&cluster).await;
}
