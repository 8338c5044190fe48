//! Two replicas: one works, the other stands by and takes over.

use std::{sync::LazyLock, time::Duration};

use kubewright_testkit::{ControlPlane, eventually};
use kubewright_tests::{Deployed, Project};
use serde_json::json;

static PLANE: LazyLock<ControlPlane> =
    LazyLock::new(|| ControlPlane::builder().start().expect("a control plane"));

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn standby_takes_over_and_the_killed_leader_writes_no_more() {
    let project = Project::scaffold("duo", "Duo", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = Deployed::new(&PLANE, &project, "duo");
    let namespace = PLANE.namespace("duo").expect("a namespace");
    let kubectl = || PLANE.kubectl().namespace(&namespace);
    let holder = || {
        let lease = PLANE
            .kubectl()
            .namespace("duo-system")
            .json(["get", "lease", "duo"])
            .map_err(|error| error.to_string())?;
        match lease["spec"]["holderIdentity"].as_str() {
            Some(holder) if !holder.is_empty() => Ok(holder.to_owned()),
            _ => Err(lease.to_string()),
        }
    };
    let apply = |name: &str| {
        let object = json!({"apiVersion": "demo.dev/v1alpha1", "kind": "Duo", "metadata": {"name": name},
            "spec": {"deploymentName": name, "replicas": 1}});
        kubectl()
            .stdin(object.to_string())
            .run(["apply", "--server-side", "-f", "-"])
            .expect("accepted");
        eventually("its Deployment", Duration::from_mins(1), || {
            kubectl().json(["get", "deployment", name])
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
        PLANE.audit().ok()?.iter().last().map(|event| event.time)
    });
    let next = eventually("the second leads", Duration::from_mins(1), || match holder() {
        Ok(holder) if holder != leader => Ok(holder),
        other => Err(format!("{other:?}")),
    });
    assert_ne!(leader, next);
    apply("after");

    let audit = PLANE.audit().expect("an audit log");
    let (one, two) = (
        audit.by_user_agent("replica-one"),
        audit.by_user_agent("replica-two"),
    );
    assert!(
        !one.writes().on("apps", "deployments").is_empty(),
        "the first wrote while it led"
    );
    let late = one.filter(|event| event.received > killed);
    assert!(late.is_empty(), "the killed one sent {late:?}");
    let elected = two.writes().on("coordination.k8s.io", "leases");
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
