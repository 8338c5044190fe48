//! Killed at any moment, an operator takes up where it was: it converges, and makes nothing twice.

use std::{thread::sleep, time::Duration};

use kubewright_testkit::{ControlPlane, eventually};
use serde_json::json;

const KILLS: u64 = 50;
const PATIENCE: Duration = Duration::from_mins(1);

/// The children have names that the API server gives: what is created twice is there twice.
#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn an_operator_that_is_killed_fifty_times_has_no_child_too_many() {
    let plane = ControlPlane::builder().start().expect("a control plane");
    let namespace = plane.namespace("brood").expect("a namespace");
    let kubectl = || plane.kubectl().namespace(&namespace);
    let ask = |children: u64| {
        let parent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hen"},
            "data": {"children": children.to_string()}});
        kubectl()
            .stdin(parent.to_string())
            .run(["apply", "--server-side", "--force-conflicts", "-f", "-"])
            .expect("accepted");
    };
    let alive = || {
        let secrets = kubectl().json(["get", "secrets"]).expect("a list");
        let items = secrets["items"].as_array().expect("items");
        items
            .iter()
            .filter(|secret| secret["metadata"]["deletionTimestamp"].is_null())
            .count() as u64
    };
    let mut operator = plane
        .launch(plane.admin(), env!("CARGO_BIN_EXE_brood"))
        .args([
            "--watch-namespace",
            &namespace,
            "--health-bind-address",
            "0",
            "--metrics-bind-address",
            "0",
        ])
        .start()
        .expect("started");
    let mut busy = 0;
    for _ in 0..KILLS {
        let before = alive();
        ask(rand::random_range(1..40));
        sleep(Duration::from_millis(rand::random_range(0..600)));
        operator.kill().expect("killed");
        busy += u64::from(alive() != before);
        operator.restart().expect("started again");
    }
    assert!(
        busy > KILLS / 5,
        "{busy} of {KILLS} kills hit an operator that had done something"
    );
    let wanted = 25;
    ask(wanted);
    eventually("as many children as asked for", PATIENCE, || match alive() {
        now if now == wanted => Ok(()),
        now => Err(format!("{now} of {wanted}")),
    });
    // Settled: nothing that was on its way when it was killed comes afterwards.
    for _ in 0..20 {
        assert_eq!(alive(), wanted);
        sleep(Duration::from_millis(250));
    }
}
