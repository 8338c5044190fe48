//! `kubewright migrate storage` in the code; `tests/tests/storage_migration.rs` has clusters.

use std::process::Command;

use crate::support::Sandbox;
use kubewright_apiserver::ApiServer;
use kubewright_cli::exit;
use serde_json::json;

const REGISTERED: &str = "
pub fn register_versions(setup: &mut kubewright::controller::Setup) {
    setup
        .versions::<v1::Foo>()
        .other::<v1alpha1::Foo>()
        // Until all replicas convert.
        .stored::<v1alpha1::Foo>();
}
";

#[test]
fn hub_is_stored_and_the_next_commands_are_printed() {
    let project = Sandbox::project();
    let before = project.read("src/api/foo.rs");
    project.write("src/api/foo.rs", &(before.clone() + REGISTERED));
    let files = project.files();
    let planned = project.kubewright("migrate storage Foo --dry-run").expect(0);
    assert_eq!(planned.stdout, "update src/api/foo.rs\n");
    assert_eq!(project.files(), files);

    let migrated = project.kubewright("migrate storage Foo --allow-dirty").expect(0);
    assert_eq!(
        migrated.stderr,
        "update src/api/foo.rs

next:
  kubewright generate
  kubewright migrate storage Foo --cluster CONTEXT
    (for each cluster where it did not run yet: the manifests store the new version now, and applying them checks no replicas)
  release the operator
"
    );
    // As rustfmt would have it.
    let registered = "
pub fn register_versions(setup: &mut kubewright::controller::Setup) {
    setup.versions::<v1::Foo>().other::<v1alpha1::Foo>();
}
";
    assert_eq!(project.read("src/api/foo.rs"), before + registered);
    project
        .kubewright("migrate storage Foo")
        .expect(0)
        .stderr_contains("the code stores Foo in the version that controllers use, nothing to do");
}

#[test]
fn kind_without_versions_is_refused() {
    let project = Sandbox::project();
    project
        .kubewright("migrate storage Foo")
        .expect(exit::USAGE)
        .stderr_contains("error: the code has no versions of kind Foo: `kubewright add version` adds one");
}

#[test]
fn uncommitted_changes_are_kept() {
    let project = Sandbox::project();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    let before = project.read("src/api/foo.rs");
    project.write("src/api/foo.rs", &(before + REGISTERED));
    let files = project.files();
    project
        .kubewright("migrate storage Foo")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/api/foo.rs would be changed and has uncommitted changes");
    assert_eq!(project.files(), files);
}

#[test]
fn unknown_kind_is_refused() {
    Sandbox::project()
        .kubewright("migrate storage Fop --cluster no-such-context")
        .expect(exit::USAGE)
        .stderr_contains("manifests/crds has no definition of kind Fop");
}

/// A project whose code has the version v1alpha1 of Foo, which is not stored any more.
fn migrated() -> Sandbox {
    let project = Sandbox::project();
    project.kubewright("add version Foo v1").expect(0);
    project.kubewright("migrate storage Foo --allow-dirty").expect(0);
    project.write("manifests/crds/foos.yaml", &definition("demo.dev"));
    project
}

#[test]
fn unknown_context_is_an_error_that_names_it() {
    let project = migrated();
    let files = project.files();
    for command in ["migrate storage Foo", "remove version Foo v1alpha1 --allow-dirty"] {
        let refused = project.kubewright(&format!("{command} --cluster no-such-context"));
        assert_ne!(refused.code, 0, "{command}");
        refused.stderr_contains("error: cannot use the context \"no-such-context\" of your kubeconfig");
    }
    assert_eq!(project.files(), files);
}

#[test]
fn cluster_without_the_definition_is_an_error_that_names_the_context() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(ApiServer::start()).unwrap();
    let project = migrated();
    let kubeconfig = project.beside("kubeconfig");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let files = project.files();
    for command in ["migrate storage Foo", "remove version Foo v1alpha1 --allow-dirty"] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .current_dir(&project.cwd)
            .args(format!("{command} --cluster kubewright").split(' '))
            .env("KUBECONFIG", &kubeconfig)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        let expected = "error: the cluster of context \"kubewright\" has no CustomResourceDefinition foos.demo.dev: correct the context";
        assert!(
            !output.status.success() && printed.starts_with(expected),
            "{command}: {printed}"
        );
    }
    assert_eq!(project.files(), files);
}

#[test]
fn kind_of_two_groups_is_named_with_its_group() {
    let project = Sandbox::project();
    project.write("manifests/crds/foos.yaml", &definition("demo.dev"));
    project.write("manifests/crds/other.yaml", &definition("other.dev"));
    project
        .kubewright("migrate storage Foo --cluster no-such-context")
        .expect(exit::USAGE)
        .stderr_contains(
            "error: manifests/crds has several kinds of this name: name one of Foo.demo.dev, Foo.other.dev",
        );
    project
        .kubewright("migrate storage Foo.third.dev --cluster no-such-context")
        .expect(exit::USAGE)
        .stderr_contains("manifests/crds has no definition of kind Foo.third.dev, only of Foo, Foo");
    // The definition was found, so the command goes on to the cluster.
    let found = project.kubewright("migrate storage Foo.other.dev --cluster no-such-context");
    found.stderr_contains("cannot use the context \"no-such-context\"");
}

#[test]
fn code_of_two_groups_is_named_with_its_group() {
    let project = Sandbox::project();
    let before = project.read("src/api/foo.rs");
    let other = before.replace("demo.dev", "other.dev");
    project.write("src/api/foo.rs", &(before + REGISTERED));
    project.write("src/other/foo.rs", &(other + REGISTERED));
    let files = project.files();
    project
        .kubewright("migrate storage Foo --allow-dirty")
        .expect(exit::USAGE)
        .stderr_contains("name one of Foo.demo.dev, Foo.other.dev");
    project
        .kubewright("migrate storage Foo.third.dev --allow-dirty")
        .expect(exit::USAGE)
        .stderr_contains("error: the code has no versions of kind Foo.third.dev");
    assert_eq!(project.files(), files);
    let migrated = project
        .kubewright("migrate storage Foo.other.dev --allow-dirty")
        .expect(0)
        .stderr;
    assert!(
        migrated.starts_with("update src/other/foo.rs\n\nnext:")
            && migrated.contains("kubewright migrate storage Foo.other.dev --cluster CONTEXT"),
        "{migrated}"
    );
}

fn definition(group: &str) -> String {
    let version = json!({"name": "v1", "served": true, "storage": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("foos.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos"}, "versions": [version],
        },
    });
    definition.to_string()
}
