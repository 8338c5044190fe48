//! Two replicas: one works, the other stands by and takes over.

use std::time::Duration;

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{Deployed, Project, named, on_both_servers};

on_both_servers!(standby_takes_over_and_the_killed_leader_writes_no_more);

fn standby_takes_over_and_the_killed_leader_writes_no_more(cluster: &Cluster) {
    let project = Project::scaffold("duo", "Duo", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = Deployed::new(cluster, &project, "duo");
    cluster.create_namespace("duo").expect("a namespace");
    let holder = || {
        let lease = named("coordination.k8s.io/v1", "Lease", "duo-system", "duo");
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
        let mut object = named("demo.dev/v1alpha1", "Duo", "duo", name);
        object["spec"] = serde_json::json!({ "deploymentName": name, "replicas": 1 });
        cluster.apply(&object).expect("accepted");
        let deployment = named("apps/v1", "Deployment", "duo", name);
        eventually("its Deployment", Duration::from_mins(1), || {
            cluster.get(&deployment).expect("asked")
        });
    };

    let mut first = deployed.start("replica-one", &[]);
    let leader = eventually("the first leads", Duration::from_secs(30), holder);
    let second = deployed.start("replica-two", &[]);
    second.wait_for_log("standing by");
    apply("before");

    // Killed while it has work to do, so that it would write if it could.
    first.process.kill().expect("killed");
    let killed = eventually("the time of the API server", Duration::from_secs(5), || {
        cluster.audit().ok()?.iter().last().map(|event| event.time)
    });
    let next = eventually("the second leads", Duration::from_mins(1), || match holder() {
        Ok(holder) if holder != leader => Ok(holder),
        other => Err(format!("{other:?}")),
    });
    assert_ne!(leader, next);
    apply("after");

    let audit = cluster.audit().expect("an audit log");
    let (one, two) = (
        audit.by_user_agent("replica-one"),
        audit.by_user_agent("replica-two"),
    );
    assert!(
        !one.writes().on_resource("apps", "deployments").is_empty(),
        "the first wrote while it led"
    );
    let late = one.filter(|event| event.received > killed);
    assert!(late.is_empty(), "the killed one sent {late:?}");
    let elected = two.writes().on_resource("coordination.k8s.io", "leases");
    let elected = elected
        .iter()
        .find(|event| event.code == 200)
        .expect("the second took the lease")
        .time;
    let early = two
        .writes()
        .filter(|event| event.resource != "leases" && event.time < elected);
    assert!(early.is_empty(), "the standby wrote before it led: {early:?}");
    audit.assert_nothing_forbidden(deployed.user());
}
