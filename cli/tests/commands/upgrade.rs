//! `kubewright upgrade`: from an earlier version of the library and of the templates.

use kubewright_cli::exit;

use crate::{import::definition, support::Sandbox};

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
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ ";
    let old_line = dry
        .stdout
        .lines()
        .filter(|line| *line == "-# An old line.")
        .count();
    assert!(dry.stdout.contains(diff) && old_line == 1, "{}", dry.stdout);
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
fn toolchain_that_is_too_old_for_the_new_version_is_named() {
    let project = old_project();
    project.edit("rust-toolchain.toml", "\"1.95.0\"", "\"1.90.0\"");
    project.git(&["commit", "--quiet", "--all", "--message", "pin"]);
    let note = "note: rust-toolchain.toml selects 1.90.0, and the project needs 1.95.0: set `channel = \"1.95.0\"` there\n";
    for command in ["upgrade --dry-run", "upgrade"] {
        project.kubewright(command).expect(0).stderr_contains(note);
    }
    assert!(
        project.read("rust-toolchain.toml").contains("1.90.0"),
        "it is the user's"
    );
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

const OPERATOR: &str = "manifests/deploy/operator.yaml";
const TEMPLATE: &str = "chart/templates/deploy/operator.yaml";
const MODULE: &str = "src/api/imported/demo_dev/thing.rs";

/// Returns a committed project with packages and an imported kind of an earlier version; the user edited the chart and the kind's module.
fn with_packages() -> Sandbox {
    let project = old_project();
    // The line was another one in the earlier version.
    let other = |path: &str, line: &str, old: &str| {
        for path in [path, &format!(".kubewright/base/{path}")] {
            project.edit(path, line, old);
        }
    };
    other(OPERATOR, "path: /readyz", "path: /ready");
    project.write("thing.yaml", &definition("integer"));
    for command in [
        "import thing.yaml",
        "package install",
        "package helm",
        "package bundle",
    ] {
        project.kubewright(command).expect(0);
    }
    other(TEMPLATE, "path: /healthz", "path: /health");
    other(MODULE, "which another project defines", "of another project");
    let grace = "    terminationGracePeriodSeconds: 40\n";
    project.edit(TEMPLATE, grace, &format!("{grace}    hostNetwork: true\n"));
    let module = project.read(MODULE);
    project.write(MODULE, &(module + "\nconst MINE: u8 = 1;\n"));
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message", "packages"]);
    project
}

#[test]
fn packages_and_imported_kinds_are_upgraded() {
    let project = with_packages();
    let before = project.files();
    project.kubewright("upgrade --dry-run").expect(0);
    assert_eq!(project.files(), before);
    let done = project.kubewright("upgrade").expect(0);
    let csv = "bundle/manifests/shop.clusterserviceversion.yaml";
    for path in [OPERATOR, TEMPLATE, csv, MODULE] {
        let change = format!("update {path}");
        assert!(
            done.stderr.lines().any(|line| line == change),
            "{change}: {}",
            done.stderr
        );
    }
    // What `generate` may change reaches the packages by their own commands.
    done.stderr_contains(
        "  kubewright generate\n  git commit --all  # the next commands change files of this upgrade\n  kubewright package install\n  kubewright package helm\n  kubewright package bundle\n  cargo test\n",
    );
    let template = project.read(TEMPLATE);
    for line in ["path: /healthz\n", "path: /readyz\n", "hostNetwork: true\n"] {
        assert!(template.contains(line), "{line}: {template}");
    }
    assert!(project.read(csv).contains("path: /readyz\n"));
    let module = project.read(MODULE);
    assert!(
        module.contains("which another project defines") && module.ends_with("const MINE: u8 = 1;\n"),
        "{module}"
    );
    assert_eq!(
        project.read("dist/install.yaml").as_bytes(),
        before["dist/install.yaml"]
    );

    // The files are what the other commands write.
    let after = project.files();
    for command in ["package helm", "package bundle"] {
        project
            .kubewright(command)
            .expect(0)
            .stderr_contains("all files are up to date");
    }
    project
        .kubewright("import thing.yaml")
        .expect(0)
        .stderr_contains("already imported");
    project.git(&["commit", "--quiet", "--all", "--message", "new"]);
    project
        .kubewright("upgrade")
        .expect(0)
        .stderr_contains("the project is up to date");
    assert_eq!(project.files(), after);
}

#[test]
fn conflicts_of_packages_and_imported_kinds_write_nothing() {
    let project = with_packages();
    project.edit(TEMPLATE, "path: /health", "path: /mine");
    project.edit(MODULE, "of another project", "of mine");
    project.git(&["commit", "--quiet", "--all", "--message", "mine"]);
    let before = project.files();
    project
        .kubewright("upgrade")
        .expect(exit::CONFLICT)
        .stderr_contains(&format!("kubewright upgrade --keep {TEMPLATE}"))
        .stderr_contains(&format!("kubewright upgrade --overwrite {MODULE}"));
    assert_eq!(project.files(), before);
    project
        .kubewright(&format!("upgrade --keep {TEMPLATE} --overwrite {MODULE}"))
        .expect(0);
    assert!(project.read(TEMPLATE).contains("path: /mine"));
    assert!(project.read(MODULE).contains("which another project defines"));
}

#[test]
fn what_cannot_be_rendered_is_noted_and_does_not_stop_the_upgrade() {
    let project = with_packages();
    // A bundle cannot have a Pod.
    let kustomization = "manifests/deploy/Kustomization";
    project.edit(
        kustomization,
        "\n  - operator.yaml",
        "\n  - operator.yaml\n  - pod.yaml",
    );
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod, namespace: shop-system}\n";
    project.write("manifests/deploy/pod.yaml", pod);
    let dry = project.kubewright("upgrade --allow-dirty --dry-run").expect(0);
    assert!(
        dry.stdout.contains("chart/templates/deploy/pod.yaml"),
        "{}",
        dry.stdout
    );
    dry.stderr_contains("note: bundle is not upgraded: manifests/deploy/pod.yaml:2: OLM creates no Pod");
    project.edit(kustomization, "images:", "namePrefix: x-\nimages:");
    std::fs::remove_file(project.cwd.join("manifests/imported/demo.dev_things.yaml")).unwrap();
    let before = project.files();
    let done = project.kubewright("upgrade --allow-dirty").expect(0);
    let notes = [
        format!("note: the packages are not upgraded: {kustomization}:"),
        format!(
            "note: {MODULE} is not upgraded: manifests/imported has no definition of its kind and version; run `kubewright import` with it"
        ),
    ];
    for note in notes {
        assert!(
            done.stderr.lines().any(|line| line.starts_with(&note)),
            "{note}: {}",
            done.stderr
        );
    }
    assert!(!done.stderr.contains("nothing was written"), "{}", done.stderr);
    for path in [TEMPLATE, MODULE] {
        assert_eq!(project.read(path).as_bytes(), before[path], "{path}");
    }
    assert!(project.read(OPERATOR).contains("path: /readyz"));
}
