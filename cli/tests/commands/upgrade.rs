//! `kubewright upgrade`: from an earlier version of the library and of the templates.

use kubewright_cli::exit;

use crate::support::Sandbox;

const CURRENT: &str = env!("CARGO_PKG_VERSION");
const OLD: &str = "0.1.0-alpha.1";

/// Returns a committed project of an earlier version: the code has old names, and the template of the Dockerfile differed.
fn old_project() -> Sandbox {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    for name in ["kubewright", "kubewright-testkit"] {
        let line = |version: &str| format!("\n{name} = \"={version}\"\n");
        project.edit("Cargo.toml", &line(CURRENT), &line(OLD));
    }
    project.edit(
        "Cargo.toml",
        "kube = { version = \"5\"",
        "kube = { version = \"4\"",
    );
    let file = "src/controllers/foo.rs";
    let code = project.read(file);
    project.write(
        file,
        &code
            .replace("NamespacedName", "ObjectName")
            .replace("await_change()", "done()"),
    );
    let dockerfile = project
        .read("Dockerfile")
        .replace("\nUSER ", "\n# An old line.\nUSER ");
    for path in ["Dockerfile", ".kubewright/base/Dockerfile"] {
        project.write(path, &dockerfile);
    }
    project.edit("Dockerfile", "FROM ", "# Mine.\nFROM ");
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message", "old"]);
    project
}

#[test]
fn versions_code_and_managed_files_are_upgraded_and_the_users_bytes_are_kept() {
    let project = old_project();
    let before = project.files();
    let dry = project.kubewright("upgrade --dry-run").expect(0);
    assert_eq!(project.files(), before);
    let changes = [
        format!(
            "update Cargo.toml: kube 4 → 5, kubewright ={OLD} → ={CURRENT}, kubewright-testkit ={OLD} → ={CURRENT}"
        ),
        "update src/controllers/foo.rs: ObjectName → NamespacedName, done → await_change".to_owned(),
        "update Dockerfile".to_owned(),
    ];
    for change in &changes {
        assert!(
            dry.stdout.lines().any(|line| line == change),
            "{change}: {}",
            dry.stdout
        );
    }
    let done = project.kubewright("upgrade").expect(0);
    for change in &changes {
        assert!(
            done.stderr.lines().any(|line| line == change),
            "{change}: {}",
            done.stderr
        );
    }
    assert!(
        done.stderr
            .ends_with("next:\n  cargo check\n  kubewright generate\n  cargo test\n")
    );
    let dockerfile = project.read("Dockerfile");
    assert!(
        dockerfile.contains("# Mine.\n") && !dockerfile.contains("An old line"),
        "{dockerfile}"
    );

    // The rest is what a new project of this version has.
    let new = Sandbox::project();
    new.kubewright("generate").expect(0);
    let mut expected = new.files();
    expected.insert("Dockerfile".to_owned(), dockerfile.into_bytes());
    let after = project.files();
    for (path, bytes) in &expected {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&after[path]), text(bytes), "{path}");
    }
    assert_eq!(after.len(), expected.len());

    project.git(&["commit", "--quiet", "--all", "--message", "new"]);
    project
        .kubewright("upgrade")
        .expect(0)
        .stderr_contains("the project is up to date with kubewright");
    assert_eq!(project.files(), after);
}

#[test]
fn code_that_the_tree_cannot_decide_is_listed() {
    let project = old_project();
    let code = "use super::*;\n\nfn f(name: &ObjectName) {\n    builder.wakes_on(stream);\n}\n";
    project.write("src/controllers/more.rs", code);
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message", "more"]);
    project
        .kubewright("upgrade")
        .expect(0)
        .stderr_contains(
            "src/controllers/more.rs:3: `ObjectName` is `NamespacedName` now, if it is kubewright's\n",
        )
        .stderr_contains("src/controllers/more.rs:4: `.wakes_on(…)` is `.watches_stream(…)` now\n");
    assert_eq!(project.read("src/controllers/more.rs"), code);
}

