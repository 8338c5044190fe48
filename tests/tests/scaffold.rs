//! A new project: what users run first after `kubewright new`. It needs nothing but Rust.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use kubewright_tests::Project;

/// The template from which `new` takes the manifests of a new project's operator, which is not built by then.
const TEMPLATE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../templates/files/project/manifests.json.hbs"
);

/// The names of the projects below, none of which is part of another text of the manifests, and their names in the template.
const NAMES: [(&str, &str); 5] = [
    ("demo.dev", "{{group}}"),
    ("v7alpha3", "{{version}}"),
    ("gizmos", "{{plural}}"),
    ("gizmo", "{{lower}}"),
    ("Gizmo", "{{kind}}"),
];

/// `UPDATE_GOLDEN=1 cargo test -p kubewright-tests --test scaffold` updates the template.
#[test]
fn new_project_is_up_to_date_and_its_tests_pass() {
    let projects = [("fresh", &[][..]), ("fresh-wide", &["--cluster-scoped"])].map(|(name, arguments)| {
        let arguments = [&["--api-version", "v7alpha3"], arguments].concat();
        Project::scaffold(name, "Gizmo", &arguments)
    });
    let template = template(&projects);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(TEMPLATE, template).expect("the template is written");
        return;
    }
    let current = fs::read_to_string(TEMPLATE).expect("the template");
    assert_eq!(template, current, "run with UPDATE_GOLDEN=1 to update {TEMPLATE}");
    for project in projects {
        project.kubewright(&["generate", "--check"]).expect_success();
        let tested = project.cargo(&["test", "--offline", "--locked"]).expect_success();
        for test in [
            "becomes_ready_and_is_deleted_with_its_deployment",
            "retries_after_a_failed_status_write",
            "relists_after_a_broken_watch",
            "uses_exactly_its_permissions",
        ] {
            assert!(
                tested.stdout.contains(&format!("test {test} ... ok")),
                "{test} did not run: {}",
                tested.stdout
            );
        }
    }
}

/// Returns the template that gives the manifests of these projects' operators.
fn template([namespaced, cluster]: &[Project; 2]) -> String {
    let template = |project: &Project| {
        let printed = manifests(&project.build());
        assert!(!printed.contains("{{") && !printed.contains("}}"), "{printed}");
        let operator = printed.replace(&format!("\"{}\"", project.name()), "\"{{name}}\"");
        let template = NAMES.iter().fold(operator, |text, (name, placeholder)| {
            text.replace(name, placeholder)
        });
        // Differs in every release, and `new` does not need it.
        let lines = template
            .lines()
            .filter(|line| !line.contains("\"kubewrightVersion\""));
        lines.collect::<Vec<_>>().join("\n")
    };
    format!(
        "{{\n\"namespaced\": {},\n\"cluster\": {}\n}}\n",
        template(namespaced),
        template(cluster)
    )
}

