//! Running Jobs, whose pods are deleted and adopted.

use serde_json::{Value, json};

use crate::scenario::{Scenario, job};

fn has_condition(job: &Value, kind: &str, status: &str, reason: &str) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| {
        condition["type"] == kind && condition["status"] == status && condition["reason"] == reason
    })
}

#[tokio::test]
async fn pods_go_with_suspension_parallelism_and_deadline_and_orphans_are_adopted() {
    let scenario = Scenario::start("job").await;
    let spec = json!({"parallelism": 3, "completions": 5});
    let work = scenario.cluster.apply(&job("work", &spec)).unwrap();
    scenario.active_pods(&work, 3).await;

    let patch = |spec: &Value| {
        scenario
            .cluster
            .merge_patch(&work, &json!({ "spec": spec }))
            .unwrap();
    };
    patch(&json!({"parallelism": 1}));
    scenario.active_pods(&work, 1).await;

    // Twice: the second event of each is counted by a patch.
    for _ in 0..2 {
        patch(&json!({"suspend": true}));
        scenario.active_pods(&work, 0).await;
        let is_suspended = |job: &Value| has_condition(job, "Suspended", "True", "JobSuspended");
        let suspended = scenario.cluster.wait_until(&work, is_suspended).await;
        assert!(suspended["status"]["startTime"].is_null(), "{suspended}");
        patch(&json!({"suspend": false}));
        scenario.active_pods(&work, 1).await;
    }

    let pod = scenario.active_pods(&work, 1).await.remove(0);
    let release = json!({"metadata": {"ownerReferences": null}});
    scenario.cluster.merge_patch(&pod, &release).unwrap();
    let is_adopted = |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] == work["metadata"]["uid"];
    scenario.cluster.wait_until(&pod, is_adopted).await;

    // None of the deleted pods has failed so far; the one that the deadline ends has.
    let found = scenario.cluster.get(&work).unwrap().unwrap();
    assert!(found["status"]["failed"].is_null(), "{found}");
    patch(&json!({"activeDeadlineSeconds": 1}));
    let has_failed = |job: &Value| has_condition(job, "Failed", "True", "DeadlineExceeded");
    let failed = scenario.cluster.wait_until(&work, has_failed).await;
    assert_eq!(failed["status"]["failed"], 1, "{failed}");
    assert!(failed["status"]["succeeded"].is_null(), "{failed}");
    scenario.cluster.wait_until(&pod, Value::is_null).await;
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}

#[tokio::test]
async fn succeeded_pods_complete_the_job_and_lose_their_finalizers() {
    let scenario = Scenario::start("job").await;
    let spec = json!({"parallelism": 2, "completions": 2});
    let work = scenario.cluster.apply(&job("work", &spec)).unwrap();
    let pods = scenario.active_pods(&work, 2).await;
    for pod in &pods {
        scenario
            .cluster
            .patch_status(pod, &json!({"phase": "Succeeded"}))
            .unwrap();
    }
    let is_complete = |job: &Value| has_condition(job, "Complete", "True", "CompletionsReached");
    let complete = scenario.cluster.wait_until(&work, is_complete).await;
    assert_eq!(complete["status"]["succeeded"], 2, "{complete}");
    for pod in &pods {
        let found = scenario.cluster.get(pod).unwrap().unwrap();
        assert!(found["metadata"]["finalizers"].is_null(), "{found}");
    }
}
