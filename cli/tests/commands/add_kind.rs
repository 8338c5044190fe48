//! `kubewright add kind`.

use crate::support::Sandbox;
use kubewright_cli::exit;

#[test]
fn adds_files_and_lines_once() {
    let project = Sandbox::project();
    let before = project.files();
    project
        .kubewright("add kind BackupPlan")
        .expect(0)
        .stderr_contains("create src/api/backup_plan.rs")
        .stderr_contains("update src/main.rs");
    let after = project.files();
    let new: Vec<_> = after
        .keys()
        .filter(|name| !before.contains_key(*name))
        .map(String::as_str)
        .collect();
    assert_eq!(
        new,
        [
            "manifests/samples/backup_plan.yaml",
            "src/api/backup_plan.rs",
            "src/controllers/backup_plan.rs",
            "tests/backup_plan.rs",
        ]
    );
    assert!(
        project
            .read("src/api/backup_plan.rs")
            .contains("group = \"demo.dev\""),
        "the group of kubewright.toml"
    );
    assert_eq!(
        project
            .read("src/main.rs")
            .replace("    ", "")
            .lines()
            .skip(2)
            .collect::<Vec<_>>(),
        [
            "use kubewright::Manager;",
            "",
            "use shop::controllers::BackupPlanController;",
            "use shop::controllers::FooController;",
            "",
            "#[tokio::main]",
            "async fn main() -> kubewright::Result<()> {",
            "Manager::from_args(\"shop\")",
            ".version(env!(\"CARGO_PKG_VERSION\"))",
            ".register(FooController::register)",
            ".register(BackupPlanController::register)",
            ".run()",
            ".await",
            "}",
        ]
    );

    project
        .kubewright("add kind BackupPlan")
        .expect(0)
        .stderr_contains("nothing to do");
    assert_eq!(project.files(), after);
    // A deleted line is inserted again.
    project.edit(
        "src/main.rs",
        "        .register(BackupPlanController::register)\n",
        "",
    );
    project.kubewright("add kind BackupPlan").expect(0);
    assert_eq!(project.files(), after);
}

#[test]
fn duplicate_kinds_are_refused() {
    let project = Sandbox::project();
    let before = project.files();
    project
        .kubewright("add kind Foo --group other.dev")
        .expect(exit::USAGE)
        .stderr_contains("kind Foo already exists in src/api/foo.rs (demo.dev/v1alpha1)");
    project
        .kubewright("add kind Foo --api-version v1")
        .expect(exit::USAGE);
    project.kubewright("add kind Deployment").expect(exit::USAGE);
    assert_eq!(project.files(), before);
    project.write("src/api/bar.rs", "// something else\n");
    project
        .kubewright("add kind Bar")
        .expect(exit::USAGE)
        .stderr_contains("src/api/bar.rs already exists");
}

#[test]
fn user_code_and_formatting_are_kept() {
    let project = Sandbox::project();
    let main = "use kubewright::Manager;   // ours\nuse shop::controllers::{FooController};\n\nfn  main( ) {\n    \
                // Strange   layout.\n    let m = Manager::from_args( \"shop\" );\n    m.register( FooController::register ).run();\n}\n";
    project.write("src/main.rs", main);
    project.write(
        "src/controllers/mod.rs",
        "//! Mine.\n\npub mod foo; // the first\n",
    );
    project.kubewright("add kind Bar").expect(0);
    assert_eq!(
        project.read("src/main.rs"),
        main.replace(
            "{FooController};\n",
            "{FooController};\nuse shop::controllers::BarController;\n"
        )
        .replace(
            "::register ).run",
            "::register ).register(BarController::register).run"
        )
        .replace(
            "use shop::controllers::{FooController};\nuse shop::controllers::BarController;\n",
            "use shop::controllers::BarController;\nuse shop::controllers::{FooController};\n"
        )
    );
    assert_eq!(
        project.read("src/controllers/mod.rs"),
        "//! Mine.\n\npub mod bar;\npub mod foo; // the first\n\npub use bar::BarController;\n"
    );
}

#[test]
fn missing_insertion_point_is_an_error_with_the_line_to_add() {
    let project = Sandbox::project();
    project.write("src/main.rs", "fn main() { shop::start() }\n");
    let before = project.files();
    project
        .kubewright("add kind Bar")
        .expect(exit::NO_INSERTION_POINT)
        .stderr_contains("src/main.rs")
        .stderr_contains(".register(BarController::register)")
        .stderr_contains("nothing was written");
    project.write("src/main.rs", "fn main( {\n");
    project
        .kubewright("add kind Bar")
        .expect(exit::NO_INSERTION_POINT)
        .stderr_contains("line 1");
    project.write("src/main.rs", "fn main() { shop::start() }\n");
    assert_eq!(project.files(), before);
}

#[test]
fn files_with_uncommitted_changes_are_not_changed() {
    let project = Sandbox::project();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    // Only files in the plan count.
    project.edit("README.md", "# shop", "# mine");
    project.kubewright("add kind Bar").expect(0);
    let before = project.files();
    project
        .kubewright("add kind Baz")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/api/mod.rs, src/controllers/mod.rs, src/main.rs")
        .stderr_contains("--allow-dirty");
    assert_eq!(project.files(), before);
    project.kubewright("add kind Baz --allow-dirty").expect(0);

    // Untracked files do not count.
    let fresh = Sandbox::project();
    fresh.kubewright("add kind Bar").expect(0);
    fresh.kubewright("add kind Baz").expect(0);
}

#[test]
fn dry_run_writes_nothing() {
    let project = Sandbox::project();
    let before = project.files();
    let planned = project
        .kubewright("add kind Bar --cluster-scoped --dry-run")
        .expect(0);
    assert_eq!(planned.stdout.lines().count(), 7, "{}", planned.stdout);
    assert_eq!(project.files(), before);
    project.kubewright("add kind Bar --cluster-scoped").expect(0);
    assert!(!project.read("src/api/bar.rs").contains("namespaced,"));
    let _ = std::fs::metadata(project.cwd.join("kubewright.toml")).unwrap();
}
