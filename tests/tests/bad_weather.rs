//! What an operator does when the world around it is not as it should be: it says so, waits, and goes on by itself.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    time::Duration,
};

use http::Method;
use kubewright_testkit::{ChildProcess, Cluster, ClusterError, eventually};
use kubewright_tests::{Project, named, objects, on_both_servers};
use serde_json::{Value, json};

/// A failed list is tried again after at most half a minute, with jitter.
const PATIENCE: Duration = Duration::from_secs(90);

on_both_servers!(operator_waits_says_why_and_goes_on);

fn operator_waits_says_why_and_goes_on(cluster: &Cluster) {
    let project = Project::scaffold("weather", "Cloud", &[]);
    project.kubewright(&["generate"]).expect_success();
    let binary = project.build();
    an_api_server_that_is_away(cluster, &project, &binary);
    let operator = a_definition_that_is_not_installed(cluster, &project, &binary);
    an_object_that_does_not_decode(cluster, operator);
}

/// The operator lives, is not ready, names the address, and ends when it is asked to.
fn an_api_server_that_is_away(cluster: &Cluster, project: &Project, binary: &Path) {
    let address = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port that is free, and closed again");
    let kubeconfig = fs::read_to_string(cluster.admin().kubeconfig()).expect("a kubeconfig");
    let mut kubeconfig: Value = serde_json::from_str(&kubeconfig).expect("JSON");
    kubeconfig["clusters"][0]["cluster"]["server"] = format!("https://{address}").into();
    let path = project.root().join("away.kubeconfig");
    fs::write(&path, kubeconfig.to_string()).expect("written");

    let mut operator = start(cluster, binary, Some(&path));
    wait_for_log(&operator, "the API server cannot be reached");
    let log = operator.log();
    for part in [
        "waiting for it",
        "the kubeconfig names the right address",
        &address.to_string(),
    ] {
        assert!(log.contains(part), "{part:?} is not said: {log}");
    }
    std::thread::sleep(Duration::from_secs(5));
    assert_runs(&mut operator);
    assert_eq!(
        operator.log().matches("cannot be reached").count(),
        1,
        "the same failure is said once: {}",
        operator.log()
    );
    assert!(get(&operator, "health checks", "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(&operator, "health checks", "/readyz").starts_with("HTTP/1.1 5"));
    let ended = operator
        .terminate(Duration::from_secs(20))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", operator.log_tail());
}

/// The operator says what to install, and needs no restart once that is there.
fn a_definition_that_is_not_installed(cluster: &Cluster, project: &Project, binary: &Path) -> ChildProcess {
    let mut operator = start(cluster, binary, None);
    wait_for_log(&operator, "does not serve Cloud of demo.dev/v1alpha1");
    let log = operator.log();
    for part in [
        "clouds.demo.dev",
        "kubectl apply -f manifests/crds",
        "retrying",
    ] {
        assert!(log.contains(part), "{part:?} is not said: {log}");
    }
    std::thread::sleep(Duration::from_secs(3));
    assert_runs(&mut operator);
    let readyz = get(&operator, "health checks", "/readyz");
    assert!(
        readyz.starts_with("HTTP/1.1 5") && readyz.contains("clouds.demo.dev"),
        "{readyz}"
    );

    for definition in objects(&project.root().join("manifests/crds")) {
        cluster
            .install_crd(&definition)
            .expect("the definition is accepted");
    }
    eventually("the sample is accepted", PATIENCE, || {
        create(cluster, "clear", &json!(1))
    });
    wait_for_deployment(cluster, "clear");
    assert_runs(&mut operator);
    operator
}

/// The object is an error of its own: said once until it is mended, and counted once per version; all others are reconciled.
fn an_object_that_does_not_decode(cluster: &Cluster, mut operator: ChildProcess) {
    // The API server takes texts now; the operator, compiled from the struct, does not.
    let replicas = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas";
    let loosened =
        json!([{"op": "replace", "path": replicas, "value": {"x-kubernetes-int-or-string": true}}]);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clouds.demo.dev";
    cluster
        .request(
            Method::PATCH,
            definition,
            "application/json-patch+json",
            Some(&loosened),
        )
        .expect("the definition is loosened");
    eventually("a text is accepted", PATIENCE, || {
        create(cluster, "odd", &json!("three"))
    });
    wait_for_complaint(cluster, &operator);
    assert_eq!(decode_errors(&operator), 1);

    // Reconciled, though it came later and lies in the same cache.
    create(cluster, "fair", &json!(2)).expect("accepted");
    wait_for_deployment(cluster, "fair");

    // Another version of it, as wrong as the first.
    let annotated = json!({"metadata": {"annotations": {"seen": "again"}}});
    cluster.merge_patch(&cloud("odd"), &annotated).expect("annotated");
    eventually("both versions are counted", PATIENCE, || {
        match decode_errors(&operator) {
            2 => Ok(()),
            other => Err(format!("{other} decode errors")),
        }
    });
    std::thread::sleep(Duration::from_secs(3));
    let log = operator.log();
    assert_eq!(log.matches(" does not decode: ").count(), 1, "{log}");
    assert_eq!(decode_errors(&operator), 2);
    let written = cluster.get(&deployment("odd")).expect("asked");
    assert_eq!(written, None, "nothing is written for it");
    assert_runs(&mut operator);

    let mended = json!({"spec": {"replicas": 3}});
    cluster.merge_patch(&cloud("odd"), &mended).expect("mended");
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
    named("demo.dev/v1alpha1", "Cloud", "default", name)
}

fn deployment(name: &str) -> Value {
    named("apps/v1", "Deployment", "default", name)
}

fn create(cluster: &Cluster, name: &str, replicas: &Value) -> Result<Value, ClusterError> {
    let mut object = cloud(name);
    object["spec"] = json!({"deploymentName": name, "replicas": replicas});
    cluster.apply(&object)
}

#[track_caller]
fn wait_for_deployment(cluster: &Cluster, name: &str) {
    eventually(&format!("the Deployment of {name}"), PATIENCE, || {
        cluster.get(&deployment(name)).expect("asked")
    });
}

#[track_caller]
fn wait_for_log(operator: &ChildProcess, text: &str) {
    eventually(&format!("{text:?} in the operator's log"), PATIENCE, || {
        let log = operator.log();
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// Waits until the version of the object that the API server holds was complained of.
#[track_caller]
fn wait_for_complaint(cluster: &Cluster, operator: &ChildProcess) {
    let odd = cluster.get(&cloud("odd")).expect("asked").expect("the object");
    let version = odd["metadata"]["resourceVersion"].as_str().expect("a version");
    let complaint = format!(
        "Cloud default/odd (resource version {version}) does not decode: invalid type: string \"three\", expected i32"
    );
    wait_for_log(operator, &complaint);
}

#[track_caller]
fn assert_runs(operator: &mut ChildProcess) {
    let ended = operator.exit_status().expect("its state");
    assert_eq!(ended, None, "it ended: {}", operator.log_tail());
}

#[track_caller]
fn decode_errors(operator: &ChildProcess) -> u64 {
    let metrics = get(operator, "metrics", "/metrics");
    let line = metrics
        .lines()
        .find(|line| {
            line.starts_with("kubewright_informer_decode_errors_total{") && line.contains("kind=\"Cloud\"")
        })
        .unwrap_or_else(|| panic!("no counter: {metrics}"));
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

/// The answer of one of the operator's servers, whose address stands in its log.
#[track_caller]
fn get(operator: &ChildProcess, server: &str, path: &str) -> String {
    let said = format!("serving {server} ");
    wait_for_log(operator, &said);
    let log = operator.log();
    let line = log.lines().find(|line| line.contains(&said)).expect("just seen");
    let (_, address) = line.split_once("address=").expect("the address");
    let mut stream = TcpStream::connect(address.trim()).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n"
    )
    .expect("asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}
