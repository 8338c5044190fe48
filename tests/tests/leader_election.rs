//! Leader election with two replicas: one leads, the standby takes over when the leader is killed.

use std::time::Duration;

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{DeployedProject, Project, new_object, on_both_servers};

on_both_servers!(standby_takes_over_and_the_killed_leader_stops_writing);

fn standby_takes_over_and_the_killed_leader_stops_writing(cluster: &Cluster) {
    let project = Project::scaffold("duo", "Duo", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = DeployedProject::new(cluster, &project, "duo");
    cluster.create_namespace("duo").expect("a namespace");
    let holder = || {
        let lease = new_object("coordination.k8s.io/v1", "Lease", "duo-system", "duo");
        let lease = cluster
            .get(&lease)
            .map_err(|error| error.to_string())?
            .unwrap_or_default();
        match lease["spec"]["holderIdentity"].as_str() {
            Some(holder) if !holder.is_empty() => Ok(holder.to_owned()),
            _ => Err(lease.to_string()),
        }
    };
    let apply = |name: &str| {
        let mut object = new_object("demo.dev/v1alpha1", "Duo", "duo", name);
        object["spec"] = serde_json::json!({ "deploymentName": name, "replicas": 1 });
        cluster.apply(&object).expect("the object is accepted");
        let deployment = new_object("apps/v1", "Deployment", "duo", name);
        eventually("the object's Deployment exists", Duration::from_mins(1), || {
            cluster.get(&deployment).expect("the request succeeds")
        });
    };

    let mut first = deployed.start("replica-one", &[]);
    let leader = eventually("the first replica leads", Duration::from_secs(30), holder);
    let second = deployed.start("replica-two", &[]);
    second.wait_for_log("standing by");
    apply("before");

    // Kill the leader while it has work to do, so that it would write if it could.
    first.process.kill().expect("the leader is killed");
    let next = eventually(
        "the second replica leads",
        Duration::from_mins(1),
        || match holder() {
            Ok(holder) if holder != leader => Ok(holder),
            other => Err(format!("{other:?}")),
        },
    );
    assert_ne!(leader, next);
    apply("after");

    let audit = cluster.audit().expect("an audit log");
    let (one, two) = (
        audit.by_user_agent("replica-one"),
        audit.by_user_agent("replica-two"),
    );
    assert!(
        !one.writes().on_resource("apps", "deployments").is_empty(),
        "the first replica wrote nothing while it led"
    );
    let elected = two.writes().on_resource("coordination.k8s.io", "leases");
    let elected = elected
        .iter()
        .find(|event| event.code == 200)
        .expect("the second replica acquired the lease")
        .time;
    // What the killed replica had sent may be received after its death, but not after the next replica's election.
    let late = one.filter(|event| event.received > elected);
    assert!(late.is_empty(), "the killed replica sent {late:?}");
    let early = two
        .writes()
        .filter(|event| event.resource != "leases" && event.time < elected);
    assert!(early.is_empty(), "the standby wrote before it led: {early:?}");
    audit.assert_nothing_forbidden(deployed.user());
}
