//! On which nodes pods run.

use serde_json::{Value, json};

use crate::scenario::{Scenario, daemon_set, node, on_delete, rolling, target};

fn strategies() -> [Value; 3] {
    [
        on_delete(),
        rolling(&json!(0), &json!(1)),
        rolling(&json!(1), &json!(0)),
    ]
}

#[tokio::test]
async fn every_node_gets_a_pod_also_a_later_one() {
    for strategy in strategies() {
        let scenario = Scenario::start(&["a", "b"]).await;
        let agent = scenario.apply(&daemon_set(&strategy));
        scenario.pods_on(&["a", "b"]).await;
        scenario.add_node("c", &json!({}), &json!([]));
        let pods = scenario.pods_on(&["a", "b", "c"]).await;
        for pod in &pods {
            let references = pod["metadata"]["ownerReferences"].as_array().unwrap();
            assert_eq!(references.len(), 1);
            let reference = &references[0];
            assert_eq!(
                (&reference["uid"], &reference["controller"]),
                (&agent["metadata"]["uid"], &json!(true))
            );
        }
        scenario.make_ready();
        let found = scenario.counts(&agent, [3, 3, 3, 0]).await;
        assert_eq!(found["status"]["updatedNumberScheduled"], 3);
        // The status of a node is not about pods.
        let status = json!({"conditions": [{"type": "Ready", "status": "False"}]});
        scenario.cluster.patch_status(&node("a"), &status).unwrap();
        scenario.cluster.delete(&node("c")).unwrap();
        // Without a scheduler its pod never ran there.
        scenario.pods_on(&["a", "b"]).await;
        scenario.counts(&agent, [2, 2, 2, 0]).await;
    }
}

#[tokio::test]
async fn nodes_are_selected_by_labels_and_names() {
    for strategy in strategies() {
        let scenario = Scenario::start(&["node-0", "node-1"]).await;
        for name in ["node-2", "node-3"] {
            scenario.add_node(name, &json!({"zone": "test"}), &json!([]));
        }
        let mut agent = daemon_set(&strategy);
        agent["spec"]["template"]["spec"]["affinity"] = json!({"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["test"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]},
            ]},
        }});
        let agent = scenario.apply(&agent);
        scenario.pods_on(&["node-1", "node-2", "node-3"]).await;
        // Labels change.
        scenario.patch(
            &node("node-0"),
            &json!({"metadata": {"labels": {"zone": "test"}}}),
        );
        scenario.patch(&node("node-2"), &json!({"metadata": {"labels": {"zone": null}}}));
        scenario.pods_on(&["node-0", "node-1", "node-3"]).await;
        scenario.counts(&agent, [3, 3, 0, 0]).await;
    }
}

#[tokio::test]
async fn taints_keep_pods_away_and_evict_them() {
    for strategy in strategies() {
        let scenario = Scenario::start(&["plain"]).await;
        let taint = |effect: &str| json!([{"key": "key1", "value": "val1", "effect": effect}]);
        let tainted = scenario.add_node("tainted", &json!({}), &taint("NoSchedule"));
        let agent = scenario.apply(&daemon_set(&strategy));
        scenario.pods_on(&["plain"]).await;
        scenario.counts(&agent, [1, 1, 0, 0]).await;
        scenario.patch(&tainted, &json!({"spec": {"taints": []}}));
        let pods = scenario.pods_on(&["plain", "tainted"]).await;
        scenario.counts(&agent, [2, 2, 0, 0]).await;
        // A running pod stays.
        scenario.patch(&tainted, &json!({"spec": {"taints": taint("NoSchedule")}}));
        scenario.counts(&agent, [1, 1, 0, 1]).await;
        let names = |pods: &[Value]| {
            let names = pods.iter().map(|pod| pod["metadata"]["name"].clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&scenario.pods()), names(&pods));
        scenario.patch(&tainted, &json!({"spec": {"taints": taint("NoExecute")}}));
        scenario.pods_on(&["plain"]).await;
        scenario.counts(&agent, [1, 1, 0, 0]).await;
    }
}

#[tokio::test]
async fn nodes_with_problems_get_pods_that_tolerate_them() {
    let scenario = Scenario::start(&[]).await;
    let taint =
        |key: &str, effect: &str| json!([{"key": format!("node.kubernetes.io/{key}"), "effect": effect}]);
    scenario.add_node("cordoned", &json!({}), &taint("unschedulable", "NoSchedule"));
    scenario.add_node(
        "no-network",
        &json!({}),
        &taint("network-unavailable", "NoSchedule"),
    );
    scenario.add_node("not-ready", &json!({}), &taint("not-ready", "NoExecute"));
    let agent = scenario.apply(&daemon_set(&rolling(&json!(0), &json!(1))));
    scenario.pods_on(&["cordoned", "not-ready"]).await;
    let change = json!({"spec": {"template": {"spec": {"hostNetwork": true}}}});
    scenario.patch(&agent, &change);
    scenario.complete(&agent).await;
    let mut nodes: Vec<_> = scenario.pods().iter().map(|pod| target(pod).to_owned()).collect();
    nodes.sort();
    assert_eq!(nodes, ["cordoned", "no-network", "not-ready"]);
    for pod in scenario.pods() {
        let tolerations = pod["spec"]["tolerations"].as_array().unwrap().iter();
        let of_nodes = tolerations.filter(|toleration| {
            let key = toleration["key"].as_str().unwrap_or_default();
            key.starts_with("node.kubernetes.io/") && toleration["operator"] == "Exists"
        });
        assert_eq!(of_nodes.count(), 7);
    }
}
