//! `kubewright new`.

use crate::support::Sandbox;
use clap::CommandFactory;
use kubewright_cli::{args::Cli, exit};

const NEW: &str = "new shop --kind Foo --group demo.dev --kubewright-version 0.1.0";

#[test]
fn creates_a_project_in_a_new_repository() {
    let folder = Sandbox::new();
    let made = folder
        .kubewright(NEW)
        .expect(0)
        .stderr_contains("created shop with 35 files");
    assert_eq!(made.stdout, "");
    assert_eq!(folder.files().len(), 35);
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
fn works_without_git_and_in_a_given_path() {
    let folder = Sandbox::new().without_git();
    folder
        .kubewright(&NEW.replace("shop", "deep/er"))
        .expect(0)
        .stderr_contains("note: git is not available");
    assert!(folder.files().contains_key("deep/er/Cargo.toml"));
}

#[test]
fn cargo_lock_is_cargos_or_noted() {
    let folder = Sandbox::new();
    folder.fake_cargo("update", "", "warning: x\nerror: no network\nmore\n", 101);
    folder
        .kubewright(NEW)
        .expect(0)
        .stderr_contains("note: cargo did not write a complete Cargo.lock (no network)");
    folder.fake_cargo("update", "", "", 0);
    let made = folder.kubewright(&NEW.replace("shop", "second")).expect(0);
    assert!(!made.stderr.contains("Cargo.lock"), "{}", made.stderr);
}

#[test]
fn kind_with_the_name_of_a_built_in_one_is_qualified_for_kubectl() {
    let folder = Sandbox::new();
    let note = "note: Kubernetes has the resource cronjobs.batch, too: write cronjobs.demo.dev for kubectl";
    folder
        .kubewright(&NEW.replace("Foo", "CronJob"))
        .expect(0)
        .stderr_contains(note);
    assert!(
        folder
            .read("shop/README.md")
            .contains("kubectl get cronjobs.demo.dev ")
    );
    assert!(
        folder
            .read("shop/src/api/cron_job.rs")
            .contains("`kubectl explain cronjobs.demo.dev`")
    );
    assert!(
        folder
            .read("shop/docs/api.md")
            .contains("`kubectl get cronjobs.demo.dev` shows")
    );
    let project = folder.in_folder("shop");
    let added = project.kubewright("add kind Lease --allow-dirty").expect(0);
    added.stderr_contains("coordination.k8s.io, too: write leases.demo.dev for kubectl");
    let other = project.kubewright("add kind Bar --allow-dirty").expect(0);
    assert!(!other.stderr.contains("note:"), "{}", other.stderr);
}

#[test]
fn notes_an_enclosing_workspace_but_not_a_sibling() {
    let folder = Sandbox::new();
    folder.write("workspace/Cargo.toml", "[workspace]\n");
    let workspace = folder.in_folder("workspace");
    let inside = workspace
        .kubewright(NEW)
        .expect(0)
        .stderr_contains("add it to `members` or `exclude` there");
    assert!(!inside.stderr.contains("Cargo.lock"), "{}", inside.stderr);
    let beside = workspace.kubewright(&NEW.replace("shop", "../beside")).expect(0);
    assert!(!beside.stderr.contains("workspace"), "{}", beside.stderr);
    assert!(beside.stderr.contains("Cargo.lock"), "{}", beside.stderr);
}

#[test]
fn dry_run_prints_the_plan_and_writes_nothing() {
    let folder = Sandbox::new();
    let planned = folder.kubewright(&format!("{NEW} --dry-run")).expect(0);
    assert_eq!(planned.stdout.lines().count(), 35);
    assert!(
        planned.stdout.contains("create src/api/foo.rs\n"),
        "{}",
        planned.stdout
    );
    assert!(folder.files().is_empty() && !folder.cwd.join("shop").exists());
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = Sandbox::new();
    folder.write("shop/mine", "x");
    folder
        .kubewright(NEW)
        .expect(exit::USAGE)
        .stderr_contains("shop already exists and is not empty");
    assert_eq!(folder.files().len(), 1);
    folder.write("file", "x");
    folder
        .kubewright(&NEW.replace("shop", "file"))
        .expect(exit::USAGE)
        .stderr_contains("file is a file");
    std::fs::create_dir(folder.cwd.join("empty")).unwrap();
    folder.kubewright(&NEW.replace("shop", "empty")).expect(0);
}

#[test]
fn invalid_names_are_refused() {
    let folder = Sandbox::new();
    for (line, expected) in [
        ("new My_Shop --kind Foo --group demo.dev", "begins with a letter"),
        (
            "new test --kind Foo --group demo.dev",
            "a crate of the Rust compiler",
        ),
        ("new kube --kind Foo --group demo.dev", "depends on"),
        (
            "new shop --kind foo --group demo.dev",
            "begins with a capital letter",
        ),
        ("new shop --kind Type --group demo.dev", "a keyword of Rust"),
        (
            "new shop --kind Deployment --group demo.dev",
            "`Deployment` would conflict",
        ),
        ("new shop --kind Foo --group demo", "with a dot"),
        ("new shop --kind Foo --group apps.k8s.io", "are protected"),
        (
            "new shop --kind Foo --group demo.dev --api-version 1",
            "`v1beta2`",
        ),
        (
            "new shop --kind Foo --group demo.dev --kubewright-version latest",
            "latest",
        ),
        ("new shop --kind Foo", "--group"),
        (
            "new .. --kind Foo --group demo.dev",
            "end the path with the operator's name",
        ),
    ] {
        folder
            .kubewright(line)
            .expect(exit::USAGE)
            .stderr_contains(expected);
    }
    assert!(folder.files().is_empty());
}

#[test]
fn depends_on_the_source_workspace_if_it_exists() {
    let folder = Sandbox::new();
    let cli = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let runtime = cli.with_file_name("runtime");
    // From there, the command may run without being installed: `cargo kubewright new`.
    let install = format!(
        "\n  cargo install --locked --path {}   # once: installs the command kubewright\n  kubewright dev ",
        cli.display()
    );
    folder
        .kubewright("new shop --kind Foo --group demo.dev")
        .expect(0)
        .stderr_contains("note: the project uses the kubewright crate at")
        .stderr_contains("a container image or a CI runner does not have that folder")
        .stderr_contains(&install);
    let manifest = folder.read("shop/Cargo.toml");
    assert!(
        manifest.contains(&format!("kubewright = {{ path = \"{}\" }}", runtime.display())),
        "{manifest}"
    );
    let published = Sandbox::new().kubewright(NEW).expect(0);
    assert!(
        !published.stderr.contains("cargo install"),
        "{}",
        published.stderr
    );
}

#[test]
fn command_line_is_valid_and_documents_exit_codes() {
    Cli::command().debug_assert();
    let help = Cli::command().render_long_help().to_string();
    assert!(help.contains("Exit codes:") && help.contains("dev "), "{help}");
    let bash = Sandbox::new().kubewright("completions bash").expect(0);
    assert!(bash.stdout.contains("_kubewright()"));
}