#[test]
fn conflict_writes_nothing_until_it_is_resolved() {
    let project = old_project();
    project.edit("Dockerfile", "# An old line.", "# My line.");
    project.git(&["commit", "--quiet", "--all", "--message", "mine"]);
    let before = project.files();
    project
        .kubewright("upgrade")
        .expect(exit::CONFLICT)
        .stderr_contains("# My line.")
        .stderr_contains("kubewright upgrade --keep Dockerfile");
    assert_eq!(project.files(), before);
    project.kubewright("upgrade --keep Dockerfile").expect(0);
    assert!(project.read("Dockerfile").contains("# My line."));
    assert!(
        project
            .read("Cargo.toml")
            .contains(&format!("kubewright = \"={CURRENT}\""))
    );
}

#[test]
fn uncommitted_changes_are_refused() {
    let project = old_project();
    project.edit("README.md", "#", "# Mine:");
    let before = project.files();
    project
        .kubewright("upgrade")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("README.md has uncommitted changes")
        .stderr_contains("nothing was written");
    project.git(&["checkout", "--quiet", "--", "README.md"]);
    // Git could not restore a file that it does not track; others do not matter.
    let code = "use kubewright::ObjectName;\n";
    project.write("notes.txt", "mine");
    project.write("src/more.rs", code);
    project
        .kubewright("upgrade")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/more.rs has uncommitted changes");
    assert_eq!(project.read("Cargo.toml").as_bytes(), before["Cargo.toml"]);
    project.kubewright("upgrade --allow-dirty").expect(0);
    assert_eq!(project.read("src/more.rs"), "use kubewright::NamespacedName;\n");
}

#[test]
fn project_without_a_repository_is_refused() {
    let project = old_project().without_git();
    let before = project.files();
    for arguments in ["upgrade", "upgrade --dry-run"] {
        project
            .kubewright(arguments)
            .expect(exit::UNCOMMITTED)
            .stderr_contains("not in a git repository")
            .stderr_contains("--allow-dirty");
    }
    assert_eq!(project.files(), before);
    project.kubewright("upgrade --allow-dirty").expect(0);
}

#[test]
fn unusable_versions_are_refused_with_a_fix() {
    let project = old_project();
    let cases = [
        ("= \"=99.0.0\"", "cargo install kubewright-cli --version 99.0.0"),
        ("= \"0.1\"", "requires version \"0.1\" of kubewright"),
        ("= \"*\"", "write `kubewright = \"=VERSION\"`"),
        ("= ", "Cargo.toml: "),
    ];
    let good = project.read("Cargo.toml");
    for (value, expected) in cases {
        let old = format!("\nkubewright = \"={OLD}\"\n");
        project.write(
            "Cargo.toml",
            &good.replace(&old, &format!("\nkubewright {value}\n")),
        );
        project
            .kubewright("upgrade --allow-dirty")
            .expect(exit::PROJECT)
            .stderr_contains(expected)
            .stderr_contains("nothing was written");
    }
    project.write("Cargo.toml", &good.replace("\nkubewright = ", "\nother = "));
    project
        .kubewright("upgrade --allow-dirty")
        .expect(exit::PROJECT)
        .stderr_contains("cargo add kubewright@");
    project.write("kubewright.toml", "version = 2\n");
    project
        .kubewright("upgrade --allow-dirty")
        .expect(exit::PROJECT)
        .stderr_contains("supports format 1");
    project.write("kubewright.toml", "name = \"shop\"\n");
    project
        .kubewright("upgrade --allow-dirty")
        .expect(exit::PROJECT)
        .stderr_contains("`version = 1` is missing");
}

#[test]
fn library_of_a_path_is_not_changed() {
    let project = old_project();
    for name in ["kubewright", "kubewright-testkit"] {
        let line = format!("{name} = \"={OLD}\"");
        project.edit(
            "Cargo.toml",
            &line,
            &format!("{name} = {{ path = \"../{name}\" }}"),
        );
    }
    let before = project.files();
    project
        .kubewright("upgrade --allow-dirty")
        .expect(0)
        .stderr_contains("note: Cargo.toml has no version of kubewright: change it where its path, repository or workspace has it");
    for path in ["Cargo.toml", "src/controllers/foo.rs"] {
        assert_eq!(project.read(path).as_bytes(), before[path], "{path}");
    }
    assert!(!project.read("Dockerfile").contains("An old line"));
}
