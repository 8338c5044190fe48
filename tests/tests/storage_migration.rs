//! `kubewright migrate storage KIND --cluster CONTEXT` on both API servers. The two versions of a kind have one schema.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[allow(dead_code, reason = "other suites set responses")]
#[path = "support/webhook.rs"]
mod webhook;

use std::{fs, path::Path, time::Duration};

use http::Method;
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{Project, on_both_servers};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use webhook::WebhookServer;

on_both_servers!(
    objects_are_stored_in_the_hub_before_the_code_stores_it,
    migration_waits_until_the_operator_is_rolled_out
);

/// More than a page of the command, and then some.
const OBJECTS: usize = 501;

fn definition(kind: &str, stored: &str) -> Value {
    let version = |name: &str| {
        let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
        json!({
            "name": name, "served": true, "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    };
    let lower = kind.to_lowercase();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.stored.dev")},
        "spec": {
            "group": "stored.dev", "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")},
            "versions": [version("v1alpha1"), version("v1")],
        },
    })
}

fn object(kind: &str, version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("stored.dev/{version}"), "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 1},
    })
}

/// The folder of a project whose hub is `v1`, and whose code and manifests store another version.
fn project(kind: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = "version = 1\nname = \"shop\"\nnamespace = \"shop-system\"\ngroup = \"stored.dev\"\n";
    fs::write(folder.path().join("kubewright.toml"), settings).expect("it is written");
    fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"shop\"\n").expect("it is written");
    fs::create_dir_all(folder.path().join("src")).expect("a folder");
    fs::create_dir_all(folder.path().join("manifests/crds")).expect("a folder");
    store(folder.path(), kind, "v1alpha1");
    folder
}

/// Has the code and the manifests store a version.
fn store(project: &Path, kind: &str, version: &str) {
    let calls = format!("versions::<v1::{kind}>().other::<v1alpha1::{kind}>().stored::<{version}::{kind}>()");
    let code = format!("fn register(setup: &mut Setup) {{ setup.{calls}; }}");
    fs::write(project.join("src/main.rs"), code).expect("it is written");
    let text = definition(kind, version).to_string();
    fs::write(project.join("manifests/crds/definition.yaml"), text).expect("it is written");
}

/// Runs the command, and returns whether it succeeded, and its output: the log has all runs in the folder.
fn migrate(cluster: &Cluster, project: &Path, kind: &str, more: &[&str]) -> (bool, String) {
    let command = ["migrate", "storage", kind, "--cluster", "testkit"];
    let before = fs::read_to_string(project.join(".command.log")).unwrap_or_default();
    let mut process = Project::command(project, &[&command[..], more].concat())
        .env("KUBECONFIG", cluster.admin().kubeconfig())
        .start()
        .expect("it starts");
    let status = process.wait(Duration::from_mins(1)).expect("it runs");
    let succeeded = status.expect("it ends within a minute").success();
    (succeeded, process.log().split_off(before.len()))
}

fn objects_are_stored_in_the_hub_before_the_code_stores_it(cluster: &Cluster) {
    let installed = definition("Cap", "v1alpha1");
    cluster.install_crd(&installed).expect("it is installed");
    for number in 0..OBJECTS {
        let cap = object("Cap", "v1alpha1", &format!("cap-{number}"));
        cluster.apply(&cap).expect("it is created");
    }
    let first = object("Cap", "v1", "cap-0");
    let before = cluster.get(&first).expect("it is read").expect("it exists");
    let project = project("Cap");
    let run = |more: &[&str]| migrate(cluster, project.path(), "Cap", more);

    let (succeeded, log) = run(&["--dry-run"]);
    let planned =
        "would store caps.stored.dev in v1, and rewrite its objects, which are stored in v1alpha1\n";
    assert_eq!((succeeded, &*log), (true, planned));
    let (succeeded, log) = run(&[]);
    let lines = [
        "caps.stored.dev stores v1 now; before: v1alpha1; from now on, a release without v1 cannot read new objects",
        "rewritten 500 of 501 objects",
        "rewritten 501 of 501 objects",
        "all objects of caps.stored.dev are stored in v1",
        "",
        "next, when each cluster is migrated:",
        "  kubewright migrate storage Cap",
        "  kubewright generate",
        "until then, applying the manifests has the API server store v1alpha1 again: migrate again afterwards",
    ];
    assert_eq!(
        (succeeded, log.lines().collect::<Vec<_>>()),
        (true, lines.to_vec())
    );

    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(found["spec"]["versions"][1]["storage"], true);
    // Without force, a server-side apply of the manifests does not undo the migration.
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/caps.stored.dev?fieldManager=kubectl";
    let content_type = "application/apply-patch+yaml";
    let refused = cluster.request(Method::PATCH, path, content_type, Some(&installed));
    let refused = refused
        .expect_err("another manager owns the versions")
        .to_string();
    assert!(refused.contains("conflict with \"kubewright\""), "{refused}");
    let after = cluster.get(&first).expect("it is read").expect("it exists");
    assert_ne!(
        before["metadata"]["resourceVersion"],
        after["metadata"]["resourceVersion"]
    );
    assert_eq!(before["spec"], after["spec"]);
    assert_eq!(
        before["metadata"]["managedFields"],
        after["metadata"]["managedFields"]
    );

    // The release that stores the version changes nothing in the cluster.
    store(project.path(), "Cap", "v1");
    let (succeeded, log) = run(&[]);
    assert_eq!(
        (succeeded, &*log),
        (
            true,
            "all objects of caps.stored.dev are stored in v1, nothing to do\n"
        )
    );
    let generation = found["metadata"]["generation"].clone();
    cluster
        .install_crd(&definition("Cap", "v1"))
        .expect("it is applied");
    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["metadata"]["generation"], generation);

    // The manifests of the release before are applied once more.
    cluster.install_crd(&installed).expect("it is applied");
    let (succeeded, log) = run(&[]);
    assert!(
        succeeded
            && log.starts_with("caps.stored.dev stores v1 now; before: v1alpha1")
            && log.contains("rewritten 501 of 501 objects"),
        "{log}"
    );
    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    // Once more, on a terminal: a bar that each page overwrites.
    cluster.install_crd(&installed).expect("it is applied");
    let command = ["migrate", "storage", "Cap", "--cluster", "testkit"];
    let kubeconfig = cluster.admin().kubeconfig();
    let ran = Project::run_on_terminal(project.path(), &command, kubeconfig);
    let bar = |filled: usize| "#".repeat(filled) + &".".repeat(30 - filled);
    let pages = [(29, 500), (30, 501)]
        .map(|(filled, done)| format!("\r{} rewritten {done} of 501 objects", bar(filled)));
    // The terminal ends lines with a carriage return, too.
    let progress = format!("\n{}\r\nall objects of caps.stored.dev", pages.concat());
    assert!(ran.code == 0 && ran.stdout.contains(&progress), "{ran:?}");
    // A hub that the cluster does not serve yet.
    let code = "fn register(setup: &mut Setup) { setup.versions::<v2::Cap>().other::<v1::Cap>().stored::<v1::Cap>(); }";
    fs::write(project.path().join("src/main.rs"), code).expect("it is written");
    let (succeeded, log) = run(&[]);
    assert_eq!(
        (succeeded, &*log),
        (
            false,
            "error: caps.stored.dev in the cluster does not serve v2: release the operator that serves and converts it first\n"
        )
    );
    let (succeeded, log) = migrate(cluster, project.path(), "Cup", &[]);
    assert_eq!(
        (succeeded, &*log),
        (
            false,
            "error: manifests/crds has no definition of kind Cup, only of Cap: correct the name, or run `kubewright generate`\n"
        )
    );
}

