//! An operator that is killed at any moment converges after a restart, and creates nothing twice.

use std::{thread::sleep, time::Duration};

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{new_object, on_both_servers};
use serde_json::json;

const KILLS: u64 = 50;
const CONVERGE_TIMEOUT: Duration = Duration::from_mins(1);
/// Leader election with the shortest lease that works on a busy machine.
const ELECTION_FLAGS: [&str; 4] = [
    "--leader-elect",
    "--leader-elect-lease-duration=2s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=300ms",
];
/// The log line that an operator writes when it has become the leader.
const LEADING_LOG_LINE: &str = "starting workers";

on_both_servers!(operator_killed_fifty_times_creates_no_extra_children);

/// The API server generates the children's names, so a duplicate create would leave an extra child.
fn operator_killed_fifty_times_creates_no_extra_children(cluster: &Cluster) {
    let namespace = "secret-set";
    cluster.create_namespace(namespace).expect("a namespace");
    let request_children = |children: u64| {
        let mut parent = new_object("v1", "ConfigMap", namespace, "parent");
        parent["data"] = json!({ "children": children.to_string() });
        cluster.apply(&parent).expect("the ConfigMap is accepted");
    };
    let count_alive = || {
        let secrets = cluster
            .list(&new_object("v1", "Secret", namespace, ""))
            .expect("a list");
        secrets
            .iter()
            .filter(|secret| secret["metadata"]["deletionTimestamp"].is_null())
            .count() as u64
    };
    let mut operator = cluster
        .launch(cluster.admin(), env!("CARGO_BIN_EXE_secret_set"))
        .args([
            "--watch-namespace",
            namespace,
            "--health-bind-address",
            "0",
            "--metrics-bind-address",
            "0",
        ])
        .args(ELECTION_FLAGS)
        .start()
        .expect("the operator starts");
    let (mut kills_during_work, mut led) = (0, 0);
    for kill in 0..KILLS {
        let before = count_alive();
        request_children(rand::random_range(1..40));
        // A replica leads only after its predecessor's lease has expired. Kill one in three at any moment, the others while they lead.
        if kill % 3 == 0 {
            sleep(Duration::from_millis(rand::random_range(0..3000)));
        } else {
            eventually("the operator leads", CONVERGE_TIMEOUT, || {
                operator.log().matches(LEADING_LOG_LINE).count() > led
            });
            sleep(Duration::from_millis(rand::random_range(0..600)));
        }
        operator.kill().expect("the operator is killed");
        kills_during_work += u64::from(count_alive() != before);
        led = operator.log().matches(LEADING_LOG_LINE).count();
        operator.restart().expect("the operator restarts");
    }
    assert!(
        kills_during_work > KILLS / 5,
        "only {kills_during_work} of {KILLS} kills hit an operator that had written something"
    );
    let wanted = 25;
    request_children(wanted);
    eventually(
        "the requested number of children exists",
        CONVERGE_TIMEOUT,
        || {
            // On a busy machine the operator may lose its lease and exit; restart it, as a cluster would.
            if operator.exit_status().expect("an exit status").is_some() {
                operator.restart().expect("the operator restarts");
            }
            match count_alive() {
                now if now == wanted => Ok(()),
                now => Err(format!("{now} of {wanted}")),
            }
        },
    );
    // The number stays: no request that was in flight at a kill creates a child afterwards.
    for _ in 0..20 {
        assert_eq!(count_alive(), wanted);
        sleep(Duration::from_millis(250));
    }
}
