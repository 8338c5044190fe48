//! An operator reports an unreachable API server, a missing CRD and an undecodable object, waits, and recovers without a restart.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    time::Duration,
};

use http::Method;
use kubewright_testkit::{ChildProcess, Cluster, ClusterError, eventually};
use kubewright_tests::{Project, new_object, on_both_servers, read_manifests};
use serde_json::{Value, json};

/// Longest wait for a recovery: a failed list is retried after at most 30 s, with jitter.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(90);

on_both_servers!(operator_reports_failures_and_recovers);

fn operator_reports_failures_and_recovers(cluster: &Cluster) {
    let project = Project::scaffold("weather", "Cloud", &[]);
    project.kubewright(&["generate"]).expect_success();
    let binary = project.build();
    api_server_unreachable(cluster, &project, &binary);
    let operator = crd_not_installed(cluster, &project, &binary);
    undecodable_object(cluster, operator);
}

/// While the API server is unreachable, the operator keeps running, is not ready, logs the address once, and stops on SIGTERM.
fn api_server_unreachable(cluster: &Cluster, project: &Project, binary: &Path) {
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port");
    let kubeconfig = fs::read_to_string(cluster.admin().kubeconfig()).expect("a kubeconfig");
    let mut kubeconfig: Value = serde_json::from_str(&kubeconfig).expect("JSON");
    kubeconfig["clusters"][0]["cluster"]["server"] = format!("https://{address}").into();
    let path = project.root().join("away.kubeconfig");
    fs::write(&path, kubeconfig.to_string()).expect("the kubeconfig is written");

    let mut operator = start(cluster, binary, Some(&path));
    wait_for_log(&operator, "the API server cannot be reached");
    let log = operator.log();
    for part in [
        "waiting: check that it runs",
        "the address in the kubeconfig",
        &address.to_string(),
    ] {
        assert!(log.contains(part), "the log does not contain {part:?}: {log}");
    }
    std::thread::sleep(Duration::from_secs(5));
    assert_runs(&mut operator);
    assert_eq!(
        operator.log().matches("cannot be reached").count(),
        1,
        "the same failure is logged more than once: {}",
        operator.log()
    );
    assert!(get(&operator, "health checks", "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(&operator, "health checks", "/readyz").starts_with("HTTP/1.1 5"));
    let ended = operator
        .terminate(Duration::from_secs(20))
        .expect("the operator exits")
        .expect("the operator exits in time");
    assert!(ended.success(), "{ended}: {}", operator.log_tail());
}

/// While the CRD is missing, the operator logs what to install; once it is installed, the operator works without a restart.
fn crd_not_installed(cluster: &Cluster, project: &Project, binary: &Path) -> ChildProcess {
    let mut operator = start(cluster, binary, None);
    wait_for_log(&operator, "does not serve Cloud of demo.dev/v1alpha1");
    let log = operator.log();
    for part in ["clouds.demo.dev", "kubectl apply -f manifests/crds", "retrying"] {
        assert!(log.contains(part), "the log does not contain {part:?}: {log}");
    }
    std::thread::sleep(Duration::from_secs(3));
    assert_runs(&mut operator);
    let readyz = get(&operator, "health checks", "/readyz");
    assert!(
        readyz.starts_with("HTTP/1.1 5") && readyz.contains("clouds.demo.dev"),
        "{readyz}"
    );

    for definition in read_manifests(&project.root().join("manifests/crds")) {
        cluster.install_crd(&definition).expect("the CRD is accepted");
    }
    eventually("the sample is accepted", RECOVERY_TIMEOUT, || {
        create(cluster, "clear", &json!(1))
    });
    wait_for_deployment(cluster, "clear");
    assert_runs(&mut operator);
    operator
}

/// An object that does not decode is logged once until it is fixed and counted once per version; all other objects are reconciled.
fn undecodable_object(cluster: &Cluster, mut operator: ChildProcess) {
    // Loosen the schema: the API server now accepts strings, but the operator's struct still expects an integer.
    let replicas = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas";
    let loosened_schema =
        json!([{"op": "replace", "path": replicas, "value": {"x-kubernetes-int-or-string": true}}]);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clouds.demo.dev";
    cluster
        .request(
            Method::PATCH,
            definition,
            "application/json-patch+json",
            Some(&loosened_schema),
        )
        .expect("the CRD's schema is loosened");
    eventually("a string is accepted", RECOVERY_TIMEOUT, || {
        create(cluster, "odd", &json!("three"))
    });
    wait_for_decode_error(cluster, &operator);
    assert_eq!(decode_errors(&operator), 1);

    // An object that is created later, in the same cache, is reconciled.
    create(cluster, "fair", &json!(2)).expect("accepted");
    wait_for_deployment(cluster, "fair");

    // A second version of the object that does not decode either.
    let annotated = json!({"metadata": {"annotations": {"seen": "again"}}});
    cluster
        .merge_patch(&cloud("odd"), &annotated)
        .expect("the object is annotated");
    eventually(
        "both versions are counted",
        RECOVERY_TIMEOUT,
        || match decode_errors(&operator) {
            2 => Ok(()),
            other => Err(format!("{other} decode errors")),
        },
    );
    std::thread::sleep(Duration::from_secs(3));
    let log = operator.log();
    assert_eq!(log.matches(" does not decode: ").count(), 1, "{log}");
    assert_eq!(decode_errors(&operator), 2);
    let written = cluster.get(&deployment("odd")).expect("the request succeeds");
    assert_eq!(
        written, None,
        "the operator created a Deployment for the undecodable object"
    );
    assert_runs(&mut operator);

    let fixed = json!({"spec": {"replicas": 3}});
    cluster
        .merge_patch(&cloud("odd"), &fixed)
        .expect("the object is fixed");
    wait_for_deployment(cluster, "odd");
}

fn start(cluster: &Cluster, binary: &Path, kubeconfig: Option<&Path>) -> ChildProcess {
    let launch = cluster.launch(cluster.admin(), binary).args([
        "--metrics-bind-address=127.0.0.1:0",
        "--health-bind-address=127.0.0.1:0",
    ]);
    let launch = match kubeconfig {
        Some(path) => launch.env("KUBECONFIG", path),
        None => launch,
    };
    launch
        .env("RUST_LOG", "info")
        .start()
        .expect("the operator starts")
}

fn cloud(name: &str) -> Value {
    new_object("demo.dev/v1alpha1", "Cloud", "default", name)
}

fn deployment(name: &str) -> Value {
    new_object("apps/v1", "Deployment", "default", name)
}

fn create(cluster: &Cluster, name: &str, replicas: &Value) -> Result<Value, ClusterError> {
    let mut object = cloud(name);
    object["spec"] = json!({"deploymentName": name, "replicas": replicas});
    cluster.apply(&object)
}

#[track_caller]
fn wait_for_deployment(cluster: &Cluster, name: &str) {
    eventually(&format!("the Deployment of {name}"), RECOVERY_TIMEOUT, || {
        cluster.get(&deployment(name)).expect("the request succeeds")
    });
}

#[track_caller]
fn wait_for_log(operator: &ChildProcess, text: &str) {
    eventually(
        &format!("{text:?} in the operator's log"),
        RECOVERY_TIMEOUT,
        || {
            let log = operator.log();
            if log.contains(text) { Ok(()) } else { Err(log) }
        },
    );
}

/// Waits until the operator has logged that the object's current version does not decode.
#[track_caller]
fn wait_for_decode_error(cluster: &Cluster, operator: &ChildProcess) {
    let odd = cluster
        .get(&cloud("odd"))
        .expect("the request succeeds")
        .expect("the object");
    let version = odd["metadata"]["resourceVersion"].as_str().expect("a version");
    let expected = format!(
        "Cloud default/odd (resource version {version}) does not decode: invalid type: string \"three\", expected i32"
    );
    wait_for_log(operator, &expected);
}

#[track_caller]
fn assert_runs(operator: &mut ChildProcess) {
    let ended = operator.exit_status().expect("the process's state");
    assert_eq!(ended, None, "the operator exited: {}", operator.log_tail());
}

#[track_caller]
fn decode_errors(operator: &ChildProcess) -> u64 {
    let metrics = get(operator, "metrics", "/metrics");
    let line = metrics
        .lines()
        .find(|line| {
            line.starts_with("kubewright_informer_decode_errors_total{") && line.contains("kind=\"Cloud\"")
        })
        .unwrap_or_else(|| panic!("no decode error counter: {metrics}"));
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

/// Sends a GET request to one of the operator's servers and returns the response. The server's address is read from the log.
#[track_caller]
fn get(operator: &ChildProcess, server: &str, path: &str) -> String {
    let log_line = format!("serving {server} ");
    wait_for_log(operator, &log_line);
    let log = operator.log();
    let line = log
        .lines()
        .find(|line| line.contains(&log_line))
        .expect("the line was just found");
    let (_, address) = line.split_once("address=").expect("the address");
    let mut stream = TcpStream::connect(address.trim()).expect("the server listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n"
    )
    .expect("the request succeeds");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .expect("the response is read");
    response
}
