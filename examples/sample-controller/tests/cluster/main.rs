//! Runs the sample-controller against the embedded and the real API server, with exactly its generated permissions.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod yaml;

use std::{process::Command, time::Duration};

use kubewright_testkit::{Cluster, ControlPlane, PermissionUnit, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sample-controller");
const TIMEOUT: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "sample";

// ANCHOR: both_servers
#[test]
fn reconciles_under_its_own_role() {
    run(&Cluster::embedded().unwrap());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn reconciles_under_its_own_role_on_the_real_server() {
    run(&Cluster::start_real(ControlPlane::builder()).unwrap());
}
// ANCHOR_END: both_servers

fn run(cluster: &Cluster) {
    cluster.create_namespace(NAMESPACE).unwrap();
    let identity = cluster.service_account(NAMESPACE, "sample-controller").unwrap();
    // Roles first: the real server applies them with a delay.
    let mut objects = yaml::objects(&manifests(&["--yaml"]));
    objects.sort_by_key(|object| object["kind"] == "CustomResourceDefinition");
    for mut object in objects {
        let kind = object["kind"].as_str().unwrap().to_owned();
        if kind == "CustomResourceDefinition" {
            cluster.install_crd(&object).unwrap();
            continue;
        }
        if kind == "Role" {
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
        cluster.apply(&object).unwrap();
        let role = object["metadata"]["name"].clone();
        cluster
            .apply(&json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": object["metadata"],
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
                "subjects": [{ "kind": "ServiceAccount", "name": "sample-controller", "namespace": NAMESPACE }],
            }))
            .unwrap();
    }
    let wait_for = |description: &str, object: &Value, matches: &dyn Fn(&Value) -> bool| {
        eventually(description, TIMEOUT, || match cluster.get(object) {
            Ok(Some(found)) if matches(&found) => Ok(()),
            other => Err(format!("{other:?}")),
        });
    };

    let mut operator = cluster
        .launch(&identity, PROGRAM)
        .args(["--leader-elect", "--leader-election-namespace", NAMESPACE])
        .args(["--watch-namespace", NAMESPACE])
        .start()
        .unwrap();
    let foo = foo("example-foo", "example-foo", 1);
    cluster.apply(&foo).unwrap();
    let deployment = named("apps/v1", "Deployment", "example-foo");
    wait_for("the Deployment", &deployment, &|_| true);
    let status = json!({ "replicas": 1, "readyReplicas": 1, "availableReplicas": 1 });
    cluster.patch_status(&deployment, &status).unwrap();
    wait_for("the status follows", &foo, &|foo| {
        foo["status"]["availableReplicas"] == 1
    });
    cluster
        .merge_patch(&foo, &json!({ "spec": { "replicas": 2 } }))
        .unwrap();
    wait_for("the Deployment is scaled", &deployment, &|deployment| {
        deployment["spec"]["replicas"] == 2
    });

    // A Deployment without owner reference is not changed, and the Foo gets a warning event.
    let mut taken = named("apps/v1", "Deployment", "taken");
    taken["spec"] = json!({
        "replicas": 1,
        "selector": { "matchLabels": { "app": "taken" } },
        "template": {
            "metadata": { "labels": { "app": "taken" } },
            "spec": { "containers": [{ "name": "nginx", "image": "nginx" }] },
        },
    });
    cluster.apply(&taken).unwrap();
    cluster.apply(&self::foo("late", "taken", 5)).unwrap();
    for (name, reason) in [("late", "ErrResourceExists"), ("example-foo", "Synced")] {
        eventually(&format!("the event {reason}"), TIMEOUT, || {
            let events = cluster.list(&named("events.k8s.io/v1", "Event", ""));
            let events = events.map_err(|error| error.to_string())?;
            let is_expected = |event: &Value| event["reason"] == reason && event["regarding"]["name"] == name;
            if events.iter().any(is_expected) {
                Ok(())
            } else {
                Err(format!("{events:?}"))
            }
        });
    }
    assert_eq!(cluster.get(&taken).unwrap().unwrap()["spec"]["replicas"], 1);

    let ended = operator.terminate(Duration::from_secs(30)).unwrap().unwrap();
    assert!(ended.success(), "{ended}");
    let mut units = PermissionUnit::from_manifests(&manifests(&[]), NAMESPACE).unwrap();
    // It serves metrics to this machine only, which needs no reviews.
    units.retain(|unit| !unit.resource.ends_with("reviews"));
    assert!(units.len() > 5, "{units:?}");
    cluster.audit().unwrap().assert_exact(&units, identity.user());
}

fn foo(name: &str, deployment: &str, replicas: i32) -> Value {
    let mut foo = named("samplecontroller.k8s.io/v1alpha1", "Foo", name);
    foo["spec"] = json!({ "deploymentName": deployment, "replicas": replicas });
    foo
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": NAMESPACE, "name": name } })
}

fn manifests(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM)
        .arg("manifests")
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
