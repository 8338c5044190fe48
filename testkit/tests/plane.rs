//! Features of a running control plane.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use kubewright_testkit::audit::Stage;
use kubewright_testkit::{AuditLog, ControlPlane, Kubectl, PermissionUnit, eventually};
use serde_json::json;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

/// With the garbage collector and one user in a group.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::builder()
        .controller_manager(&["garbage-collector-controller"])
        .user("alice", &["readers"])
        .start()
        .unwrap()
});

/// Binds a role in a namespace to the subject.
fn bind(namespace: &str, rules: &serde_json::Value, subject: &serde_json::Value) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": "r" }, "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "r" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
            "subjects": [subject],
        },
    ]});
    PLANE
        .kubectl()
        .namespace(namespace)
        .stdin(list.to_string())
        .run(["apply", "--server-side", "-f", "-"])
        .unwrap();
}

/// Waits until the authorizer knows a new permission. The check itself is never forbidden.
fn wait_for_permission(kubectl: &Kubectl, permission: &[&str]) {
    eventually("the permission is effective", TIMEOUT, || {
        let output = kubectl
            .try_run([&["auth", "can-i"], permission].concat())
            .unwrap();
        if output.success() { Ok(()) } else { Err(output) }
    });
}

fn config_map(name: &str, owner: Option<&serde_json::Value>) -> String {
    let mut metadata = json!({ "name": name });
    if let Some(owner) = owner {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string()
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn plane_is_ready_and_has_the_built_version() {
    assert_eq!(PLANE.kubectl().run(["get", "--raw", "/readyz"]).unwrap(), "ok");
    let versions = PLANE.kubectl().json(["version"]).unwrap();
    let version = versions["serverVersion"]["gitVersion"].as_str().unwrap();
    assert!(version.starts_with("v1."), "{versions}");
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version, kubewright_control_plane::kubernetes_version());
    }
    assert!(PLANE.url().starts_with("https://127.0.0.1:"));
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn clients_verify_the_certificate() {
    let ca = std::fs::read_to_string(PLANE.certificate_authority()).unwrap();
    assert_eq!(ca.matches("BEGIN CERTIFICATE").count(), 1);
    // Without the CA, the client rejects the connection.
    let kubeconfig = std::fs::read_to_string(PLANE.admin().kubeconfig()).unwrap();
    let mut kubeconfig: serde_json::Value = serde_json::from_str(&kubeconfig).unwrap();
    kubeconfig["clusters"][0]["cluster"]
        .as_object_mut()
        .unwrap()
        .remove("certificate-authority")
        .unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    let arguments = [
        "--kubeconfig",
        file.path().to_str().unwrap(),
        "get",
        "--raw",
        "/readyz",
    ];
    let output = PLANE.kubectl().try_run(arguments).unwrap();
    assert!(
        output.stderr.contains("certificate signed by unknown authority"),
        "{output}"
    );
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn namespaces_and_kubeconfigs_isolate_tests() {
    let (one, two) = (
        PLANE.create_namespace("apart").unwrap(),
        PLANE.create_namespace("apart").unwrap(),
    );
    assert_ne!(one, two);
    let admin = PLANE.admin().in_namespace(&one).unwrap();
    assert!(admin.kubeconfig().is_absolute());
    PLANE
        .kubectl_as(&admin)
        .run(["create", "configmap", "mine"])
        .unwrap();
    assert!(
        PLANE
            .kubectl()
            .namespace(&one)
            .json(["get", "configmap", "mine"])
            .is_ok()
    );
    let error = PLANE
        .kubectl()
        .namespace(&two)
        .json(["get", "configmap", "mine"])
        .unwrap_err();
    assert!(error.to_string().contains("(NotFound)"), "{error}");
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn user_has_exactly_the_permissions_of_its_group() {
    let namespace = PLANE.create_namespace("alice").unwrap();
    let alice = PLANE.user("alice").unwrap();
    assert!(PLANE.user("bob").is_none());
    let rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }]);
    bind(
        &namespace,
        &rules,
        &json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers" }),
    );
    let kubectl = PLANE.kubectl_as(alice).namespace(&namespace);
    wait_for_permission(&kubectl, &["list", "configmaps"]);
    kubectl.run(["get", "configmaps"]).unwrap();
    let rejected = kubectl.try_run(["create", "configmap", "x"]).unwrap();
    assert!(
        rejected.stderr.contains("forbidden") && rejected.stderr.contains("\"alice\""),
        "{rejected}"
    );
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn audit_finds_forbidden_request_and_unused_unit() {
    let namespace = PLANE.create_namespace("audit").unwrap();
    let identity = PLANE.service_account(&namespace, "operator").unwrap();
    assert_eq!(
        identity.user(),
        format!("system:serviceaccount:{namespace}:operator")
    );
    let rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list"] }]);
    let subject = json!({ "kind": "ServiceAccount", "name": "operator", "namespace": namespace });
    bind(&namespace, &rules, &subject);
    let units = [
        PermissionUnit::new("", "configmaps", ["get", "list"]).in_namespace(&namespace),
        PermissionUnit::new("", "secrets", ["get", "list"]).in_namespace(&namespace),
    ];

    let kubectl = PLANE.kubectl_as(&identity);
    wait_for_permission(&kubectl, &["list", "secrets"]);
    kubectl.run(["get", "configmaps"]).unwrap();
    let log = PLANE.audit().unwrap();
    log.assert_nothing_forbidden(identity.user());
    assert_eq!(log.unused_units(&units, identity.user()), [&units[1]]);

    kubectl.run(["get", "secrets"]).unwrap();
    PLANE.audit().unwrap().assert_exact(&units, identity.user());

    assert!(
        !kubectl
            .try_run(["get", "deployments.apps", "web"])
            .unwrap()
            .success()
    );
    let log = PLANE.audit().unwrap();
    let forbidden = log.by_user(identity.user()).forbidden();
    let event = forbidden.iter().next().unwrap();
    assert_eq!(
        (forbidden.len(), event.verb.as_str(), event.code, event.stage),
        (1, "get", 403, Stage::ResponseComplete)
    );
    assert_eq!(
        (
            event.api_group.as_str(),
            event.resource.as_str(),
            event.name.as_str()
        ),
        ("apps", "deployments", "web")
    );
    assert!(event.user_agent.starts_with("kubectl"), "{}", event.user_agent);
    let mismatch = log.check_exact(&units, identity.user()).unwrap_err().to_string();
    assert!(
        mismatch.contains(&format!("get apps deployments {namespace}/web: 403 ")),
        "{mismatch}"
    );
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn open_watch_is_in_the_audit_log() {
    let namespace = PLANE.create_namespace("watch").unwrap();
    let watches = || -> AuditLog {
        let log = PLANE.audit().unwrap();
        log.on_resource("", "configmaps")
            .filter(|event| event.verb == "watch" && event.namespace == namespace)
    };
    let mut watch = PLANE
        .launch(PLANE.admin(), kubectl_program())
        .args([
            "get",
            "configmaps",
            "--watch",
            "--output=name",
            "--namespace",
            &namespace,
        ])
        .start()
        .unwrap();
    eventually("the watch is open", TIMEOUT, || {
        watches()
            .iter()
            .any(|event| event.stage == Stage::ResponseStarted && event.code == 200)
    });
    PLANE
        .kubectl()
        .namespace(&namespace)
        .run(["create", "configmap", "seen"])
        .unwrap();
    eventually("kubectl prints the object", TIMEOUT, || {
        watch.log().contains("configmap/seen").then_some(())
    });
    watch.kill().unwrap();
    eventually("the watch is closed", TIMEOUT, || {
        watches()
            .iter()
            .all(|event| event.stage == Stage::ResponseComplete)
    });
    assert_eq!(watches().len(), 1);
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn blocking_owner_reference_needs_and_uses_the_finalizers_permission() {
    let namespace = PLANE.create_namespace("owner").unwrap();
    let admin = PLANE.kubectl().namespace(&namespace);
    admin
        .clone()
        .stdin(config_map("owner", None))
        .run(["apply", "--server-side", "-f", "-"])
        .unwrap();
    let owner = admin.json(["get", "configmap", "owner"]).unwrap();

    let identity = PLANE.service_account(&namespace, "operator").unwrap();
    let subject = json!({ "kind": "ServiceAccount", "name": "operator", "namespace": namespace });
    let mut rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch", "get"] }]);
    bind(&namespace, &rules, &subject);
    let units = [
        PermissionUnit::new("", "configmaps", ["create", "patch"]),
        PermissionUnit::new("", "configmaps/finalizers", ["update"]).in_namespace(&namespace),
    ];
    let kubectl = PLANE.kubectl_as(&identity);
    let apply = |text: String| {
        kubectl
            .clone()
            .stdin(text)
            .try_run(["apply", "--server-side", "-f", "-"])
            .unwrap()
    };

    wait_for_permission(&kubectl, &["patch", "configmaps"]);
    assert!(apply(config_map("free", None)).success());
    assert_eq!(
        PLANE.audit().unwrap().unused_units(&units, identity.user()),
        [&units[1]]
    );

    let rejected = apply(config_map("owned", Some(&owner)));
    assert!(
        rejected.stderr.contains("cannot set blockOwnerDeletion"),
        "{rejected}"
    );
    let log = PLANE.audit().unwrap();
    assert_eq!(
        log.unused_units(&units, identity.user()),
        [&units[1]],
        "a forbidden request does not use a unit"
    );
    assert_eq!(
        log.by_user(identity.user()).forbidden().len(),
        1,
        "a rejection by admission counts"
    );

    rules
        .as_array_mut()
        .unwrap()
        .push(json!({ "apiGroups": [""], "resources": ["configmaps/finalizers"], "verbs": ["update"] }));
    bind(&namespace, &rules, &subject);
    wait_for_permission(&kubectl, &["update", "configmaps", "--subresource=finalizers"]);
    let allowed = apply(config_map("owned", Some(&owner)));
    assert!(allowed.success(), "{allowed}");
    assert_eq!(
        PLANE.audit().unwrap().unused_units(&units, identity.user()),
        Vec::<&PermissionUnit>::new()
    );

    // The garbage collector runs.
    admin
        .run(["delete", "configmap", "owner", "--cascade=background"])
        .unwrap();
    eventually("the owned object is collected", TIMEOUT, || {
        let output = admin.try_run(["get", "configmap", "owned"]).unwrap();
        if output.stderr.contains("(NotFound)") {
            Ok(())
        } else {
            Err(output.stdout)
        }
    });
    assert!(admin.json(["get", "configmap", "free"]).is_ok());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn bodies_of_secrets_and_tokens_are_not_logged() {
    let namespace = PLANE.create_namespace("secret").unwrap();
    PLANE
        .kubectl()
        .namespace(&namespace)
        .run([
            "create",
            "secret",
            "generic",
            "s",
            "--from-literal=key=c3VwZXItc2VjcmV0",
        ])
        .unwrap();
    let identity = PLANE.service_account(&namespace, "somebody").unwrap();
    assert_eq!(
        PLANE
            .audit()
            .unwrap()
            .on_resource("", "secrets")
            .writes()
            .filter(|e| e.namespace == namespace)
            .len(),
        1
    );
    let text = std::fs::read_to_string(PLANE.folder().join("audit.jsonl")).unwrap();
    assert!(!text.contains(identity.token()));
    assert!(!text.contains("YzNWd1pYSXRjMlZqY21WMA"), "the value as base64");
}

/// The kubectl of the control plane, as a program under test.
fn kubectl_program() -> std::path::PathBuf {
    kubewright_testkit::binaries::Binaries::find()
        .unwrap()
        .kubectl()
        .unwrap()
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn shared_plane_is_a_singleton() {
    let (one, two) = (ControlPlane::shared(), ControlPlane::shared());
    assert!(std::ptr::eq(one, two));
    assert_ne!(one.url(), PLANE.url());
    assert_eq!(one.kubectl().run(["get", "--raw", "/readyz"]).unwrap(), "ok");
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn kubebuilder_assets_is_respected() {
    let built = kubewright_testkit::binaries::Binaries::find().unwrap();
    let assets = tempfile::tempdir().unwrap();
    for program in ["etcd", "kube-apiserver", "kubectl"] {
        std::os::unix::fs::symlink(built.folder().join(program), assets.path().join(program)).unwrap();
    }
    let run = |controllers: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_testkit-control-plane"))
            .args(controllers)
            .env("KUBEBUILDER_ASSETS", assets.path())
            .env("KUBEWRIGHT_CACHE", "/nowhere")
            .output()
            .unwrap()
    };
    let output = run(&[]);
    assert!(
        output.stdout.starts_with(b"KUBECONFIG=/"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let output = run(&["garbage-collector-controller"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("does not contain kube-controller-manager"),
        "{error}"
    );
    assert!(error.contains(assets.path().to_str().unwrap()), "{error}");
}
