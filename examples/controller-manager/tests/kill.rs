//! The manager is killed at random moments, and is replaced by another replica: workloads end as if nothing had happened, and so do the
//! scenarios.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

#[path = "scenarios/accounts.rs"]
mod accounts;
#[path = "scenarios/deletions.rs"]
mod deletions;
#[path = "scenarios/jobs.rs"]
mod jobs;
#[path = "scenarios/outcome.rs"]
mod outcome;
#[path = "scenarios/program.rs"]
mod program;
#[path = "scenarios/recording.rs"]
mod recording;
#[path = "scenarios/repairs.rs"]
mod repairs;
#[path = "scenarios/workloads.rs"]
mod workloads;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, sleep},
    time::Duration,
};

use kubewright_apiserver::{ApiServer, HousekeepingTask};
use kubewright_testkit::{
    AuditEvent, ChildProcess, Cluster, ControlPlane, Identity, SimulationOptions, eventually,
};
use program::{FLAGS, PROGRAM};
use recording::compare;
use regex::Regex;
use serde_json::{Value, json};
use workloads::{NAMESPACE, TIMEOUT};

const DOOMED: &str = "doomed";
/// What these tests run: on the real API server, nothing else does it.
const CONTROLLERS: &str = "*,-root-ca-certificate-publisher-controller,-serviceaccount-token-controller";

#[test]
fn workloads_end_as_they_should_after_ten_kills() {
    run_kills(&embedded(), 10);
}

/// The objects are those of the recording, less what depends on the number of steps: generations, and events that died with the manager.
#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn scenarios_end_as_recorded_after_fifty_kills_on_the_real_server() {
    const KILLS: usize = 50;
    let plane = ControlPlane::builder().api_server_arg("--enable-admission-plugins=ServiceAccount");
    let cluster = Cluster::start_real(plane).unwrap();
    let launch = cluster.launch(cluster.admin(), PROGRAM).args(&*FLAGS);
    let mut manager = launch.arg("--leader-elect=false").start().unwrap();
    let is_over = AtomicBool::new(false);
    let (found, kills) = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut kills = 0;
            while kills < KILLS && !is_over.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(random(2_500)));
                manager.restart().unwrap();
                kills += 1;
            }
            kills
        });
        let found = outcome::of_scenarios(&cluster);
        is_over.store(true, Ordering::Relaxed);
        (found, killer.join().unwrap())
    });
    assert_eq!(kills, KILLS, "the scenarios were over before the last kill");
    let generations = Regex::new(r#""(observedG|g)eneration":\d+,?"#).unwrap();
    compare(&found, |line| {
        if line.starts_with("event:") {
            String::new()
        } else {
            generations.replace_all(line, "").into_owned()
        }
    });
}

#[test]
fn two_managers_never_both_write() {
    check_two_managers(&embedded());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn two_managers_never_both_write_to_the_real_server() {
    check_two_managers(&Cluster::start_real(ControlPlane::builder()).unwrap());
}

/// Starts an API server that leaves namespaces and garbage to the manager.
fn embedded() -> Cluster {
    let server = ApiServer::builder().housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
    Cluster::start_embedded(server).unwrap()
}

/// Starts a manager.
fn start(cluster: &Cluster, identity: &Identity, arguments: &[&str]) -> ChildProcess {
    cluster
        .launch(identity, PROGRAM)
        .arg(format!("--controllers={CONTROLLERS}"))
        .arg("--secure-port=0")
        .args(arguments)
        .start()
        .unwrap()
}

/// Quick kubelets.
fn simulation_options() -> SimulationOptions {
    SimulationOptions {
        nodes: 2,
        pod_start: Duration::from_millis(20),
        pod_run: Duration::from_millis(50),
    }
}

fn run_kills(cluster: &Cluster, kills: u64) {
    let _simulation = cluster.simulate(simulation_options()).unwrap();
    cluster.create_namespace(NAMESPACE).unwrap();
    let mut manager = start(cluster, cluster.admin(), &["--leader-elect=false"]);
    for kill in 0..kills {
        apply_changes(cluster, kill);
        // A start takes about half a second until the first write.
        sleep(Duration::from_millis(random(1_500)));
        manager.kill().unwrap();
        manager.restart().unwrap();
    }
    eventually("the workloads are as the last change wants them", TIMEOUT, || {
        check_end(cluster, kills - 1).map_err(|reason| format!("{reason}: {}", manager.log_tail()))
    });
}

/// Changes all workloads: a rollout with another size, a Job, a namespace that is deleted with its content.
fn apply_changes(cluster: &Cluster, round: u64) {
    let template = |policy: &str| {
        json!({
            "metadata": {"labels": {"app": "a"}},
            "spec": {
                "restartPolicy": policy,
                "containers": [{"name": "main", "image": format!("image:{round}")}],
            },
        })
    };
    let selector = json!({"matchLabels": {"app": "a"}});
    let mut deployment = named("apps/v1", "Deployment", "web");
    deployment["spec"] =
        json!({"replicas": replicas(round), "selector": selector, "template": template("Always")});
    let mut stateful_set = named("apps/v1", "StatefulSet", "db");
    stateful_set["spec"] = json!({
        "replicas": replicas(round), "serviceName": "db", "podManagementPolicy": "Parallel",
        "selector": selector, "template": template("Always"),
    });
    let mut job = named("batch/v1", "Job", &format!("job-{round}"));
    job["spec"] = json!({"completions": 4, "parallelism": 2, "template": template("Never")});
    let mut doomed = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}});
    doomed["metadata"] = json!({"namespace": format!("{DOOMED}-{round}"), "name": "content"});
    cluster.create_namespace(&format!("{DOOMED}-{round}")).unwrap();
    for object in [&deployment, &stateful_set, &job, &doomed] {
        cluster.apply(object).unwrap();
    }
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{DOOMED}-{round}")}});
    cluster.delete(&namespace).unwrap();
}

