//! Runs the program against the embedded API server.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use std::{net::TcpListener, process::Command, time::Duration};

use http::Request;
use kubewright::kube::{Client, Config};
use kubewright_apiserver::{ApiServer, HousekeepingTask};
use kubewright_testkit::{ChildProcess, Cluster, Failure, Fault, RequestMatcher, eventually};
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

/// Waits until the status of the ReplicaSet counts its pods.
fn wait_for_pods(cluster: &Cluster, manager: &ChildProcess) {
    eventually("the status counts the pods", TIMEOUT, || {
        let found = cluster.get(&replica_set()).map_err(|error| error.to_string())?;
        let replicas = found.unwrap_or_default()["status"]["replicas"].clone();
        if replicas == 3 {
            Ok(())
        } else {
            Err(format!("{replicas}: {}", manager.log_tail()))
        }
    });
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Gets a path over TLS, with any certificate.
fn get(port: u16, path: &str) -> Result<String, String> {
    get_with_token(port, path, "")
}

#[tokio::main]
async fn get_with_token(port: u16, path: &str, token: &str) -> Result<String, String> {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.accept_invalid_certs = true;
    let client = Client::try_from(config).unwrap();
    let mut request = Request::get(path);
    if !token.is_empty() {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let request = request.body(Vec::new()).unwrap();
    client
        .request_text(request)
        .await
        .map_err(|error| error.to_string())
}

#[test]
fn selected_controllers_run_and_one_port_serves_health_and_metrics() {
    let cluster = Cluster::embedded().unwrap();
    let port = free_port();
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
    wait_for_pods(&cluster, &manager);
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
fn metrics_on_an_address_that_others_reach_need_a_token_and_health_checks_none() {
    let cluster = Cluster::embedded().unwrap();
    let port = free_port();
    let manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .args([
            "--controllers=serviceaccount",
            "--leader-elect=false",
            "--bind-address=0.0.0.0",
        ])
        .arg(format!("--secure-port={port}"))
        .start()
        .unwrap();
    eventually("the program responds", TIMEOUT, || {
        get(port, "/healthz").map_err(|error| format!("{error}: {}", manager.log_tail()))
    });
    let error = get(port, "/metrics").unwrap_err();
    assert!(error.contains("unauthorized"), "{error}");
    let reader = cluster.service_account("default", "reader").unwrap();
    let error = get_with_token(port, "/metrics", reader.token()).unwrap_err();
    assert!(error.contains("forbidden"), "{error}");
    let admin = get_with_token(port, "/metrics", cluster.admin().token());
    assert!(admin.unwrap().contains("workqueue_depth"));
}

/// The API server of an older version does not serve CronJobs.
#[test]
fn controller_of_a_kind_that_is_not_served_does_not_stop_the_others() {
    let cluster = Cluster::embedded().unwrap();
    let not_found = Failure::new(
        404,
        "NotFound",
        "the server could not find the requested resource",
    );
    let cron_jobs = RequestMatcher::any()
        .resource("cronjobs")
        .user(cluster.admin().user());
    let unserved = cluster.faults().always(cron_jobs, Fault::Respond(not_found));
    let port = free_port();
    let manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .args([
            "--controllers=replicaset,serviceaccount,cronjob",
            "--leader-elect=false",
        ])
        .arg(format!("--secure-port={port}"))
        .start()
        .unwrap();
    cluster.apply(&replica_set()).unwrap();
    wait_for_pods(&cluster, &manager);
    let wait_for_health = |what: &str, expected: &[&str]| {
        eventually(what, TIMEOUT, || {
            // An error if a check fails.
            let found = get(port, "/readyz?verbose").unwrap_or_else(|error| error);
            let is_expected = expected.iter().all(|line| found.contains(line));
            is_expected.then_some(()).ok_or(found)
        });
    };
    wait_for_health(
        "only the controller of CronJobs does not work",
        &[
            "[+] component-replicaset-controller ok",
            "[+] component-serviceaccount-controller ok",
            "[-] component-cronjob-controller failed: waiting for the first list of cronjobs",
        ],
    );
    unserved.remove();
    wait_for_health(
        "the controller of CronJobs works, too",
        &["[+] component-cronjob-controller ok"],
    );
}

/// Only the invalid object itself is left alone.
#[test]
fn invalid_object_is_logged_once_by_name_and_counted() {
    let server = ApiServer::builder().housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
    let cluster = Cluster::start_embedded(server).unwrap();
    let port = free_port();
    let manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .args([
            "--controllers=garbagecollector,replicaset",
            "--leader-elect=false",
        ])
        .arg(format!("--secure-port={port}"))
        .start()
        .unwrap();
    let apply_node = |name: &str, number: usize| {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": format!("6b0a2f0e-0f7b-4f5d-9d2c-{number:012}"),
        }]}});
        cluster.apply(&node).unwrap();
    };
    let wait_for_count = |expected: usize| {
        let line = format!(
            "controllers_invalid_objects_total{{controller=\"garbage-collector-controller\",reason=\"NamespacedOwner\"}} {expected}"
        );
        eventually(&line, TIMEOUT, || {
            let metrics = get(port, "/metrics").unwrap_or_default();
            let is_counted = metrics.lines().any(|found| found == line);
            is_counted.then_some(()).ok_or_else(|| manager.log_tail())
        });
    };
    apply_node("invalid-node", 0);
    wait_for_count(1);
    for number in 1..=3 {
        // The collector checks an object again when its owners change. It is done with this one when it counts the other, which follows it.
        apply_node("invalid-node", number);
        apply_node(&format!("other-node-{number}"), number);
        wait_for_count(number + 1);
    }
    cluster.apply(&replica_set()).unwrap();
    wait_for_pods(&cluster, &manager);
    let log = manager.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("invalid-node")).collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(
        lines[0].contains("WARN") && lines[0].contains("the object is invalid"),
        "{lines:#?}"
    );
    wait_for_count(4);
}

