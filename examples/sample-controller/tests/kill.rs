//! The sample-controller converges after being killed at any moment.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    process::Command,
    thread::sleep,
    time::Duration,
};

use kubewright_testkit::{Cluster, ControlPlane, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sample-controller");
const TIMEOUT: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "killed";
/// Leader election with the shortest lease that works on a busy machine.
const LEADER_ELECTION_ARGS: [&str; 4] = [
    "--leader-elect",
    "--leader-elect-lease-duration=2s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=300ms",
];
/// Log text of an operator that became leader.
const LEADER_LOG: &str = "starting workers";

/// Fewer kills than on the real server: each takes as long as a lease, in every run of `cargo test`.
#[test]
fn converges_after_ten_kills() {
    run_kills(&Cluster::embedded().unwrap(), 10);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn converges_after_fifty_kills_on_the_real_server() {
    run_kills(&Cluster::start_real(ControlPlane::builder()).unwrap(), 50);
}

fn run_kills(cluster: &Cluster, kills: u64) {
    cluster.create_namespace(NAMESPACE).unwrap();
    // The operator runs as administrator and needs no roles.
    let output = Command::new(PROGRAM).arg("manifests").output().unwrap();
    let manifests: Value = serde_json::from_slice(&output.stdout).unwrap();
    cluster.install_crd(&manifests["kinds"][0]["crd"]).unwrap();
    let mut operator = cluster
        .launch(cluster.admin(), PROGRAM)
        .args([
            "--watch-namespace",
            NAMESPACE,
            "--health-bind-address",
            "0",
            "--metrics-bind-address",
            "0",
        ])
        .args(LEADER_ELECTION_ARGS)
        .start()
        .unwrap();
    // Each round creates a Foo and changes one.
    let apply_foo = |number: u64, replicas: u64| {
        let name = format!("foo-{number}");
        let mut foo = named("samplecontroller.k8s.io/v1alpha1", "Foo", &name);
        foo["spec"] = json!({ "deploymentName": name, "replicas": replicas });
        cluster.apply(&foo).unwrap();
    };
    let foos = named("samplecontroller.k8s.io/v1alpha1", "Foo", "");
    let deployments = named("apps/v1", "Deployment", "");
    let count_deployments = || cluster.list(&deployments).unwrap().len();
    let (mut busy, mut elections) = (0, 0);
    for kill in 0..kills {
        let before = count_deployments();
        apply_foo(kill, 1);
        apply_foo(random(kill + 1), 2);
        // The previous lease must expire first: one of three operators is killed at any moment, the others as leaders.
        if kill % 3 == 0 {
            sleep(Duration::from_millis(random(3000)));
        } else {
            eventually("the operator leads", TIMEOUT, || {
                operator.log().matches(LEADER_LOG).count() > elections
            });
            sleep(Duration::from_millis(random(600)));
        }
        operator.kill().unwrap();
        busy += u64::from(count_deployments() != before);
        elections = operator.log().matches(LEADER_LOG).count();
        operator.restart().unwrap();
    }
    assert!(
        busy > kills / 5,
        "only {busy} of {kills} kills hit an operator that had created a Deployment"
    );
    eventually("every Foo has its Deployment", TIMEOUT, || {
        // Restart it as a cluster would: on a busy machine it may lose its lease and exit.
        if operator.exit_status().unwrap().is_some() {
            operator.restart().unwrap();
        }
        let list = |kind: &Value| cluster.list(kind).map_err(|error| error.to_string());
        let (foos, deployments) = (list(&foos)?, list(&deployments)?);
        // No controller updates the status of Deployments here.
        if let Some(foo) = foos
            .iter()
            .find(|foo| foo["status"]["availableReplicas"] != json!(0))
        {
            return Err(format!("the status of {foo}"));
        }
        let by_name = |items: &[Value], part: &str| -> Vec<(String, String, String)> {
            let mut items: Vec<_> = items
                .iter()
                .map(|item| {
                    let owner = match part {
                        "owner" => item["metadata"]["ownerReferences"][0]["uid"].to_string(),
                        _ => item["metadata"]["uid"].to_string(),
                    };
                    (
                        item["metadata"]["name"].to_string(),
                        item["spec"]["replicas"].to_string(),
                        owner,
                    )
                })
                .collect();
            items.sort();
            items
        };
        let (wanted, found) = (by_name(&foos, "self"), by_name(&deployments, "owner"));
        if wanted == found {
            Ok(())
        } else {
            Err(format!("{wanted:?} and {found:?}"))
        }
    });
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": NAMESPACE, "name": name } })
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}
