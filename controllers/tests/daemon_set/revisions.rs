//! The history of the template.

use serde_json::{Value, json};

use crate::scenario::{HASH, Scenario, daemon_set, hash_of, on_delete, rolling, with_image};

fn revision(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, "namespace": "default"}})
}

#[tokio::test]
async fn rollback_takes_the_earlier_revision_and_the_oldest_are_deleted() {
    let scenario = Scenario::start(&["a"]).await;
    let mut agent = daemon_set(&rolling(&json!(0), &json!(1)));
    agent["spec"]["revisionHistoryLimit"] = json!(2);
    let agent = scenario.apply(&agent);
    scenario.complete(&agent).await;
    let first = scenario.revisions_until(&[1]).await[&1].clone();
    scenario.patch(&agent, &with_image("agent:2"));
    scenario.complete(&agent).await;
    let second = scenario.revisions_until(&[1, 2]).await[&2].clone();
    scenario.patch(&agent, &with_image("agent:1"));
    scenario.complete(&agent).await;
    let revisions = scenario.revisions_until(&[2, 3]).await;
    assert_eq!((&revisions[&2], &revisions[&3]), (&second, &first));
    assert_eq!(hash_of(&scenario.pods()[0]), first);
    for image in ["agent:3", "agent:4"] {
        scenario.patch(&agent, &with_image(image));
        scenario.complete(&agent).await;
    }
    scenario.revisions_until(&[3, 4, 5]).await;
}

#[tokio::test]
async fn name_of_another_revision_is_not_taken() {
    let mut scenario = Scenario::without_controller(&["a"]);
    // The name follows from the template: learn it from a first run.
    let probe = Scenario::start(&["a"]).await;
    probe.apply(&daemon_set(&on_delete()));
    let hash = probe.revisions_until(&[1]).await[&1].clone();
    let mut taken = revision(&format!("agent-{hash}"));
    taken["metadata"]["labels"] = json!({"team": "other"});
    taken["data"] = json!({"spec": {}});
    taken["revision"] = json!(1);
    scenario.apply(&taken);
    let agent = scenario.apply(&daemon_set(&on_delete()));
    scenario.start_controller().await;
    let pods = scenario.pods_on(&["a"]).await;
    let found = scenario.counts(&agent, [1, 1, 0, 0]).await;
    assert_eq!(found["status"]["collisionCount"], 1);
    assert!(hash_of(&pods[0]) != hash && !hash_of(&pods[0]).is_empty());
    let kept = scenario.cluster.get(&taken).unwrap().unwrap();
    assert!(kept["metadata"]["ownerReferences"].is_null());
}

#[tokio::test]
async fn equal_revisions_are_merged_and_pods_get_the_label() {
    let scenario = Scenario::start(&["a", "b"]).await;
    let agent = scenario.apply(&daemon_set(&rolling(&json!(0), &json!(1))));
    scenario.complete(&agent).await;
    let hash = scenario.revisions_until(&[1]).await[&1].clone();
    let first = scenario.cluster.get(&revision(&format!("agent-{hash}")));
    let mut copy = first.unwrap().unwrap();
    copy["metadata"] = json!({
        "name": "agent-copy", "namespace": "default", "labels": {"app": "agent", HASH: "copy"},
        "ownerReferences": copy["metadata"]["ownerReferences"],
    });
    copy["revision"] = json!(2);
    let before: Vec<_> = scenario.pods();
    scenario.apply(&copy);
    scenario.revisions_until(&[2]).await;
    let pods = scenario
        .pods_until(|pods| pods.len() == 2 && pods.iter().all(|pod| hash_of(pod) == "copy"))
        .await;
    let names = |pods: &[Value]| {
        pods.iter()
            .map(|pod| pod["metadata"]["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&pods), names(&before), "no pod is replaced");
}

#[tokio::test]
async fn controller_that_starts_late_keeps_pods_and_revision() {
    let mut scenario = Scenario::start(&["a", "b"]).await;
    let agent = scenario.apply(&daemon_set(&rolling(&json!(0), &json!(1))));
    scenario.complete(&agent).await;
    let (revisions, pods) = (scenario.revisions(), scenario.pods());
    scenario.start_controller().await;
    scenario.add_node("c", &json!({}), &json!([]));
    scenario.pods_on(&["a", "b", "c"]).await;
    assert_eq!(scenario.revisions(), revisions);
    let now = scenario.pods();
    assert!(pods.iter().all(|pod| {
        let uid = &pod["metadata"]["uid"];
        now.iter().any(|other| &other["metadata"]["uid"] == uid)
    }));
}
