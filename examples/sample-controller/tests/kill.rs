//! Killed at any moment, the sample-controller takes up where it was.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    process::Command,
    thread::sleep,
    time::Duration,
};

use kubewright_testkit::{ControlPlane, eventually};
use serde_json::json;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sample-controller");
const KILLS: u64 = 50;
const PATIENCE: Duration = Duration::from_mins(1);
/// A lease as short as a busy machine allows.
const ELECTION: [&str; 4] = [
    "--leader-elect",
    "--leader-elect-lease-duration=2s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=300ms",
];
/// What an operator says when it leads.
const LEADS: &str = "starting workers";

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn it_converges_after_fifty_kills() {
    let plane = ControlPlane::builder().start().unwrap();
    let namespace = plane.namespace("killed").unwrap();
    let kubectl = || plane.kubectl().namespace(&namespace);
    let output = Command::new(PROGRAM)
        .args(["manifests", "--yaml"])
        .output()
        .unwrap();
    let manifests = String::from_utf8(output.stdout).unwrap();
    kubectl()
        .stdin(manifests)
        .run(["apply", "--server-side", "-f", "-"])
        .unwrap();
    plane.wait_until_ownable("samplecontroller.k8s.io/v1alpha1", "Foo");
    let mut operator = plane
        .launch(plane.admin(), PROGRAM)
        .args([
            "--watch-namespace",
            &namespace,
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
        let foo = json!({"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": name},
            "spec": {"deploymentName": name, "replicas": replicas}});
        let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        kubectl().stdin(foo.to_string()).run(apply).unwrap();
    };
    let made = || {
        let deployments = kubectl().json(["get", "deployments"]).unwrap();
        deployments["items"].as_array().unwrap().len()
    };
    let (mut busy, mut led) = (0, 0);
    for kill in 0..KILLS {
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
        busy > KILLS / 5,
        "{busy} of {KILLS} kills hit an operator that had done something"
    );
    eventually("every Foo has its Deployment", PATIENCE, || {
        // As a cluster does, should it have lost its lease on a machine that is too busy.
        if operator.exit_status().unwrap().is_some() {
            operator.restart().unwrap();
        }
        let list = |kind: &str| kubectl().json(["get", kind]).map_err(|error| error.to_string());
        let (foos, deployments) = (list("foos")?, list("deployments")?);
        // Nobody makes Deployments available here.
        let items = foos["items"].as_array().unwrap();
        if let Some(foo) = items
            .iter()
            .find(|foo| foo["status"]["availableReplicas"] != json!(0))
        {
            return Err(format!("the status of {foo}"));
        }
        let by_name = |list: &serde_json::Value, part: &str| -> Vec<(String, String, String)> {
            let items = list["items"].as_array().unwrap().iter();
            let mut items: Vec<_> = items
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

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}
