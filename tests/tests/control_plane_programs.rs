//! kube-controller-manager with all controllers and kube-scheduler against the embedded API server.

use std::time::Duration;

use http::Method;
use kubewright_apiserver::{AdmissionPlugin, ApiServer};
use kubewright_testkit::binaries::{Binaries, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER};
use kubewright_testkit::{ChildProcess, Cluster, eventually};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_mins(2);

/// All controllers, with those that are off by default.
const CONTROLLERS: &str = "*,bootstrap-signer-controller,token-cleaner-controller,selinux-warning-controller";

/// Starts a program as the administrator, without a port of its own.
fn start(cluster: &Cluster, program: &'static str, arguments: &[&str]) -> ChildProcess {
    let admin = cluster.admin();
    let path = Binaries::find()
        .and_then(|binaries| binaries.program(program))
        .expect("a control plane with all programs");
    cluster
        .launch(admin, path)
        .arg(format!("--kubeconfig={}", admin.kubeconfig().display()))
        .args(["--leader-elect=false", "--secure-port=0"])
        .args(arguments)
        .start()
        .expect("a program of the control plane")
}

/// Returns the lines that report an informer which cannot list or watch.
fn informer_errors(log: &str) -> Vec<&str> {
    let failures = [
        "Failed to watch",
        "failed to list",
        "Timed out waiting",
        "Unable to sync",
    ];
    let is_failure = |line: &&str| failures.iter().any(|failure| line.contains(failure));
    log.lines().filter(is_failure).collect()
}

fn kind(api_version: &str, kind: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": "default" } })
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn controllers_and_scheduler_run_a_deployment() {
    // The controller manager creates service accounts and root certificates, as the plugin requires.
    let plugins = AdmissionPlugin::select(&["ServiceAccount".to_owned()], &[]).expect("plugins");
    let builder = ApiServer::builder().admission_plugins(&plugins);
    let cluster = Cluster::start_embedded(builder).expect("an API server");
    let resources = json!({ "cpu": "4", "memory": "8Gi", "pods": "110" });
    let ready =
        json!({ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready" });
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node" },
        "status": { "capacity": resources, "allocatable": resources, "conditions": [ready] },
    });
    cluster
        .request(Method::POST, "/api/v1/nodes", "application/json", Some(&node))
        .expect("a node");
    let arguments = [
        format!("--controllers={CONTROLLERS}"),
        "--use-service-account-credentials=false".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut manager = start(&cluster, KUBE_CONTROLLER_MANAGER, &arguments);
    let mut scheduler = start(&cluster, KUBE_SCHEDULER, &[]);

    let labels = json!({ "app": "web" });
    let container = json!({ "name": "web", "image": "registry.example/web" });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "default" },
        "spec": {
            "replicas": 3, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        },
    });
    cluster.apply(&deployment).expect("a deployment");

    eventually(
        "the scheduler binds three pods of one ReplicaSet",
        TIMEOUT,
        || {
            for (program, name) in [
                (&mut manager, KUBE_CONTROLLER_MANAGER),
                (&mut scheduler, KUBE_SCHEDULER),
            ] {
                if let Ok(Some(status)) = program.exit_status() {
                    panic!("{name} exited with {status}:\n{}", program.log_tail());
                }
            }
            let replica_sets = cluster
                .list(&kind("apps/v1", "ReplicaSet"))
                .expect("replica sets");
            let pods = cluster.list(&kind("v1", "Pod")).expect("pods");
            let bound = pods
                .iter()
                .filter(|pod| pod["spec"]["nodeName"] == "node")
                .count();
            match (replica_sets.len(), bound) {
                (1, 3) => Ok(()),
                found => Err(format!("{found:?}; {}", scheduler.log_tail())),
            }
        },
    );
    for pod in cluster.list(&kind("v1", "Pod")).expect("pods") {
        assert_eq!(pod["spec"]["serviceAccountName"], "default");
    }
    // The garbage collector has an informer of every kind that can be listed.
    eventually("all informers have synced", TIMEOUT, || {
        let log = manager.log();
        let (waiting, synced) = (
            log.matches("Waiting for caches to sync").count(),
            log.matches("Caches are synced").count(),
        );
        let collector = log.contains("Garbage collector: all resource monitors have synced");
        if collector && waiting > 30 && synced >= waiting {
            Ok(())
        } else {
            Err(format!("{synced} of {waiting}: {}", manager.log_tail()))
        }
    });
    for program in [&manager, &scheduler] {
        let log = program.log();
        assert_eq!(informer_errors(&log), Vec::<&str>::new());
    }
}
