use proptest::prelude::*;
use serde_json::json;

use super::{
    super::test_objects::{ago, indexed, job, pod_of, rules},
    *,
};

fn pod(uid: &str, node: &str, phase: &str, ready_since: Option<i64>, restarts: i32, created: i64) -> JobPod {
    let condition = json!({
        "type": "Ready", "status": if ready_since.is_some() { "True" } else { "False" },
        "lastTransitionTime": ready_since.map(ago),
    });
    pod_of(
        uid,
        json!({
            "metadata": {"creationTimestamp": ago(created)}, "spec": {"nodeName": node},
            "status": {"phase": phase, "conditions": [condition], "containerStatuses": [{"restartCount": restarts}]},
        }),
    )
}

fn removed(spec: &serde_json::Value, pods: &[JobPod], surplus: usize) -> Vec<String> {
    let job = job(spec);
    let active: Vec<_> = pods.iter().collect();
    let removed = pods_to_remove(&rules(&job), &active, surplus);
    removed.into_iter().map(|pod| pod.uid.to_string()).collect()
}

#[test]
fn pods_in_early_stages_go_first() {
    let pods = [
        pod("old", "node", "Running", Some(100), 0, 200),
        pod("restarted", "node", "Running", Some(100), 3, 200),
        pod("young", "node", "Running", Some(100), 0, 150),
        pod("ready late", "node", "Running", Some(50), 0, 200),
        pod("unready", "node", "Running", None, 0, 200),
        pod("pending", "node", "Pending", None, 0, 200),
        pod("unscheduled", "", "Pending", None, 0, 200),
    ];
    let expected = [
        "unscheduled",
        "pending",
        "unready",
        "ready late",
        "restarted",
        "young",
        "old",
    ];
    for surplus in 0..=pods.len() {
        assert_eq!(removed(&json!({}), &pods, surplus), expected[..surplus]);
    }
    assert_eq!(removed(&json!({}), &pods, 100), expected);
}

#[test]
fn each_index_keeps_one_pod() {
    let spec = json!({"completionMode": "Indexed", "completions": 3});
    let pods = [
        indexed("0", 0, "Running", 0),
        indexed("0 pending", 0, "Pending", 0),
        indexed("1", 1, "Pending", 0),
        indexed("beyond", 3, "Running", 0),
        pod("none", "node", "Running", None, 0, 10),
    ];
    let mut gone = removed(&spec, &pods, 0);
    gone.sort();
    assert_eq!(gone, ["0 pending", "beyond", "none"]);
    assert_eq!(removed(&spec, &pods, 4).last().unwrap(), "1");
    assert_eq!(removed(&spec, &pods, 9).len(), 5);
}

proptest! {
    #[test]
    fn at_least_the_surplus_goes_and_indexes_are_unique(
        indexes in prop::collection::vec((prop::option::of(0_u32..6), any::<bool>()), 0..20), surplus in 0_usize..25,
    ) {
        let pods: Vec<_> = indexes.iter().enumerate().map(|(position, (index, is_running))| {
            let mut pod = indexed(&position.to_string(), 0, if *is_running { "Running" } else { "Pending" }, 0);
            pod.index = *index;
            pod
        }).collect();
        let gone = removed(&json!({"completionMode": "Indexed", "completions": 4}), &pods, surplus);
        prop_assert!(gone.len() >= surplus.min(pods.len()));
        let mut kept: Vec<_> = pods.iter().filter(|pod| !gone.contains(&pod.uid.to_string())).map(|pod| pod.index).collect();
        let count = kept.len();
        kept.sort_unstable();
        kept.dedup();
        prop_assert_eq!(kept.len(), count);
        prop_assert!(kept.iter().all(|index| index.is_some_and(|index| index < 4)));
    }
}
