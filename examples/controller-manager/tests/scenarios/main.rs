//! Scenarios with this program, on both API servers, end as they end with kube-controller-manager, which is recorded: the objects at several
//! moments, and the reasons of the events. Read `workloads`, `jobs` and `deletions` (what happens),
//! then `outcome` (what is compared).
//!
//! `SCENARIOS_OF=kube-controller-manager` compares kube-controller-manager itself with the recording, as `.ci/nightly` does; with
//! `UPDATE_RECORDED=1` it is recorded again.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod deletions;
mod jobs;
mod outcome;
mod workloads;

use std::{collections::BTreeSet, env, fs, time::Duration};

use kubewright_apiserver::{AdmissionPlugin, ApiServer, HousekeepingTask};
use kubewright_testkit::{Cluster, ControlPlane};

const PROGRAM: &str = env!("CARGO_BIN_EXE_controller-manager");
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/recorded.txt");
const TIMEOUT: Duration = Duration::from_mins(2);
const NAMESPACE: &str = "scenarios";
const CONTROLLERS: [&str; 11] = [
    "serviceaccount-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
    "pod-garbage-collector-controller",
];

#[test]
fn scenarios_end_as_recorded() {
    let plugins: Vec<_> = AdmissionPlugin::defaults()
        .into_iter()
        .chain([AdmissionPlugin::ServiceAccount])
        .collect();
    let server = ApiServer::builder()
        .admission_plugins(&plugins)
        .housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
    compare(&of_this_program(&Cluster::start_embedded(server).unwrap()));
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn scenarios_end_as_recorded_on_the_real_server() {
    let subject = env::var("SCENARIOS_OF").unwrap_or_else(|_| "controller-manager".to_owned());
    match subject.as_str() {
        "controller-manager" => {
            let plane = ControlPlane::builder().api_server_arg("--enable-admission-plugins=ServiceAccount");
            compare(&of_this_program(&Cluster::start_real(plane).unwrap()));
        }
        "kube-controller-manager" => {
            let plane = ControlPlane::builder().controller_manager(&CONTROLLERS);
            let found = outcome::of_scenarios(&Cluster::start_real(plane).unwrap());
            if env::var_os("UPDATE_RECORDED").is_some() {
                fs::write(RECORDED, found.join("\n") + "\n").unwrap();
            }
            compare(&found);
        }
        _ => panic!("SCENARIOS_OF is controller-manager or kube-controller-manager, not {subject:?}"),
    }
}

fn of_this_program(cluster: &Cluster) -> Vec<String> {
    let _manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        .args(["--leader-elect=false", "--secure-port=0"])
        .start()
        .unwrap();
    outcome::of_scenarios(cluster)
}

/// Compares with the recording, line by line.
fn compare(found: &[String]) {
    let recorded = fs::read_to_string(RECORDED).unwrap();
    let recorded: BTreeSet<&str> = recorded.lines().collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let missing = recorded
        .difference(&found)
        .map(|line| format!("recorded: {line}"));
    let more = found
        .difference(&recorded)
        .map(|line| format!("found:    {line}"));
    let mut report: Vec<_> = missing.chain(more).collect();
    // The two lines about one object, one below the other.
    report.sort_by_key(|line| line[10..].chars().take(40).collect::<String>());
    assert!(report.is_empty(), "{}", report.join("\n"));
}