fn replicas(round: u64) -> u64 {
    2 + round % 3
}

fn check_end(cluster: &Cluster, final_round: u64) -> Result<(), String> {
    let list = |api_version: &str, kind: &str| {
        let items = cluster.list(&named(api_version, kind, ""));
        items.map_err(|error| error.to_string())
    };
    let (wanted, image) = (json!(replicas(final_round)), format!("image:{final_round}"));
    for (kind, field) in [
        ("Deployment", "availableReplicas"),
        ("StatefulSet", "availableReplicas"),
    ] {
        let workloads = list("apps/v1", kind)?;
        let status = &workloads[0]["status"];
        let counts = [&status[field], &status["updatedReplicas"], &status["replicas"]];
        if counts.iter().any(|count| **count != wanted) {
            return Err(format!("{kind}: {status}"));
        }
    }
    let pods = list("v1", "Pod")?;
    let running = pods.iter().filter(|pod| pod["spec"]["restartPolicy"] == "Always");
    let images: Vec<_> = running
        .map(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap())
        .collect();
    // The pods of the Deployment and of the StatefulSet.
    if images.len() as u64 != 2 * replicas(final_round) || images.iter().any(|found| *found != image) {
        return Err(format!("pods: {images:?}"));
    }
    let jobs = list("batch/v1", "Job")?;
    if let Some(job) = jobs.iter().find(|job| {
        job["status"]["succeeded"] != 4 || !job["status"]["uncountedTerminatedPods"]["succeeded"].is_null()
    }) {
        return Err(format!("{}: {}", job["metadata"]["name"], job["status"]));
    }
    let of_jobs = pods.len() as u64 - 2 * replicas(final_round);
    if of_jobs != 4 * (final_round + 1) {
        return Err(format!("{of_jobs} pods of {} jobs", final_round + 1));
    }
    if let Some(pod) = pods.iter().find(|pod| !pod["metadata"]["finalizers"].is_null()) {
        return Err(format!("{} has a finalizer", pod["metadata"]["name"]));
    }
    let namespaces = list("v1", "Namespace")?;
    let names = namespaces
        .iter()
        .map(|namespace| namespace["metadata"]["name"].as_str().unwrap());
    match names.filter(|name| name.starts_with(DOOMED)).count() {
        0 => Ok(()),
        left => Err(format!("{left} namespaces are not gone")),
    }
}

/// Leader election with the lease of 15 s that is the default: on a busy machine the API server may not answer for 2 s, and a leader that
/// cannot renew a shorter lease ends.
const LEADER_ELECTION: [&str; 1] = ["--leader-elect"];

/// The leader is killed while it works; the other one takes over.
fn check_two_managers(cluster: &Cluster) {
    let _simulation = cluster.simulate(simulation_options()).unwrap();
    cluster.create_namespace(NAMESPACE).unwrap();
    let identities = ["manager-a", "manager-b"].map(|name| administrator(cluster, name));
    let mut first = start(cluster, &identities[0], &LEADER_ELECTION);
    apply_changes(cluster, 0);
    eventually("the first manager writes", TIMEOUT, || {
        writes(cluster, &identities[0]).into_iter().next()
    });
    let second = start(cluster, &identities[1], &LEADER_ELECTION);
    apply_changes(cluster, 1);
    eventually("the second manager waits", TIMEOUT, || {
        second
            .log()
            .contains("waiting for the leader lease")
            .then_some(())
    });
    first.kill().unwrap();
    apply_changes(cluster, 2);
    eventually(
        "the second manager completes what the first began",
        TIMEOUT,
        || check_end(cluster, 2).map_err(|reason| format!("{reason}: {}", second.log_tail())),
    );
    let [of_first, of_second] = identities.each_ref().map(|identity| writes(cluster, identity));
    let (last, next) = (of_first.last().unwrap(), of_second.first().unwrap());
    assert!(
        last.received < next.received,
        "{} after {}",
        last.received,
        next.received
    );
}

/// Returns an identity with all permissions.
fn administrator(cluster: &Cluster, name: &str) -> Identity {
    let identity = cluster.service_account(NAMESPACE, name).unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name}],
    });
    cluster.apply(&binding).unwrap();
    identity
}

/// Returns the writes of an identity in the order of their time, without those to leases and of events, which each replica writes.
fn writes(cluster: &Cluster, identity: &Identity) -> Vec<AuditEvent> {
    let audit = cluster.audit().unwrap().by_user(identity.user()).writes();
    let audit = audit.filter(|event| event.resource != "leases" && event.resource != "events");
    let mut writes: Vec<_> = audit.iter().cloned().collect();
    writes.sort_by_key(|event| event.received);
    writes
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": NAMESPACE, "name": name } })
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}
