//! Restarts of the API server, compaction of the history, and broken connections.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::{ChildProcess, ControlPlane, Kubectl, eventually};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_mins(1);

/// The API server has no watch cache for Secrets.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::builder()
        .api_server_arg("--watch-cache-sizes=secrets#0")
        .start()
        .unwrap()
});

/// Creates an object and returns its resource version.
fn create(kubectl: &Kubectl, arguments: &[&str]) -> String {
    kubectl.run([&["create"], arguments].concat()).unwrap();
    let kind = arguments[0];
    let object = kubectl
        .json(["get", kind, arguments[arguments.len() - 1]])
        .unwrap();
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// Returns the events of a one-second watch from a version.
fn watch(namespace: &str, plural: &str, version: &str) -> Result<String, String> {
    let path = format!(
        "/api/v1/namespaces/{namespace}/{plural}?watch=true&timeoutSeconds=1&resourceVersion={version}"
    );
    let output = PLANE.kubectl().try_run(["get", "--raw", &path]).unwrap();
    if output.success() {
        Ok(output.stdout)
    } else {
        Err(output.stderr)
    }
}

/// Whether the watch was rejected as expired, by a response or an event.
fn is_expired(response: &Result<String, String>) -> bool {
    match response {
        Ok(lines) => lines.lines().any(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["type"] == "ERROR" && event["object"]["code"] == 410
        }),
        Err(error) => {
            error.contains("Expired")
                || error.contains("too old resource version")
                || error.contains("compacted")
        }
    }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn restarted_api_server_keeps_objects_and_tokens_and_expires_old_versions() {
    let plane = ControlPlane::builder().start().unwrap();
    let kubectl = plane.kubectl().namespace("default");
    let account = plane.service_account("default", "somebody").unwrap();
    let version = create(&kubectl, &["configmap", "kept"]);
    create(&kubectl, &["configmap", "later"]);
    let path = format!("/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion={version}");
    let before = kubectl.run(["get", "--raw", &path]).unwrap();
    assert!(before.contains("later") && !before.contains("ERROR"), "{before}");

    for _ in 0..2 {
        plane.compact_history().unwrap();
        plane.restart_api_server().unwrap();
        assert_eq!(kubectl.run(["get", "--raw", "/readyz"]).unwrap(), "ok");
        assert!(kubectl.json(["get", "configmap", "kept"]).is_ok());
        let who = plane.kubectl_as(&account).json(["auth", "whoami", "-o", "json"]);
        assert_eq!(who.unwrap()["status"]["userInfo"]["username"], account.user());
        let after = kubectl.try_run(["get", "--raw", &path]).unwrap();
        assert!(is_expired(&Ok(after.stdout.clone())), "{after}");
    }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn compacted_history_expires_at_once_without_watch_cache() {
    let namespace = PLANE.create_namespace("history").unwrap();
    let kubectl = PLANE.kubectl().namespace(&namespace);
    let old = create(&kubectl, &["secret", "generic", "one"]);
    create(&kubectl, &["secret", "generic", "two"]);
    let watched = watch(&namespace, "secrets", &old);
    assert!(
        watched.as_ref().is_ok_and(|lines| lines.contains("two")),
        "{watched:?}"
    );
    let compacted = PLANE.compact_history().unwrap();
    assert!(compacted > old.parse().unwrap());
    let watched = watch(&namespace, "secrets", &old);
    assert!(is_expired(&watched), "{watched:?}");
    // The newest version is not compacted, and compacting twice is not an error.
    assert!(PLANE.compact_history().unwrap() >= compacted);
    create(&kubectl, &["secret", "generic", "three"]);
    assert!(kubectl.json(["get", "secret", "one"]).is_ok());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn proxy_breaks_a_watch() {
    let namespace = PLANE.create_namespace("proxy").unwrap();
    let proxy = PLANE.proxy().unwrap();
    let via_proxy = PLANE.admin().via_proxy(&proxy).unwrap();
    assert_eq!(
        PLANE
            .kubectl_as(&via_proxy)
            .run(["get", "--raw", "/readyz"])
            .unwrap(),
        "ok",
        "the certificate is good for the proxy's port"
    );
    let program = kubewright_testkit::binaries::Binaries::find()
        .unwrap()
        .kubectl()
        .unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/configmaps?watch=true&resourceVersion=0");
    let mut watch = PLANE
        .launch(&via_proxy, program)
        .args(["get", "--raw", &path])
        .start()
        .unwrap();
    let wait_for_log = |watch: &ChildProcess, name: &str| {
        let kubectl = PLANE.kubectl().namespace(&namespace);
        kubectl.run(["create", "configmap", name]).unwrap();
        eventually(name, TIMEOUT, || {
            let log = watch.log();
            if log.contains(name) { Ok(()) } else { Err(log) }
        });
    };
    wait_for_log(&watch, "seen");
    assert_eq!(watch.exit_status().unwrap(), None);
    assert!(proxy.break_all() > 0);
    assert!(watch.wait(TIMEOUT).unwrap().is_some(), "{}", watch.log_tail());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn new_kind_is_accepted_in_owner_references_after_waiting() {
    let definition = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "owners.demo.dev"}, "spec": {"group": "demo.dev", "scope": "Namespaced",
        "names": {"kind": "Owner", "plural": "owners", "singular": "owner"}, "versions": [{"name": "v1",
        "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}"#;
    PLANE
        .kubectl()
        .stdin(definition)
        .run(["create", "-f", "-"])
        .unwrap();
    PLANE.wait_until_ownable("demo.dev/v1", "Owner");
    let child = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [
        {"apiVersion": "demo.dev/v1", "kind": "Owner", "name": "o", "uid": "1", "blockOwnerDeletion": true}]}}"#;
    PLANE
        .kubectl()
        .namespace("default")
        .stdin(child)
        .run(["create", "-f", "-"])
        .unwrap();
}
