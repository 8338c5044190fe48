//! Claims, and who owns them.

use serde_json::{Value, json};

use crate::scenario::{Scenario, name, owners, stateful_set};

#[tokio::test]
async fn claims_are_owned_by_the_set_or_by_pods_that_are_scaled_down() {
    for (when_deleted, when_scaled, of_set, of_pod) in [
        ("Retain", "Retain", false, false),
        ("Retain", "Delete", false, true),
        ("Delete", "Retain", true, false),
        ("Delete", "Delete", true, true),
    ] {
        let scenario = Scenario::start().await;
        let mut wanted = stateful_set(2);
        wanted["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({"whenDeleted": when_deleted, "whenScaled": when_scaled});
        let set = scenario.apply(&wanted);
        let set_uid = set["metadata"]["uid"].as_str().unwrap().to_owned();
        scenario.complete(&set).await;
        let claims = scenario.list("v1", "PersistentVolumeClaim");
        assert_eq!(
            claims.iter().map(name).collect::<Vec<_>>(),
            ["data-web-0", "data-web-1"]
        );
        let case = format!("{when_deleted} {when_scaled}");
        for claim in &claims {
            assert_eq!(claim["metadata"]["labels"]["app"], "web");
            let expected = if of_set { vec![&*set_uid] } else { vec![] };
            assert_eq!(owners(claim, "StatefulSet"), expected, "{case}");
            assert!(owners(claim, "Pod").is_empty(), "{case}");
        }
        // Without a finalizer the pod, and with it its claim, would be gone at once.
        let pod = scenario.pods().remove(1);
        scenario.patch(&pod, &json!({"metadata": {"finalizers": ["example.com/hold"]}}));
        scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
        let is_deleting = |found: &Value| !found["metadata"]["deletionTimestamp"].is_null();
        scenario.cluster.wait_until(&pod, is_deleting).await;
        let claims = scenario.list("v1", "PersistentVolumeClaim");
        assert!(owners(&claims[0], "Pod").is_empty(), "{case}");
        let (expected_set, expected_pod) = (of_set && !of_pod, of_pod);
        assert_eq!(
            !owners(&claims[1], "StatefulSet").is_empty(),
            expected_set,
            "{case}"
        );
        assert_eq!(!owners(&claims[1], "Pod").is_empty(), expected_pod, "{case}");
        scenario.patch(&pod, &json!({"metadata": {"finalizers": null}}));
        scenario.names(&["web-0"]).await;
    }
}

#[tokio::test]
async fn policy_of_a_running_set_can_change() {
    let scenario = Scenario::start().await;
    let set = scenario.apply(&stateful_set(1));
    scenario.complete(&set).await;
    let claim = scenario.list("v1", "PersistentVolumeClaim").remove(0);
    for (policy, expected) in [("Delete", 1), ("Retain", 0)] {
        let change = json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": policy}}});
        scenario.patch(&set, &change);
        let is_owned = |found: &Value| owners(found, "StatefulSet").len() == expected;
        scenario.cluster.wait_until(&claim, is_owned).await;
    }
    scenario
        .reasons(&set, &["SuccessfulCreate", "SuccessfulUpdate"])
        .await;
}