/// One of them adopts the pod; that the other does, too, only its name in the log shows.
#[test]
fn controllers_that_select_the_same_pod_are_logged_once_by_name_and_counted() {
    let cluster = Cluster::embedded().unwrap();
    let port = free_port();
    let manager = cluster
        .launch(cluster.admin(), PROGRAM)
        .args(["--controllers=replicaset", "--leader-elect=false"])
        .arg(format!("--secure-port={port}"))
        .start()
        .unwrap();
    let template = json!({"metadata": {"labels": {"app": "twin"}}, "spec": {"containers": [{"name": "main", "image": "twin"}]}});
    for name in ["twin-blue", "twin-green"] {
        let metadata = json!({"namespace": "default", "name": name});
        let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "twin"}}, "template": template});
        let twin = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec});
        cluster.apply(&twin).unwrap();
        eventually("its pod exists", TIMEOUT, || {
            let found = cluster.get(&twin).unwrap().unwrap_or_default();
            (found["status"]["replicas"] == 1).then_some(())
        });
    }
    for name in ["orphan-1", "orphan-2"] {
        let mut orphan = template.clone();
        orphan["apiVersion"] = json!("v1");
        orphan["kind"] = json!("Pod");
        orphan["metadata"]["namespace"] = json!("default");
        orphan["metadata"]["name"] = json!(name);
        cluster.apply(&orphan).unwrap();
        eventually("the orphan is adopted or deleted", TIMEOUT, || {
            let found = cluster.get(&orphan).unwrap().unwrap_or_default();
            let owners = &found["metadata"]["ownerReferences"];
            (found.is_null() || !owners.is_null()).then_some(())
        });
    }
    cluster.apply(&replica_set()).unwrap();
    wait_for_pods(&cluster, &manager);
    let count = "controllers_invalid_objects_total{controller=\"replicaset-controller\",reason=\"OverlappingSelector\"} 2";
    let metrics = get(port, "/metrics").unwrap();
    assert!(metrics.lines().any(|line| line == count), "{metrics}");
    let log = manager.log();
    for name in ["default/twin-blue", "default/twin-green"] {
        let lines: Vec<_> = log
            .lines()
            .filter(|line| line.contains("OverlappingSelector") && line.contains(&format!("name={name}")))
            .collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(
            lines[0].contains("WARN") && lines[0].contains("change one of them"),
            "{lines:#?}"
        );
    }
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
            "--feature-gates=PodDeletionCost=false,SomethingElse=true",
            "--kubeconfig=/does/not/exist",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stderr).unwrap();
    for expected in [
        "--cluster-name changes nothing here: its controller is not part of this program",
        "--controllers: \"bootstrapsigner\" is not part of this program",
        "no controller asks for this feature gate",
    ] {
        assert_eq!(text.matches(expected).count(), 1, "{text}");
    }
    assert!(
        text.contains("SomethingElse") && !text.contains("PodDeletionCost"),
        "{text}"
    );
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
