//! Creating, replacing, scaling and adopting pods.

use serde_json::{Value, json};

use crate::scenario::{Scenario, named, owners, stateful_set};

#[tokio::test]
async fn pods_are_created_one_after_another_and_deleted_in_reverse() {
    let scenario = Scenario::start().await;
    let set = scenario.apply(&stateful_set(3));
    scenario.names(&["web-0"]).await;
    scenario.counts(&set, [1, 0, 1, 1]).await;
    let check = |pods: &[Value]| {
        let is_ready = |pod: &Value| !pod["status"]["conditions"].is_null();
        // Only the last one may be unready.
        let ready = pods.iter().take_while(|pod| is_ready(pod)).count();
        assert!(ready + 1 >= pods.len(), "{pods:#?}");
    };
    scenario.complete_and(&set, check).await;
    let pods = scenario.names(&["web-0", "web-1", "web-2"]).await;
    for (index, pod) in pods.iter().enumerate() {
        let labels = &pod["metadata"]["labels"];
        assert_eq!(
            labels["statefulset.kubernetes.io/pod-name"],
            pod["metadata"]["name"]
        );
        assert_eq!(labels["apps.kubernetes.io/pod-index"], index.to_string());
        assert_eq!(
            (&pod["spec"]["hostname"], &pod["spec"]["subdomain"]),
            (&pod["metadata"]["name"], &json!("headless"))
        );
    }
    scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
    scenario.names(&["web-0"]).await;
    scenario.counts(&set, [1, 1, 1, 1]).await;
    scenario
        .reasons(&set, &["SuccessfulCreate", "SuccessfulDelete"])
        .await;
}

#[tokio::test]
async fn parallel_sets_create_and_delete_all_at_once() {
    let scenario = Scenario::start().await;
    let mut set = stateful_set(4);
    set["spec"]["podManagementPolicy"] = json!("Parallel");
    set["spec"]["ordinals"] = json!({"start": 4});
    let set = scenario.apply(&set);
    scenario.names(&["web-4", "web-5", "web-6", "web-7"]).await;
    scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
    scenario.names(&["web-4"]).await;
    scenario.patch(&set, &json!({"spec": {"replicas": 2, "ordinals": {"start": 3}}}));
    scenario.names(&["web-3", "web-4"]).await;
}

#[tokio::test]
async fn pods_that_ended_are_replaced() {
    let scenario = Scenario::start().await;
    let set = scenario.apply(&stateful_set(2));
    scenario.complete(&set).await;
    for phase in ["Failed", "Succeeded"] {
        let pod = scenario.names(&["web-0", "web-1"]).await.remove(0);
        scenario
            .cluster
            .patch_status(&pod, &json!({"phase": phase}))
            .unwrap();
        let is_replaced =
            |pods: &[Value]| pods.len() == 2 && pods[0]["metadata"]["uid"] != pod["metadata"]["uid"];
        scenario.pods_until(is_replaced).await;
        scenario.complete(&set).await;
    }
}

#[tokio::test]
async fn orphans_with_a_name_of_the_set_are_adopted_and_others_released() {
    let scenario = Scenario::start().await;
    let set = scenario.apply(&stateful_set(2));
    scenario.complete(&set).await;
    let pods = scenario.pods();
    // Released: it has another label.
    scenario.patch(&pods[1], &json!({"metadata": {"labels": {"app": "other"}}}));
    let is_released = |found: &Value| found["metadata"]["ownerReferences"].is_null();
    scenario.cluster.wait_until(&pods[1], is_released).await;
    // Adopted, and it gets back the label that it lost.
    let change = json!({"metadata": {"labels": {"app": "web", "statefulset.kubernetes.io/pod-name": null}}});
    scenario.patch(&pods[1], &change);
    let is_adopted = |found: &Value| {
        owners(found, "StatefulSet") == [set["metadata"]["uid"].as_str().unwrap()]
            && found["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-1"
    };
    scenario.cluster.wait_until(&pods[1], is_adopted).await;
    // Not adopted: no set has such a pod.
    let mut stranger = named("v1", "Pod", "web-01");
    stranger["metadata"]["labels"] = json!({"app": "web"});
    stranger["spec"] = json!({"containers": [{"name": "web", "image": "first"}]});
    let stranger = scenario.apply(&stranger);
    scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
    scenario.counts(&set, [1, 1, 1, 1]).await;
    assert!(scenario.get(&stranger)["metadata"]["ownerReferences"].is_null());
}

#[tokio::test]
async fn pods_count_after_min_ready_seconds() {
    let scenario = Scenario::start().await;
    let mut set = stateful_set(2);
    set["spec"]["minReadySeconds"] = json!(2);
    let set = scenario.apply(&set);
    let pod = scenario.names(&["web-0"]).await.remove(0);
    scenario.set_ready(&pod);
    let found = scenario.counts(&set, [1, 1, 1, 1]).await;
    assert_eq!(found["status"]["availableReplicas"], 0);
    // No change enqueues the set: the second pod follows from the time alone.
    scenario.names(&["web-0", "web-1"]).await;
}
