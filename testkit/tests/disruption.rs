//! A plane of which the API server is restarted, the history compacted and the connections cut.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::{ChildProcess, ControlPlane, Kubectl, eventually};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

const LONG: Duration = Duration::from_mins(1);

/// Its API server has no cache of Secrets.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::builder()
        .api_server_arg("--watch-cache-sizes=secrets#0")
        .start()
        .unwrap()
});

/// Creates an object and returns its version.
fn create(kubectl: &Kubectl, arguments: &[&str]) -> String {
    kubectl.run([&["create"], arguments].concat()).unwrap();
    let kind = arguments[0];
    let object = kubectl
        .json(["get", kind, arguments[arguments.len() - 1]])
        .unwrap();
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// What a watch from a version says within its second.
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

/// An error of the watch, or one instead of it.
fn is_expired(answer: &Result<String, String>) -> bool {
    match answer {
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
fn restarted_api_server_has_the_same_objects_and_tokens_and_old_versions_expire() {
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
fn compacted_history_is_gone_at_once_where_the_api_server_has_no_cache() {
    let namespace = PLANE.namespace("history").unwrap();
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
    // The newest version is not forgotten, and a second time is no error.
    assert!(PLANE.compact_history().unwrap() >= compacted);
    create(&kubectl, &["secret", "generic", "three"]);
    assert!(kubectl.json(["get", "secret", "one"]).is_ok());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn proxy_cuts_a_watch_that_runs_through_it() {
    let namespace = PLANE.namespace("proxy").unwrap();
    let proxy = PLANE.proxy().unwrap();
    let through = PLANE.admin().through(&proxy).unwrap();
    assert_eq!(
        PLANE
            .kubectl_as(&through)
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
        .launch(&through, program)
        .args(["get", "--raw", &path])
        .start()
        .unwrap();
    let says = |watch: &ChildProcess, name: &str| {
        let kubectl = PLANE.kubectl().namespace(&namespace);
        kubectl.run(["create", "configmap", name]).unwrap();
        eventually(name, LONG, || {
            let log = watch.log();
            if log.contains(name) { Ok(()) } else { Err(log) }
        });
    };
    says(&watch, "seen");
    assert_eq!(watch.exit_status().unwrap(), None);
    assert!(proxy.cut_all() > 0);
    assert!(watch.wait(LONG).unwrap().is_some(), "{}", watch.log_tail());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn kind_can_own_once_it_is_waited_for() {
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
