//! Killed at any moment, an operator takes up where it was: it converges, and makes nothing twice.

use std::{thread::sleep, time::Duration};

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{named, on_both_servers};
use serde_json::json;

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

on_both_servers!(an_operator_that_is_killed_fifty_times_has_no_child_too_many);

/// The children have names that the API server gives: what is created twice is there twice.
fn an_operator_that_is_killed_fifty_times_has_no_child_too_many(cluster: &Cluster) {
    let namespace = "brood";
    cluster.create_namespace(namespace).expect("a namespace");
    let ask = |children: u64| {
        let mut parent = named("v1", "ConfigMap", namespace, "hen");
        parent["data"] = json!({ "children": children.to_string() });
        cluster.apply(&parent).expect("accepted");
    };
    let alive = || {
        let secrets = cluster
            .list(&named("v1", "Secret", namespace, ""))
            .expect("a list");
        secrets
            .iter()
            .filter(|secret| secret["metadata"]["deletionTimestamp"].is_null())
            .count() as u64
    };
    let mut operator = cluster
        .launch(cluster.admin(), env!("CARGO_BIN_EXE_brood"))
        .args([
            "--watch-namespace",
            namespace,
            "--health-bind-address",
            "0",
            "--metrics-bind-address",
            "0",
        ])
        .args(ELECTION)
        .start()
        .expect("started");
    let (mut busy, mut led) = (0, 0);
    for kill in 0..KILLS {
        let before = alive();
        ask(rand::random_range(1..40));
        // Its predecessor's lease must expire first: one in three is killed at any moment, the others while they work.
        if kill % 3 == 0 {
            sleep(Duration::from_millis(rand::random_range(0..3000)));
        } else {
            eventually("the operator leads", PATIENCE, || {
                operator.log().matches(LEADS).count() > led
            });
            sleep(Duration::from_millis(rand::random_range(0..600)));
        }
        operator.kill().expect("killed");
        busy += u64::from(alive() != before);
        led = operator.log().matches(LEADS).count();
        operator.restart().expect("started again");
    }
    assert!(
        busy > KILLS / 5,
        "{busy} of {KILLS} kills hit an operator that had done something"
    );
    let wanted = 25;
    ask(wanted);
    eventually("as many children as asked for", PATIENCE, || {
        // As a cluster does, should it have lost its lease on a machine that is too busy.
        if operator.exit_status().expect("a status").is_some() {
            operator.restart().expect("started again");
        }
        match alive() {
            now if now == wanted => Ok(()),
            now => Err(format!("{now} of {wanted}")),
        }
    });
    // Settled: nothing that was on its way when it was killed comes afterwards.
    for _ in 0..20 {
        assert_eq!(alive(), wanted);
        sleep(Duration::from_millis(250));
    }
}
