//! `kubewright rename kind` and `kubewright rename group`.

use crate::support::Sandbox;
use kubewright_cli::exit;

/// Runs two commands: every file is as before, and the first command is repeated with the same result.
#[track_caller]
fn there_and_back(project: &Sandbox, [there, back]: [&str; 2]) {
    let before = project.files();
    project.kubewright(there).expect(0);
    let renamed = project.files();
    assert_ne!(renamed, before);
    project.kubewright(back).expect(0);
    let after = project.files();
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    for file in before.keys() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&after[file]), text(&before[file]), "{file} after {there}");
    }
    project.kubewright(there).expect(0);
    assert_eq!(project.files(), renamed);
    project.kubewright(back).expect(0);
}

/// A project with everything that commands add for a kind.
fn project() -> Sandbox {
    let project = Sandbox::project().with_rustfmt();
    for command in [
        "add kind BackupPlan",
        "add webhook BackupPlan --validating --defaulting",
        "add version BackupPlan v1",
        "add controller Node --owns BackupPlan",
    ] {
        project.kubewright(command).expect(0);
    }
    project
}

#[test]
fn renaming_there_and_back_changes_nothing() {
    let project = project();
    there_and_back(
        &project,
        ["rename kind BackupPlan Zone", "rename kind Zone BackupPlan"],
    );
    there_and_back(
        &project,
        [
            "rename kind Foo ArchiveOfThings",
            "rename kind ArchiveOfThings Foo",
        ],
    );
    there_and_back(
        &project,
        [
            "rename group demo.dev zones.example.com",
            "rename group zones.example.com demo.dev",
        ],
    );
}

/// A renamed kind is what `new` writes for a kind of this name, but for the text of its sample.
#[test]
fn renamed_scaffold_is_that_of_the_new_name() {
    for (new, arguments) in [("Gizmo", ""), ("DNSRecord", " --cluster-scoped")] {
        let renamed = Sandbox::new().with_rustfmt();
        let written = Sandbox::new().with_rustfmt();
        let create =
            |kind| format!("new shop --kind {kind} --group demo.dev --kubewright-version 0.1.0{arguments}");
        renamed.kubewright(&create("Foo")).expect(0);
        written.kubewright(&create(new)).expect(0);
        let renamed = renamed.in_folder("shop");
        renamed.kubewright(&format!("rename kind Foo {new}")).expect(0);
        let expected = written.in_folder("shop").files();
        let found = renamed.files();
        let is_code = |file: &&String| file.starts_with("src/") || file.starts_with("tests/");
        for file in expected.keys().filter(is_code) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(
                found.get(file).map(|found| text(found)),
                Some(text(&expected[file])),
                "{file}"
            );
        }
        let sample = renamed.read(&format!(
            "manifests/samples/{}.yaml",
            if new == "Gizmo" { "gizmo" } else { "dns_record" }
        ));
        assert!(sample.contains(&format!("kind: {new}\n")), "{sample}");
    }
}

#[test]
fn steps_for_clusters_and_places_that_are_not_changed_are_printed() {
    let project = Sandbox::project();
    project.write("README.md", "# shop\n\nIt keeps a Foo.\n");
    project.edit(
        "src/main.rs",
        "    Manager::from_args",
        "    // Starts with foos.\n    Manager::from_args",
    );
    project
        .kubewright("rename kind Foo Bar")
        .expect(0)
        .stderr_contains("these name Foo and are not changed:\nREADME.md:3\nCargo.toml:23\nsrc/main.rs:9\n")
        .stderr_contains("delete src/api/foo.rs: renamed to src/api/bar.rs")
        .stderr_contains("kubectl delete foos.demo.dev -A --all --cascade=orphan")
        .stderr_contains("kubectl delete crd foos.demo.dev");
    project
        .kubewright("rename group demo.dev net.demo.dev")
        .expect(0)
        .stderr_contains("update kubewright.toml")
        .stderr_contains("kubectl delete crd bars.demo.dev");
    assert!(
        project
            .read("kubewright.toml")
            .contains("\ngroup = \"net.demo.dev\"\n")
    );
    assert!(
        project
            .read("manifests/samples/bar.yaml")
            .starts_with("apiVersion: net.demo.dev/v1alpha1\nkind: Bar\n")
    );
}

#[test]
fn names_of_fields_stay() {
    let project = Sandbox::project();
    let field = "    pub replicas: i32,\n";
    project.edit(
        "src/api/foo.rs",
        field,
        &format!("{field}    /// Foos.\n    pub foo_count: i32,\n"),
    );
    project.edit(
        "src/controllers/foo.rs",
        "let name = key",
        "let foo_copy = foo.spec.foo_count;\n        let name = key",
    );
    project.kubewright("rename kind Foo Bar").expect(0);
    assert!(
        project
            .read("src/api/bar.rs")
            .contains("    pub foo_count: i32,\n")
    );
    assert!(
        project
            .read("src/controllers/bar.rs")
            .contains("let bar_copy = bar.spec.foo_count;")
    );
}

#[test]
fn refusals_write_nothing() {
    let project = Sandbox::project();
    project.kubewright("add kind Other --group other.dev").expect(0);
    project.write(
        "src/extra.rs",
        "pub fn f(_: crate::api::foo::Foo) {\n    struct Bar;\n}\n",
    );
    project.write("tests/groups.rs", "const A: &str = \"taken.dev/v1\";\n");
    project.write("tests/used.rs", "fn f() {}\n");
    let before = project.files();
    for (arguments, expected) in [
        (
            "kind Foo Bar",
            "Bar is in use, so the renaming could not be undone:\nsrc/extra.rs:2\n",
        ),
        ("kind Foo Other", "kind Other already exists in src/api/other.rs"),
        ("kind Foo foo", "a kind has 1 to 50 characters"),
        ("kind Missing Bar", "Missing"),
        ("kind Foo Used", "tests/used.rs already exists"),
        ("group demo.dev k8s.io", "groups under `k8s.io` are protected"),
        (
            "group missing.dev new.dev",
            "no kind of the project has the group missing.dev: its groups are demo.dev, other.dev",
        ),
        ("group demo.dev other.dev", "other.dev is in use"),
        ("group demo.dev taken.dev", "tests/groups.rs:1"),
    ] {
        project
            .kubewright(&format!("rename {arguments}"))
            .expect(exit::USAGE)
            .stderr_contains(expected);
    }
    assert_eq!(project.files(), before);
}

#[test]
fn uncommitted_changes_are_not_overwritten() {
    let project = Sandbox::project();
    project.git(&["init", "-q"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "start"]);
    project.edit("src/api/foo.rs", "The desired state.", "The wanted state.");
    project
        .kubewright("rename kind Foo Bar")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/api/foo.rs");
    project
        .kubewright("rename kind Foo Bar --allow-dirty --dry-run")
        .expect(0);
    project.kubewright("rename kind Foo Bar --allow-dirty").expect(0);
    assert!(project.read("src/api/bar.rs").contains("The wanted state."));
}
