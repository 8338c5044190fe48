//! The controller's permissions: none is missing, none unused.

use serde_json::{Value, json};

use crate::scenario::{Scenario, daemon_set, pod, rolling, with_image};

#[tokio::test]
async fn controller_uses_exactly_its_permissions() {
    // Of so many pods, the events of the last ones are combined: a patch.
    let nodes: Vec<_> = (0..15).map(|number| format!("node-{number:02}")).collect();
    let nodes: Vec<_> = nodes.iter().map(String::as_str).collect();
    let mut scenario = Scenario::without_controller(&nodes);
    // An orphan of each kind, without a grace period, since no kubelet ends it, and a revision with the name that follows from the template.
    let mut orphan = pod("orphan");
    orphan["metadata"]["labels"] = json!({"app": "agent"});
    orphan["spec"] = json!({"nodeName": "node-00", "terminationGracePeriodSeconds": 0, "containers": [{"name": "agent", "image": "agent:0"}]});
    scenario.apply(&orphan);
    let probe = Scenario::start(&[]).await;
    probe.apply(&daemon_set(&rolling(&json!(0), &json!(5))));
    let hash = probe.revisions_until(&[1]).await[&1].clone();
    let revision = |name: &str, number: i64| {
        json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": "agent"}},
            "revision": number, "data": {"spec": {}},
        })
    };
    scenario.apply(&revision("orphan", 7));
    let mut taken = revision(&format!("agent-{hash}"), 1);
    taken["metadata"]["labels"] = json!({});
    scenario.apply(&taken);
    let mut agent = daemon_set(&rolling(&json!(0), &json!(5)));
    agent["spec"]["revisionHistoryLimit"] = json!(0);
    let agent = scenario.apply(&agent);
    scenario.start_controller().await;
    scenario.complete(&agent).await;
    scenario.patch(&agent, &with_image("agent:2"));
    scenario.complete(&agent).await;
    let is_gone = Value::is_null;
    scenario.cluster.wait_until(&revision("orphan", 7), is_gone).await;
    scenario
        .cluster
        .assert_exact_permissions(&scenario.identity)
        .await;
}
