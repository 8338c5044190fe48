//! Scenarios with this program, on both API servers, end as they end with kube-controller-manager, which is recorded: the objects at several
//! moments, and the reasons of the events. Read `workloads`, `jobs`, `accounts`, `repairs` and `deletions` (what happens),
//! then `outcome` (what is compared).
//!
//! The program runs with exactly the permissions that it prints, and `permissions` checks that it uses them.
//!
//! `SCENARIOS_OF=kube-controller-manager` compares kube-controller-manager itself with the recording, as `.ci/nightly` does; with
//! `UPDATE_RECORDED=1` it is recorded again. `tests/kill.rs` runs the scenarios while the program is killed.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod accounts;
mod deletions;
mod jobs;
mod outcome;
mod permissions;
mod program;
mod recording;
mod repairs;
mod workloads;

use std::{env, fs};

use kubewright_apiserver::{AdmissionPlugin, ApiServer, HousekeepingTask};
use kubewright_testkit::{Cluster, ControlPlane};
use permissions::Permissions;
use program::{CONTROLLERS, FLAGS, PROGRAM};
use recording::{RECORDED, compare};

#[test]
fn scenarios_end_as_recorded() {
    let plugins: Vec<_> = AdmissionPlugin::defaults()
        .into_iter()
        .chain([AdmissionPlugin::ServiceAccount])
        .collect();
    let server = ApiServer::builder()
        .admission_plugins(&plugins)
        .housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
    let cluster = Cluster::start_embedded(server).unwrap();
    check_this_program(&cluster);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn scenarios_end_as_recorded_on_the_real_server() {
    let subject = env::var("SCENARIOS_OF").unwrap_or_else(|_| "controller-manager".to_owned());
    match subject.as_str() {
        "controller-manager" => {
            let plane = ControlPlane::builder().api_server_arg("--enable-admission-plugins=ServiceAccount");
            let cluster = Cluster::start_real(plane).unwrap();
            check_this_program(&cluster);
        }
        "kube-controller-manager" => {
            let plane = ControlPlane::builder().controller_manager(&CONTROLLERS);
            let found = outcome::of_scenarios(&Cluster::start_real(plane).unwrap());
            if env::var_os("UPDATE_RECORDED").is_some() {
                fs::write(RECORDED, found.join("\n") + "\n").unwrap();
            }
            compare(&found, str::to_owned);
        }
        _ => panic!("SCENARIOS_OF is controller-manager or kube-controller-manager, not {subject:?}"),
    }
}

/// Runs the scenarios with this program, which has exactly the permissions that it prints.
fn check_this_program(cluster: &Cluster) {
    let permissions = Permissions::printed(&FLAGS);
    let identity = permissions.grant(cluster);
    let _manager = cluster.launch(&identity, PROGRAM).args(&*FLAGS).start().unwrap();
    compare(&outcome::of_scenarios(cluster), str::to_owned);
    permissions.check(cluster, &identity);
}
