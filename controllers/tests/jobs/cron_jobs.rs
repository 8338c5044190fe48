//! CronJobs.

use std::time::Duration;

use kubewright_testkit::until;
use serde_json::{Value, json};

use crate::scenario::{Scenario, every_second, job};

fn active_count(cron_job: &Value) -> usize {
    cron_job["status"]["active"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn job_starts_finishes_and_leaves_the_list() {
    let scenario = Scenario::start("cronjob").await;
    let spec =
        json!({"concurrencyPolicy": "Forbid", "failedJobsHistoryLimit": 0, "successfulJobsHistoryLimit": 1});
    let cron_job = scenario.cluster.apply(&every_second("backup", &spec)).unwrap();
    let jobs = scenario.jobs(1).await;
    let owner = &jobs[0]["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("CronJob"), &cron_job["metadata"]["uid"])
    );
    scenario
        .cluster
        .wait_until(&cron_job, |found| active_count(found) == 1)
        .await;
    scenario.finish(&jobs[0], "Complete");
    scenario
        .cluster
        .wait_until(&cron_job, |found| {
            found["status"]["lastSuccessfulTime"].is_string()
        })
        .await;
    let suspend = json!({"spec": {"suspend": true}});
    scenario.cluster.merge_patch(&cron_job, &suspend).unwrap();
}

#[tokio::test]
async fn failed_jobs_beyond_the_limit_are_deleted() {
    let scenario = Scenario::start("cronjob").await;
    let spec = json!({"concurrencyPolicy": "Forbid", "failedJobsHistoryLimit": 0});
    let cron_job = scenario.cluster.apply(&every_second("backup", &spec)).unwrap();
    let first = scenario.jobs(1).await.remove(0);
    scenario
        .cluster
        .wait_until(&cron_job, |found| active_count(found) == 1)
        .await;
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"suspend": true}}))
        .unwrap();
    scenario.finish(&first, "Failed");
    scenario.cluster.wait_until(&first, Value::is_null).await;
    scenario
        .cluster
        .wait_until(&cron_job, |found| active_count(found) == 0)
        .await;
}

#[tokio::test]
async fn running_job_is_replaced() {
    let scenario = Scenario::start("cronjob").await;
    let spec = json!({"concurrencyPolicy": "Replace", "suspend": true});
    let cron_job = scenario.cluster.apply(&every_second("backup", &spec)).unwrap();
    let mut running = job("running", &json!({}));
    running["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": cron_job["metadata"]["uid"], "controller": true,
    }]);
    let running = scenario.cluster.apply(&running).unwrap();
    let reference = json!({
        "apiVersion": "batch/v1", "kind": "Job", "namespace": "shop", "name": "running", "uid": running["metadata"]["uid"],
    });
    scenario
        .cluster
        .patch_status(&cron_job, &json!({"active": [reference]}))
        .unwrap();
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"suspend": false}}))
        .unwrap();
    scenario.cluster.wait_until(&running, Value::is_null).await;
    let next = scenario.jobs(1).await.remove(0);
    assert_ne!(next["metadata"]["name"], "running");
    let names_next = |found: &Value| found["status"]["active"][0]["name"] == next["metadata"]["name"];
    scenario.cluster.wait_until(&cron_job, names_next).await;
}

#[tokio::test]
async fn changed_schedule_starts_no_job_for_a_time_that_has_passed() {
    let scenario = Scenario::start("cronjob").await;
    let never = json!({"schedule": "0 0 30 2 *", "suspend": true});
    let cron_job = scenario.cluster.apply(&every_second("backup", &never)).unwrap();
    let last = json!({"lastScheduleTime": "2026-01-01T00:00:00Z"});
    scenario.cluster.patch_status(&cron_job, &last).unwrap();
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"suspend": false}}))
        .unwrap();
    // The controller has seen the schedule.
    scenario.event("InvalidSchedule", 1).await;
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"schedule": "@every 8760h"}}))
        .unwrap();
    let jobs = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "shop"}});
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(scenario.cluster.list(&jobs).unwrap(), Vec::<Value>::new());
    }
    // Any other change starts it, once the controller has seen the schedule.
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"schedule": "* * * * *"}}))
        .unwrap();
    until("another change starts a Job", async || {
        let seconds = jiff::Timestamp::now().to_string();
        let change = json!({"metadata": {"labels": {"at": seconds.replace(':', "-")}}});
        scenario.cluster.merge_patch(&cron_job, &change).unwrap();
        match scenario.cluster.list(&jobs).unwrap().len() {
            0 => Err("no Job".to_owned()),
            _ => Ok(()),
        }
    })
    .await;
}

#[tokio::test]
async fn job_that_vanishes_leaves_the_list() {
    let scenario = Scenario::start("cronjob").await;
    let spec = json!({"concurrencyPolicy": "Forbid"});
    let cron_job = scenario.cluster.apply(&every_second("backup", &spec)).unwrap();
    let first = scenario.jobs(1).await.remove(0);
    scenario
        .cluster
        .wait_until(&cron_job, |found| active_count(found) == 1)
        .await;
    scenario
        .cluster
        .merge_patch(&cron_job, &json!({"spec": {"suspend": true}}))
        .unwrap();
    scenario.cluster.delete(&first).unwrap();
    scenario
        .cluster
        .wait_until(&cron_job, |found| active_count(found) == 0)
        .await;
}

#[tokio::test]
async fn controller_uses_exactly_its_permissions() {
    let scenario = Scenario::start("cronjob").await;
    let spec = json!({"concurrencyPolicy": "Forbid", "failedJobsHistoryLimit": 0});
    let cron_job = scenario.cluster.apply(&every_second("backup", &spec)).unwrap();
    let first = scenario.jobs(1).await.remove(0);
    // A Job of the CronJob that its status does not list.
    let mut unexpected = job("unexpected", &json!({}));
    unexpected["metadata"]["ownerReferences"] = first["metadata"]["ownerReferences"].clone();
    let unexpected = scenario.cluster.apply(&unexpected).unwrap();
    scenario.event("UnexpectedJob", 1).await;
    // The next time, a patch counts it.
    let touch = json!({"metadata": {"labels": {"touched": "true"}}});
    scenario.cluster.merge_patch(&cron_job, &touch).unwrap();
    scenario.event("UnexpectedJob", 2).await;
    scenario.cluster.delete(&first).unwrap();
    scenario.event("MissingJob", 1).await;
    let suspend = json!({"spec": {"suspend": true}});
    scenario.cluster.merge_patch(&cron_job, &suspend).unwrap();
    scenario.finish(&unexpected, "Failed");
    scenario.cluster.wait_until(&unexpected, Value::is_null).await;
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}
