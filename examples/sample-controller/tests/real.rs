//! The sample-controller against the real kube-apiserver, with the permissions that it asks for and no other.

#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "one story; a test that cannot go on stops"
)]

use std::{process::Command, time::Duration};

use kubewright_testkit::{ControlPlane, Unit, eventually};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sample-controller");
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn reconciles_under_its_own_role() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("sample").unwrap();
    let kubectl = || plane.kubectl().namespace(&namespace);
    let identity = plane.service_account(&namespace, "sample-controller").unwrap();
    kubectl()
        .stdin(manifests(&["--yaml"]))
        .run(["apply", "--server-side", "-f", "-"])
        .unwrap();
    let account = format!("--serviceaccount={namespace}:sample-controller");
    for (kind, role) in [
        ("clusterrolebinding", "--clusterrole=sample-controller"),
        ("rolebinding", "--role=sample-controller"),
    ] {
        kubectl()
            .run(["create", kind, "sample-controller", role, &account])
            .unwrap();
    }
    let make = |object: Value| kubectl().stdin(object.to_string()).run(["create", "-f", "-"]);
    let get = |kind: &str, name: &str| {
        kubectl()
            .json(["get", kind, name])
            .map_err(|error| error.to_string())
    };
    plane.wait_until_ownable("samplecontroller.k8s.io/v1alpha1", "Foo");

    let mut operator = plane
        .launch(&identity, PROGRAM)
        .args([
            "--leader-elect",
            "--leader-election-namespace",
            &namespace,
            "--watch-namespace",
            &namespace,
        ])
        .start()
        .unwrap();
    make(json!({
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "example-foo"},
        "spec": {"deploymentName": "example-foo", "replicas": 1},
    }))
    .unwrap();
    eventually("the Deployment", PATIENCE, || get("deployment", "example-foo"));
    let status = json!({"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}).to_string();
    kubectl()
        .run([
            "patch",
            "deployment",
            "example-foo",
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ])
        .unwrap();
    eventually("the status follows", PATIENCE, || {
        let foo = get("foo", "example-foo")?;
        if foo["status"]["availableReplicas"] == 1 {
            Ok(())
        } else {
            Err(foo.to_string())
        }
    });
    let spec = json!({"spec": {"replicas": 2}}).to_string();
    kubectl()
        .run(["patch", "foo", "example-foo", "--type=merge", "-p", &spec])
        .unwrap();
    eventually("the Deployment is scaled", PATIENCE, || {
        let deployment = get("deployment", "example-foo")?;
        if deployment["spec"]["replicas"] == 2 {
            Ok(())
        } else {
            Err(deployment.to_string())
        }
    });

    // Somebody else's Deployment stays as it is, and the Foo's owner is told.
    kubectl()
        .run(["create", "deployment", "taken", "--image=nginx"])
        .unwrap();
    make(json!({
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "late"},
        "spec": {"deploymentName": "taken", "replicas": 5},
    }))
    .unwrap();
    for (name, reason) in [("late", "ErrResourceExists"), ("example-foo", "Synced")] {
        eventually(&format!("the event {reason}"), PATIENCE, || {
            let events = kubectl()
                .json(["get", "events.events.k8s.io"])
                .map_err(|error| error.to_string())?;
            let found = events["items"].as_array().is_some_and(|events| {
                events
                    .iter()
                    .any(|event| event["reason"] == reason && event["regarding"]["name"] == name)
            });
            if found { Ok(()) } else { Err(events.to_string()) }
        });
    }
    assert_eq!(get("deployment", "taken").unwrap()["spec"]["replicas"], 1);

    let ended = operator
        .terminate(Duration::from_secs(30))
        .unwrap()
        .expect("it ends in time");
    assert!(ended.success(), "{ended}");
    let units = Unit::from_manifests(&manifests(&[]), &namespace).unwrap();
    assert!(units.len() > 5, "{units:?}");
    plane.audit().unwrap().assert_exact(&units, identity.user());
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
