//! `kubewright new`.

use crate::support::Sandbox;
use clap::CommandFactory;
use kubewright_cli::{args::Cli, exit};

const NEW: &str = "new shop --kind Foo --group demo.dev --kubewright-version 0.1.0";

#[test]
fn makes_a_project_of_about_twenty_files_in_a_fresh_repository() {
    let folder = Sandbox::new();
    let made = folder
        .kubewright(NEW)
        .expect(0)
        .says("created shop with 21 files");
    assert_eq!(made.stdout, "");
    assert_eq!(folder.files().len(), 21);
    let in_project = folder.in_folder("shop");
    in_project.git(&["rev-parse", "--is-inside-work-tree"]);
    let head = std::process::Command::new("git")
        .current_dir(&in_project.cwd)
        .args(["rev-parse", "-q", "--verify", "HEAD"])
        .status();
    assert!(!head.unwrap().success(), "something was committed");
    assert!(in_project.read("Cargo.toml").contains("kubewright = \"=0.1.0\""));
}

#[test]
fn works_without_git_and_elsewhere() {
    let folder = Sandbox::new().without_git();
    folder
        .kubewright(&format!("{NEW} --path deep/er"))
        .expect(0)
        .says("note: git is not at hand");
    assert!(folder.files().contains_key("deep/er/Cargo.toml"));
}

#[test]
fn a_surrounding_workspace_is_named_one_beside_is_not() {
    let folder = Sandbox::new();
    folder.write("workspace/Cargo.toml", "[workspace]\n");
    let workspace = folder.in_folder("workspace");
    workspace
        .kubewright(NEW)
        .expect(0)
        .says("add it to `members` or `exclude` there");
    let beside = workspace.kubewright(&format!("{NEW} --path ../beside")).expect(0);
    assert!(!beside.stderr.contains("workspace"), "{}", beside.stderr);
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let folder = Sandbox::new();
    let planned = folder.kubewright(&format!("{NEW} --dry-run")).expect(0);
    assert_eq!(planned.stdout.lines().count(), 21);
    assert!(
        planned.stdout.contains("create src/api/foo.rs\n"),
        "{}",
        planned.stdout
    );
    assert!(folder.files().is_empty() && !folder.cwd.join("shop").exists());
}

#[test]
fn what_is_there_is_left_alone() {
    let folder = Sandbox::new();
    folder.write("shop/mine", "x");
    folder
        .kubewright(NEW)
        .expect(exit::USAGE)
        .says("shop is there already and is not empty");
    assert_eq!(folder.files().len(), 1);
    folder.write("file", "x");
    folder
        .kubewright(&format!("{NEW} --path file"))
        .expect(exit::USAGE)
        .says("file is a file");
    std::fs::create_dir(folder.cwd.join("empty")).unwrap();
    folder.kubewright(&format!("{NEW} --path empty")).expect(0);
}

#[test]
fn wrong_names_are_refused_before_anything_is_written() {
    let folder = Sandbox::new();
    for (line, says) in [
        ("new My_Shop --kind Foo --group demo.dev", "begins with a letter"),
        (
            "new test --kind Foo --group demo.dev",
            "a crate of the Rust compiler",
        ),
        ("new kube --kind Foo --group demo.dev", "depends on"),
        ("new shop --kind foo --group demo.dev", "begins with a capital"),
        (
            "new shop --kind Type --group demo.dev",
            "a word of the Rust language",
        ),
        (
            "new shop --kind Deployment --group demo.dev",
            "`Deployment` for two things",
        ),
        ("new shop --kind Foo --group demo", "with a dot"),
        ("new shop --kind Foo --group apps.k8s.io", "Kubernetes' own"),
        (
            "new shop --kind Foo --group demo.dev --api-version 1",
            "`v1beta2`",
        ),
        (
            "new shop --kind Foo --group demo.dev --kubewright-version latest",
            "latest",
        ),
        ("new shop --kind Foo", "--group"),
    ] {
        folder.kubewright(line).expect(exit::USAGE).says(says);
    }
    assert!(folder.files().is_empty());
}

#[test]
fn depends_on_the_source_while_it_is_there() {
    let folder = Sandbox::new();
    folder
        .kubewright("new shop --kind Foo --group demo.dev")
        .expect(0)
        .says("note: it uses the library at");
    let manifest = folder.read("shop/Cargo.toml");
    let runtime = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("runtime");
    assert!(
        manifest.contains(&format!("kubewright = {{ path = \"{}\" }}", runtime.display())),
        "{manifest}"
    );
}

#[test]
fn the_command_line_is_sound_and_documents_its_exit_codes() {
    Cli::command().debug_assert();
    let help = Cli::command().render_long_help().to_string();
    assert!(help.contains("Exit codes:") && help.contains("dev "), "{help}");
    let bash = Sandbox::new().kubewright("completions bash").expect(0);
    assert!(bash.stdout.contains("_kubewright()"));
}