/// The definition converts by a Service; of the two replicas behind it, one is of an older release at first.
fn migration_waits_until_the_operator_is_rolled_out(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let webhook = runtime.block_on(WebhookServer::start(&["hats.default.svc"]));
    let mut installed = definition("Hat", "v1alpha1");
    installed["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {"name": "hats", "namespace": "default", "path": "/convert", "port": webhook.port},
            "caBundle": webhook.ca_bundle,
        },
    }});
    cluster.install_crd(&installed).expect("it is installed");
    let hat = object("Hat", "v1alpha1", "hat-0");
    cluster.apply(&hat).expect("it is created");
    let project = project("Hat");
    let run = || migrate(cluster, project.path(), "Hat", &[]);
    let metadata = json!({"name": "hats", "namespace": "default"});
    let labels = json!({"app": "hats"});
    // There are no cluster IPs here, so the API server calls this machine. The command looks for what the selector selects.
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {
            "type": "ExternalName", "externalName": "localhost", "selector": labels, "ports": [{"port": webhook.port}],
        },
    });
    cluster.apply(&service).expect("it is created");
    let (succeeded, log) = run();
    assert!(!succeeded);
    assert_eq!(
        log,
        "error: no Deployment is behind Service default/hats, which converts: deploy the operator first\n"
    );

    let container = json!({"name": "hats", "image": "hats"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    let deployment = cluster.apply(&deployment).expect("it is created");
    let status = json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2});
    cluster.patch_status(&deployment, &status).expect("it is written");
    let (succeeded, log) = run();
    assert!(!succeeded);
    assert!(
        log.starts_with(
            "error: Deployment default/hats is not rolled out: of 2 wanted replicas 3 exist, 1 are of this release, 2 are ready"
        ),
        "{log}"
    );
    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["spec"]["versions"][0]["storage"], true);

    // The other order: the code stores the version, and the manifests are applied before the migration.
    let versions = json!({"spec": {"versions": definition("Hat", "v1")["spec"]["versions"]}});
    cluster.merge_patch(&installed, &versions).expect("it is changed");
    let (succeeded, after_apply) = run();
    assert_eq!((succeeded, after_apply), (false, log));
    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["status"]["storedVersions"], json!(["v1alpha1", "v1"]));

    webhook.take_reviews();
    let status = json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2});
    cluster.patch_status(&deployment, &status).expect("it is written");
    // The real API server may read its Services from a cache.
    let log = eventually("it is rolled out", Duration::from_mins(1), || match run() {
        (true, log) => Ok(log),
        (false, log) => Err(log),
    });
    let done = "rewritten 1 of 1 objects\nall objects of hats.stored.dev are stored in v1\n";
    assert!(log.contains(done), "{log}");
    let reviews = webhook.take_reviews().to_string();
    let converted = r#""desiredAPIVersion":"stored.dev/v1""#;
    assert!(reviews.contains(converted), "{reviews}");
    let found = cluster.get(&installed).expect("it is read").expect("it exists");
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    let found = cluster.get(&hat).expect("it is read").expect("it exists");
    assert_eq!(found["spec"], hat["spec"]);
    for created in [&service, &deployment] {
        cluster.delete(created).expect("it is deleted");
    }
}
