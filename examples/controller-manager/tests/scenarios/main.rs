//! Scenarios with this program, on both API servers, end as they end with kube-controller-manager, which is recorded: the objects at several
//! moments, and the reasons of the events. Read `workloads`, `jobs`, `accounts`, `repairs`, `deletions` and `old_tokens` (what happens),
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
mod metrics;
mod old_tokens;
mod outcome;
mod permissions;
mod program;
mod recording;
mod repairs;
mod workloads;

use std::{env, fs};

use kubewright_apiserver::{AdmissionPlugin, ApiServer, HousekeepingTask};
use kubewright_testkit::{
    Cluster, ControlPlane, PermissionUnit,
    binaries::{Binaries, KUBE_CONTROLLER_MANAGER},
};
use permissions::Permissions;
use program::{FLAGS, PROGRAM};
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
            check_this_program(&real_cluster());
        }
        "kube-controller-manager" => {
            let found = of_kube_controller_manager(&real_cluster());
            if env::var_os("UPDATE_RECORDED").is_some() {
                fs::write(RECORDED, found.join("\n") + "\n").unwrap();
            }
            compare(&found, str::to_owned);
        }
        _ => panic!("SCENARIOS_OF is controller-manager or kube-controller-manager, not {subject:?}"),
    }
}

fn real_cluster() -> Cluster {
    let plane = ControlPlane::builder().api_server_arg("--enable-admission-plugins=ServiceAccount");
    Cluster::start_real(plane).unwrap()
}

/// Runs the scenarios with this program, which has exactly the permissions that it prints.
fn check_this_program(cluster: &Cluster) {
    let port = metrics::free_port();
    let mut flags = FLAGS.clone();
    // On an address that others reach, so that the API server authenticates who gets the metrics.
    flags.extend([
        "--bind-address=0.0.0.0".to_owned(),
        format!("--secure-port={port}"),
    ]);
    let permissions = Permissions::printed(&flags);
    let identity = permissions.grant(cluster);
    old_tokens::create(cluster);
    let _manager = cluster.launch(&identity, PROGRAM).args(&flags).start().unwrap();
    old_tokens::wait_until_cleaned(cluster);
    compare(&outcome::of_scenarios(cluster), str::to_owned);
    metrics::get(port, cluster.admin().token());
    permissions.check(cluster, &identity);
}

/// Runs the scenarios with kube-controller-manager. It may do everything, and the faults of the cluster apply to it.
fn of_kube_controller_manager(cluster: &Cluster) -> Vec<String> {
    let everything = [PermissionUnit::new("*", "*", ["*"])];
    let identity = cluster.operator("kube-controller-manager", &everything).unwrap();
    old_tokens::create(cluster);
    let program = Binaries::find()
        .unwrap()
        .program(KUBE_CONTROLLER_MANAGER)
        .unwrap();
    let _manager = cluster
        .launch(&identity, program)
        .args(&*FLAGS)
        .arg(format!("--kubeconfig={}", identity.kubeconfig().display()))
        .args(["--leader-elect=false", "--use-service-account-credentials=false"])
        .args(["--kube-api-qps=500", "--kube-api-burst=1000"])
        .start()
        .unwrap();
    old_tokens::wait_until_cleaned(cluster);
    outcome::of_scenarios(cluster)
}
