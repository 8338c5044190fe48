//! Killed at any moment, the sample-controller takes up where it was.

#![expect(clippy::unwrap_used, reason = "one story; a test that cannot go on stops")]

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    process::Command,
    thread::sleep,
    time::Duration,
};

use kubewright_testkit::{Cluster, ControlPlane, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sample-controller");
const PATIENCE: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "killed";
/// A lease as short as a busy machine allows.
const ELECTION: [&str; 4] = [
    "--leader-elect",
    "--leader-elect-lease-duration=2s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=300ms",
];
/// What an operator says when it leads.
const LEADS: &str = "starting workers";

/// Fewer than on the real one: each takes as long as a lease, and everybody's `cargo test` waits for it.
#[test]
fn it_converges_after_ten_kills() {
    story(&Cluster::embedded().unwrap(), 10);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn it_converges_after_fifty_kills_on_the_real_server() {
    story(&Cluster::start_real(ControlPlane::builder()).unwrap(), 50);
}

fn story(cluster: &Cluster, kills: u64) {
    cluster.create_namespace(NAMESPACE).unwrap();
    // The administrator needs no roles.
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
        .args(ELECTION)
        .start()
        .unwrap();
    // Each kill, one Foo more, and one that is changed.
    let ask = |number: u64, replicas: u64| {
        let name = format!("foo-{number}");
        let mut foo = named("samplecontroller.k8s.io/v1alpha1", "Foo", &name);
        foo["spec"] = json!({ "deploymentName": name, "replicas": replicas });
        cluster.apply(&foo).unwrap();
    };
    let foos = named("samplecontroller.k8s.io/v1alpha1", "Foo", "");
    let deployments = named("apps/v1", "Deployment", "");
    let made = || cluster.list(&deployments).unwrap().len();
    let (mut busy, mut led) = (0, 0);
    for kill in 0..kills {
        let before = made();
        ask(kill, 1);
        ask(random(kill + 1), 2);
        // Its predecessor's lease must expire first: one in three is killed at any moment, the others while they work.
        if kill % 3 == 0 {
            sleep(Duration::from_millis(random(3000)));
        } else {
            eventually("the operator leads", PATIENCE, || {
                operator.log().matches(LEADS).count() > led
            });
            sleep(Duration::from_millis(random(600)));
        }
        operator.kill().unwrap();
        busy += u64::from(made() != before);
        led = operator.log().matches(LEADS).count();
        operator.restart().unwrap();
    }
    assert!(
        busy > kills / 5,
        "{busy} of {kills} kills hit an operator that had done something"
    );
    eventually("every Foo has its Deployment", PATIENCE, || {
        // As a cluster does, should it have lost its lease on a machine that is too busy.
        if operator.exit_status().unwrap().is_some() {
            operator.restart().unwrap();
        }
        let list = |kind: &Value| cluster.list(kind).map_err(|error| error.to_string());
        let (foos, deployments) = (list(&foos)?, list(&deployments)?);
        // Nobody makes Deployments available here.
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
