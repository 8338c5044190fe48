//! Finished Jobs with a time to live.

use serde_json::json;

use crate::scenario::{Scenario, job};

#[tokio::test]
async fn finished_job_is_deleted_after_its_time_and_others_stay() {
    let scenario = Scenario::start("ttl-after-finished").await;
    let short = scenario
        .cluster
        .apply(&job("short", &json!({"ttlSecondsAfterFinished": 1})))
        .unwrap();
    let long = scenario
        .cluster
        .apply(&job("long", &json!({"ttlSecondsAfterFinished": 1000})))
        .unwrap();
    let running = scenario
        .cluster
        .apply(&job("running", &json!({"ttlSecondsAfterFinished": 0})))
        .unwrap();
    for job in [&short, &long] {
        scenario.finish(job, "Complete");
    }
    scenario
        .cluster
        .wait_until(&short, serde_json::Value::is_null)
        .await;
    for job in [&long, &running] {
        assert!(scenario.cluster.get(job).unwrap().is_some());
    }
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}
