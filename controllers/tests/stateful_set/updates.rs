//! Updates, and their history.

use serde_json::{Value, json};

use crate::scenario::{REVISION, Scenario, images, name, stateful_set, with_image};

#[tokio::test]
async fn rolling_update_replaces_pods_from_the_last_to_the_first() {
    let scenario = Scenario::start().await;
    let set = scenario.apply(&stateful_set(3));
    let before = scenario.complete(&set).await;
    scenario.patch(&set, &with_image("second"));
    let check = |pods: &[Value]| {
        // One pod at most is missing or not ready, and the new ones are behind the old ones.
        let is_ready = |pod: &&Value| !pod["status"]["conditions"].is_null();
        assert!(pods.iter().filter(is_ready).count() >= 2, "{pods:#?}");
        let is_old: Vec<_> = images(pods).into_iter().map(|image| image == "first").collect();
        assert!(is_old.is_sorted_by(|one, two| one >= two), "{is_old:?}");
    };
    let after = scenario.complete_and(&set, check).await;
    assert_eq!(images(&scenario.pods()), ["second"; 3]);
    let status = &after["status"];
    assert_ne!(status["updateRevision"], before["status"]["updateRevision"]);
    for pod in scenario.pods() {
        assert_eq!(pod["metadata"]["labels"][REVISION], status["updateRevision"]);
    }
    let is_complete = |found: &Value| found["status"]["currentRevision"] == status["updateRevision"];
    scenario.cluster.wait_until(&set, is_complete).await;
}

#[tokio::test]
async fn partition_keeps_the_first_replicas() {
    let scenario = Scenario::start().await;
    let mut wanted = stateful_set(3);
    wanted["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    let set = scenario.apply(&wanted);
    scenario.complete(&set).await;
    scenario.patch(&set, &with_image("second"));
    scenario
        .pods_until(|pods| images(pods) == ["first", "first", "second"])
        .await;
    scenario.make_ready();
    let found = scenario.counts(&set, [3, 3, 2, 1]).await;
    assert_ne!(
        found["status"]["currentRevision"],
        found["status"]["updateRevision"]
    );
    // A pod of the old revision is created anew with the old template.
    let first = scenario.pods().remove(0);
    scenario.cluster.delete(&first).unwrap();
    let is_replaced =
        |pods: &[Value]| pods.len() == 3 && pods[0]["metadata"]["uid"] != first["metadata"]["uid"];
    let pods = scenario.pods_until(is_replaced).await;
    assert_eq!(images(&pods), ["first", "first", "second"]);
    scenario.patch(
        &set,
        &json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}),
    );
    scenario.complete(&set).await;
    assert_eq!(images(&scenario.pods()), ["second"; 3]);
}

#[tokio::test]
async fn on_delete_waits_for_users() {
    let scenario = Scenario::start().await;
    let mut wanted = stateful_set(2);
    wanted["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    let set = scenario.apply(&wanted);
    scenario.complete(&set).await;
    scenario.patch(&set, &with_image("second"));
    scenario.counts(&set, [2, 2, 2, 0]).await;
    assert_eq!(images(&scenario.pods()), ["first"; 2]);
    let last = scenario.pods().remove(1);
    scenario.cluster.delete(&last).unwrap();
    scenario
        .pods_until(|pods| images(pods) == ["first", "second"])
        .await;
}

#[tokio::test]
async fn history_is_limited_and_a_rollback_takes_the_former_revision() {
    let scenario = Scenario::start().await;
    let mut wanted = stateful_set(1);
    wanted["spec"]["revisionHistoryLimit"] = json!(1);
    let set = scenario.apply(&wanted);
    let first = scenario.complete(&set).await["status"]["updateRevision"].clone();
    for image in ["second", "third", "second"] {
        scenario.patch(&set, &with_image(image));
        scenario.complete(&set).await;
    }
    let is_truncated = |revisions: &[Value]| revisions.len() == 2;
    let revisions = loop {
        let revisions = scenario.list("apps/v1", "ControllerRevision");
        if is_truncated(&revisions) {
            break revisions;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert!(revisions.iter().all(|revision| json!(name(revision)) != first));
    let numbers: Vec<_> = revisions
        .iter()
        .map(|revision| revision["revision"].as_i64().unwrap())
        .collect();
    assert!(numbers == [3, 4] || numbers == [4, 3], "{numbers:?}");
}
