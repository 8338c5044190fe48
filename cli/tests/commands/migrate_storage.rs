//! `kubewright migrate storage` in the code; `tests/tests/storage_migration.rs` has clusters.

use crate::support::Sandbox;
use kubewright_cli::exit;

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
  release the operator; from then on, a release without this version cannot read new objects
  kubewright migrate storage Foo --cluster CONTEXT
"
    );
    let call = "\n        // Until all replicas convert.\n        .stored::<v1alpha1::Foo>()";
    assert_eq!(
        project.read("src/api/foo.rs"),
        before + &REGISTERED.replace(call, "")
    );
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
fn unknown_context_is_an_error_that_names_it() {
    let project = Sandbox::project();
    project
        .kubewright("migrate storage Fop --cluster no-such-context")
        .expect(exit::USAGE)
        .stderr_contains("manifests/crds has no definition of kind Fop");
}
