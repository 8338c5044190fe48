//! kube-controller-manager with all controllers and kube-scheduler against the embedded API server.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use kubewright_apiserver::{AdmissionPlugin, ApiServer};
use kubewright_testkit::binaries::{Binaries, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER};
use kubewright_testkit::{ChildProcess, Cluster, eventually};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_mins(2);

/// All controllers, with those that are off by default.
const CONTROLLERS: &str = "*,bootstrap-signer-controller,token-cleaner-controller,selinux-warning-controller";

/// Controllers that do not run: those of cloud providers, and those of feature gates that are off.
const SKIPPED: [&str; 9] = [
    "cloud-node-lifecycle-controller",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    "node-route-controller",
    "podcertificaterequest-cleaner-controller",
    "podgroup-protection-controller",
    "resourcepoolstatusrequest-controller",
    "service-lb-controller",
    "storage-version-migrator-controller",
    "storageversion-garbage-collector-controller",
];

/// Writes the certificate and the key of a certificate authority.
fn write_authority(folder: &Path) -> [PathBuf; 2] {
    let mut parameters = CertificateParams::new(vec![]).expect("parameters");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let files = ["ca.crt", "ca.key"].map(|name| folder.join(name));
    for (file, text) in files.iter().zip([certificate.pem(), key.serialize_pem()]) {
        fs::write(file, text).expect("the file is written");
    }
    files
}

/// Returns the names of all controllers, which kube-controller-manager lists in its help.
fn all_controllers() -> BTreeSet<String> {
    let program = Binaries::find().and_then(|binaries| binaries.program(KUBE_CONTROLLER_MANAGER));
    let output = Command::new(program.expect("a program")).arg("--help").output();
    let help = String::from_utf8(output.expect("an output").stdout).expect("a text");
    let names = help
        .split_once("All controllers: ")
        .and_then(|(_, rest)| rest.lines().next());
    names.expect("a list").split(", ").map(str::to_owned).collect()
}

/// Returns the controllers that lines with this message name.
fn controllers_of(log: &str, message: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once(" controller=\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    log.lines()
        .filter(|line| line.contains(message))
        .filter_map(name)
        .collect()
}

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

/// Checks that the API server accepts the token that the controller manager signs for a Secret, and labels the Secret with the day.
fn expect_token_in_secret(cluster: &Cluster) {
    let annotations = json!({ "kubernetes.io/service-account.name": "default" });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": "token", "namespace": "default", "annotations": annotations },
    });
    cluster.apply(&secret).expect("a secret");
    let token = eventually("the Secret has a token", TIMEOUT, || {
        let secrets = cluster.list(&kind("v1", "Secret")).expect("secrets");
        let token = secrets.iter().find_map(|secret| secret["data"]["token"].as_str());
        token.map(str::to_owned).ok_or("no token")
    });
    let token = STANDARD.decode(token).expect("base64");
    let review = json!({ "spec": { "token": String::from_utf8(token).expect("a token") } });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let reviewed = cluster.request(Method::POST, path, "application/json", Some(&review));
    let status = &reviewed.expect("a review")["status"];
    assert_eq!(
        status["user"]["username"], "system:serviceaccount:default:default",
        "{status}"
    );
    let secrets = cluster.list(&kind("v1", "Secret")).expect("secrets");
    let labels = &secrets.first().expect("a secret")["metadata"]["labels"];
    let day = labels["kubernetes.io/legacy-token-last-used"].as_str();
    assert!(day.is_some_and(|day| day.starts_with("20")), "{labels}");
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn controllers_and_scheduler_run_a_deployment() {
    // The controller manager creates service accounts and root certificates, as the plugin requires.
    let plugins = AdmissionPlugin::select(&["ServiceAccount".to_owned()], &[]).expect("plugins");
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = write_authority(folder.path());
    let token_key = fs::read_to_string(&key).expect("a key");
    let builder = ApiServer::builder()
        .admission_plugins(&plugins)
        .service_account_keys(&token_key)
        .expect("a supported key");
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
        "--allocate-node-cidrs=true".to_owned(),
        "--cluster-cidr=10.200.0.0/16".to_owned(),
        // Without keys, the controllers that sign do not run.
        format!("--cluster-signing-cert-file={}", certificate.display()),
        format!("--cluster-signing-key-file={}", key.display()),
        format!("--service-account-private-key-file={}", key.display()),
        // The level of the lines about the start of each controller.
        "--v=1".to_owned(),
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
    expect_token_in_secret(&cluster);
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
    let log = manager.log();
    let mut expected = all_controllers();
    expected.retain(|name| !SKIPPED.contains(&name.as_str()));
    assert_eq!(controllers_of(&log, "\"Controller starting...\""), expected);
    assert_eq!(
        controllers_of(&log, "\"Warning: skipping controller\""),
        BTreeSet::from(SKIPPED.map(str::to_owned))
    );
    assert_eq!(controllers_of(&log, "\"Controller terminated\""), BTreeSet::new());
    for program in [&manager, &scheduler] {
        let log = program.log();
        assert_eq!(informer_errors(&log), Vec::<&str>::new());
    }
}
