//! The manifests of an operator with webhooks, by `[webhooks] certificates` and by scope: snapshots in `tests/golden/certificates`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli certificates` updates them.

use std::{fmt::Write as _, fs, path::Path};

use crate::support::{Sandbox, manifests};
use serde_json::{Value, json};

/// Returns the manifests of an operator with both webhooks, which converts a kind, as it prints them.
pub(crate) fn manifests_with_webhooks() -> Value {
    let mut manifests = manifests();
    let service = |path: &str| {
        let service = json!({"name": "shop-webhooks", "namespace": "shop-system", "path": path, "port": 443});
        json!({ "service": service })
    };
    let configuration = |kind: &str, name: &str, path: &str| {
        let own =
            json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop-system"]});
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "shop"},
            "webhooks": [{
                "name": name, "admissionReviewVersions": ["v1"], "clientConfig": service(path), "failurePolicy": "Ignore",
                "namespaceSelector": {"matchExpressions": [own]}, "sideEffects": "None",
            }],
        })
    };
    let metadata = json!({"name": "shop-webhooks", "namespace": "shop-system"});
    let port = json!({"name": "webhooks", "port": 443, "targetPort": "webhooks"});
    manifests["webhooks"] = json!({
        "validating": configuration("ValidatingWebhookConfiguration", "validate-v1alpha1-foo.demo.dev", "/validate"),
        "mutating": configuration("MutatingWebhookConfiguration", "mutate-v1alpha1-foo.demo.dev", "/mutate"),
        "service": {
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app.kubernetes.io/name": "shop"}, "ports": [port]},
        },
        "secret": {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata},
    });
    manifests["kinds"][0]["crd"]["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": service("/convert"), "conversionReviewVersions": ["v1"]},
    });
    let permission = |scope: &str, group: &str, resource: &str, name: &str, verbs: &[&str]| {
        json!({
            "unit": "webhook certificate", "scope": scope, "apiGroups": [group], "resources": [resource],
            "resourceNames": [name], "verbs": verbs, "why": "webhook certificate",
        })
    };
    let group = "admissionregistration.k8s.io";
    let patch = &["get", "patch"];
    let permissions = [
        permission(
            "operator",
            "",
            "secrets",
            "shop-webhooks",
            &["get", "update", "watch"],
        ),
        permission("cluster", group, "validatingwebhookconfigurations", "shop", patch),
        permission("cluster", group, "mutatingwebhookconfigurations", "shop", patch),
        permission(
            "cluster",
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "foos.demo.dev",
            patch,
        ),
        json!({"unit": "client Node", "scope": "cluster", "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}),
    ];
    if let Some(all) = manifests["permissions"].as_array_mut() {
        all.extend(permissions);
    }
    manifests
}

/// Generates a project's files with a setting, and compares those that it concerns with the snapshot. Returns what generate printed.
fn compare(name: &str, old: &str, new: &str) -> String {
    let project = Sandbox::project();
    project.set_manifests(&manifests_with_webhooks());
    project.edit("kubewright.toml", old, new);
    let printed = project.kubewright("generate").expect(0).stderr;
    project.kubewright("generate --check").expect(0);
    let mut found = String::new();
    for (path, bytes) in project.files() {
        let folders = [
            "manifests/crds/",
            "manifests/deploy/operator",
            "manifests/rbac/",
            "manifests/webhooks/",
        ];
        if folders.iter().any(|folder| path.starts_with(folder)) {
            let text = String::from_utf8(bytes).unwrap();
            let body: Vec<_> = text.lines().filter(|line| !line.starts_with("# ")).collect();
            writeln!(found, "=== {path}\n{}", body.join("\n")).unwrap();
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/certificates");
    let file = golden.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(golden).unwrap();
        fs::write(file, found).unwrap();
        return printed;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        found,
        expected,
        "{}: run with UPDATE_GOLDEN=1 to update it",
        file.display()
    );
    printed
}

#[test]
fn own_certificates_need_a_secret_and_permissions() {
    let printed = compare("own", "", "");
    assert!(!printed.contains("warning"), "{printed}");
}

#[test]
fn cert_manager_makes_the_certificate_and_writes_the_bundles() {
    compare("cert-manager", "= \"own\"", "= \"cert-manager\"");
}

#[test]
fn the_users_certificate_is_mounted() {
    compare("files", "= \"own\"", "= \"files\"");
}

#[test]
fn cluster_wide_permissions_of_a_namespaced_operator_are_a_file_of_their_own() {
    let printed = compare("namespaced", "scope = \"cluster\"", "scope = \"namespaced\"");
    let warning = "warning: manifests/rbac/webhooks.yaml has permissions outside of the watched namespaces: without them the operator cannot \
                   write its CA bundle into validatingwebhookconfigurations/shop, mutatingwebhookconfigurations/shop, \
                   customresourcedefinitions/foos.demo.dev, and the API server does not call it; apply the file, or set \
                   `certificates = \"cert-manager\"` in kubewright.toml";
    assert!(printed.contains(warning), "{printed}");
    let warning = "warning: webhooks never review objects in the operator's own namespace, shop-system";
    assert!(printed.contains(warning), "{printed}");
}

#[test]
fn settings_can_be_changed_back() {
    let project = Sandbox::project();
    project.set_manifests(&manifests_with_webhooks());
    project.kubewright("generate").expect(0);
    let own = project.files();
    for setting in ["cert-manager", "files"] {
        project.edit("kubewright.toml", "= \"own\"", &format!("= \"{setting}\""));
        project.kubewright("generate").expect(0);
        assert_ne!(project.files(), own);
        project.edit("kubewright.toml", &format!("= \"{setting}\""), "= \"own\"");
        project.kubewright("generate").expect(0);
        assert_eq!(project.files(), own, "{setting}");
    }
    project.edit("kubewright.toml", "= \"own\"", "= \"acme\"");
    project
        .kubewright("generate")
        .expect(kubewright_cli::exit::PROJECT)
        .stderr_contains("expected one of `own`, `cert-manager`, `files`");
}