fn manifests(operator: &Path) -> String {
    let output = Command::new(operator).arg("manifests").output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// A project's tests, and testkit's feature `cel`, add crates, and rebuild none but those of ours that tests alone use: a crate that got another
/// feature would rebuild all that depend on it, the runtime among them.
#[test]
fn tests_change_no_features_of_other_crates() {
    let project = Project::scaffold("fresh-cel", "Foo", &[]);
    let operator = crates(&project, "normal,build");
    let tests = crates(&project, "normal,build,dev");
    assert_only_adds("kubewright-testkit ", &operator, &tests);
    let text = project.read("Cargo.toml");
    let line = text
        .lines()
        .find(|line| line.starts_with("kubewright-testkit = { path"));
    let line = line.expect("the dependency on testkit");
    project.edit(
        "Cargo.toml",
        line,
        &line.replace(" }", ", features = [\"cel\"] }"),
    );
    assert_only_adds("kube-cel ", &tests, &crates(&project, "normal,build,dev"));
}

/// Ours that only tests use: testkit's feature `cel` is a feature of the others.
const CRATES_OF_TESTS: [&str; 3] = [
    "kubewright-apimachinery",
    "kubewright-apiserver",
    "kubewright-testkit",
];

/// Returns the crates of a project with their features.
fn crates(project: &Project, edges: &str) -> BTreeSet<(String, String)> {
    let edges = format!("--edges={edges}");
    let arguments = ["tree", "--offline", "--prefix=none", &edges, "--format={p}\t{f}"];
    let printed = project.cargo(&arguments).expect_success().stdout;
    let lines = printed
        .lines()
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'));
    lines
        .map(|(name, features)| (name.to_owned(), features.to_owned()))
        .collect()
}

/// Checks that a crate was added, and that none has other features but [`CRATES_OF_TESTS`].
fn assert_only_adds(added: &str, before: &BTreeSet<(String, String)>, after: &BTreeSet<(String, String)>) {
    assert!(after.iter().any(|(name, _)| name.starts_with(added)), "{after:?}");
    let names: BTreeSet<&String> = after.iter().map(|(name, _)| name).collect();
    let is_of_tests = |name: &str| {
        CRATES_OF_TESTS
            .iter()
            .any(|own| name.split(' ').next() == Some(own))
    };
    let changed = before
        .difference(after)
        .filter(|(name, _)| names.contains(name) && !is_of_tests(name));
    assert_eq!(changed.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

/// A new project's tests have no CEL rules; the error says what the project needs for them.
#[test]
fn tests_with_cel_rules_name_the_feature_that_they_need() {
    let project = Project::scaffold("fresh-rules", "Foo", &[]);
    let kind = "kind = \"Foo\",";
    let rule = format!("{kind}\n    validation = \"self.spec.replicas < 9\",");
    project.edit("src/api/foo.rs", kind, &rule);
    let test = ["test", "--offline", "becomes_ready"];
    let tested = project.cargo(&test).expect_failure();
    let line =
        "in Cargo.toml, under [dev-dependencies], write `kubewright-testkit = { …, features = [\"cel\"] }`";
    assert!(
        tested.stdout.contains(line),
        "{}\n{}",
        tested.stdout,
        tested.stderr
    );
}

/// A second run of a project's CI, whose cache is restored: `cargo install` must know that the command is its own.
#[test]
fn cached_files_of_ci_let_cargo_install_the_command_again() {
    let project = Project::scaffold("fresh-ci", "Foo", &[]);
    let workflow = project.read(".github/workflows/ci.yml");
    let cached: Vec<&str> = workflow
        .lines()
        .filter_map(|line| line.trim().strip_prefix("~/.cargo/"))
        .collect();
    assert!(cached.contains(&"bin/kubewright"), "{workflow}");

    // Takes the place of the command, which would take minutes to build.
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("package");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"kubewright-cli\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[[bin]]\nname = \"kubewright\"\npath = \"src/main.rs\"\n\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).expect("it is written");
    fs::write(package.join("src/main.rs"), "fn main() {}\n").expect("it is written");
    let install = |home: &str| {
        Command::new("cargo")
            .args(["install", "--offline", "--debug", "--path"])
            .arg(&package)
            .env("CARGO_INSTALL_ROOT", folder.path().join(home))
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .output()
            .expect("cargo runs")
    };
    let assert_installed = |home: &str| {
        let output = install(home);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };

    assert_installed("first");
    let restore = |file: &str, home: &str| {
        let (from, to) = (
            folder.path().join("first").join(file),
            folder.path().join(home).join(file),
        );
        // What a path names is cached if it exists.
        if from.is_file() {
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            fs::copy(from, to).expect("it is copied");
        }
    };
    for file in &cached {
        restore(file, "restored");
    }
    assert_installed("restored");
    // Without its lists, cargo refuses to replace the program: the test can fail.
    restore("bin/kubewright", "unlisted");
    assert!(!install("unlisted").status.success());
}
