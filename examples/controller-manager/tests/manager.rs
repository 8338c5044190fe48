//! Runs the program against the embedded API server.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::{net::TcpListener, process::Command, time::Duration};

use http::Request;
use kubewright::kube::{Client, Config};
use kubewright_testkit::{Cluster, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_controller-manager");
const TIMEOUT: Duration = Duration::from_secs(30);

fn replica_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"namespace": "default", "name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "web"}]},
        }},
    })
}

/// Gets a path over TLS, with any certificate.
#[tokio::main]
async fn get(port: u16, path: &str) -> Result<String, String> {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.accept_invalid_certs = true;
    let client = Client::try_from(config).unwrap();
    let request = Request::get(path).body(Vec::new()).unwrap();
    client
        .request_text(request)
        .await
        .map_err(|error| error.to_string())
}

#[test]
fn selected_controllers_run_and_one_port_serves_health_and_metrics() {
    let cluster = Cluster::embedded().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .args([
            "--controllers=replicaset,serviceaccount",
            "--leader-elect-retry-period=200ms",
        ])
        .arg(format!("--secure-port={port}"))
        .start()
        .unwrap();
    cluster.apply(&replica_set()).unwrap();
    eventually("the status counts the pods", TIMEOUT, || {
        let found = cluster.get(&replica_set()).map_err(|error| error.to_string())?;
        let replicas = found.unwrap_or_default()["status"]["replicas"].clone();
        if replicas == 3 {
            Ok(())
        } else {
            Err(format!("{replicas}: {}", manager.log_tail()))
        }
    });
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "default"}});
    eventually("the account exists", TIMEOUT, || {
        cluster.get(&account).ok().flatten()
    });
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": "kube-system", "name": "kube-controller-manager"}});
    assert!(cluster.get(&lease).unwrap().is_some());

    assert!(get(port, "/healthz").unwrap().ends_with("ok\n"));
    assert!(
        get(port, "/readyz?verbose")
            .unwrap()
            .contains("controller-replicaset-controller")
    );
    assert!(get(port, "/metrics").unwrap().contains("workqueue_depth"));
    assert!(get(port, "/nothing").unwrap_err().contains("not found"));
    assert!(
        manager.terminate(TIMEOUT).unwrap().unwrap().success(),
        "{}",
        manager.log_tail()
    );
}

#[test]
fn roles_are_printed_without_a_cluster() {
    let printed = Command::new(PROGRAM)
        .args(["manifests", "--yaml"])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.status.success() && text.contains("replicasets/status"),
        "{text}"
    );
}

#[test]
fn flags_of_upstream_that_change_nothing_are_warnings() {
    let printed = Command::new(PROGRAM)
        .args([
            "--cluster-name=x",
            "--controllers=*,bootstrapsigner",
            "--kubeconfig=/does/not/exist",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stderr).unwrap();
    for expected in [
        "--cluster-name changes nothing here: its controller is not part of this program",
        "--controllers: \"bootstrapsigner\" is not part of this program",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn unknown_controller_is_an_error_with_the_list() {
    let ended = Command::new(PROGRAM).arg("--controllers=foo").output().unwrap();
    let text = String::from_utf8(ended.stderr).unwrap();
    assert!(
        !ended.status.success() && text.contains("replicaset-controller"),
        "{text}"
    );
}
