//! What `[deploy]` and `[metrics]` in kubewright.toml switch: snapshots in `tests/golden/shipping`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli shipping` updates them.

use std::{fmt::Write as _, fs, path::Path};

use kubewright_cli::exit;

use crate::support::Sandbox;

/// The settings, each with the file that it adds.
const FILES: [(&str, &str); 5] = [
    ("user_roles", "manifests/rbac/user_roles.yaml"),
    ("disruption_budget", "manifests/deploy/disruption_budget.yaml"),
    ("network_policy", "manifests/deploy/network_policy.yaml"),
    ("service_monitor", "manifests/deploy/service_monitor.yaml"),
    ("dashboard", "manifests/monitoring/dashboard.yaml"),
];

fn set(project: &Sandbox, setting: &str, is_on: bool) {
    let line = |value: bool| format!("\n{setting} = {value}\n");
    project.edit("kubewright.toml", &line(!is_on), &line(is_on));
}

fn compare(name: &str, project: &Sandbox) {
    let mut found = String::new();
    for (path, bytes) in project.files() {
        let folders = ["manifests/deploy/", "manifests/rbac/"];
        if folders.iter().any(|folder| path.starts_with(folder)) {
            writeln!(found, "=== {path}\n{}", String::from_utf8(bytes).unwrap()).unwrap();
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/shipping");
    let file = golden.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(golden).unwrap();
        fs::write(file, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        found,
        expected,
        "{}: run with UPDATE_GOLDEN=1 to update it",
        file.display()
    );
}

#[test]
fn everything_on_and_everything_off_equal_the_snapshots() {
    let project = Sandbox::project();
    for setting in ["network_policy", "service_monitor", "dashboard"] {
        set(&project, setting, true);
    }
    project.kubewright("generate").expect(0);
    compare("all", &project);
    for (setting, _) in FILES {
        set(&project, setting, false);
    }
    set(&project, "secure", false);
    project.kubewright("generate").expect(0);
    compare("nothing", &project);
}

#[test]
fn each_setting_adds_its_file_and_removes_it_again() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let before = project.files();
    for (setting, file) in FILES {
        let was_on = before.contains_key(file);
        set(&project, setting, !was_on);
        let messages = project.kubewright("generate").expect(0).stderr;
        // The list of the files is changed in the same plan.
        assert!(!messages.contains("does not exist"), "{setting}: {messages}");
        project.kubewright("generate --check").expect(0);
        let files = project.files();
        assert_eq!(files.contains_key(file), !was_on, "{setting}");
        let folder = Path::new(file).parent().unwrap().join("Kustomization");
        let name = file.rsplit_once('/').unwrap().1;
        let list = fs::read_to_string(project.cwd.join(&folder)).unwrap_or_default();
        assert_eq!(list.contains(name), !was_on, "{setting}: {list}");
        set(&project, setting, was_on);
        project.kubewright("generate").expect(0);
        assert_eq!(project.files(), before, "{setting} left a trace");
    }
}

/// The flag in the user's version of the Deployment survives all upgrades of its template.
#[test]
fn several_replicas_without_leader_election_are_warned_of() {
    const OPERATOR: &str = "manifests/deploy/operator.yaml";
    let project = Sandbox::project();
    project.fake_cargo("--version", "cargo 1.95.0 (x)\n", "", 0);
    project.kubewright("generate").expect(0);
    let original = project.read(OPERATOR);
    let image = original
        .lines()
        .find(|line| line.trim_start().starts_with("image: "))
        .unwrap();
    let with = |lines: &str| {
        let text = original.replacen(image, &format!("{image}\n{lines}"), 1);
        project.write(OPERATOR, &text);
        let position = text.lines().position(|line| line.contains("--leader-elect"));
        let line = 1 + position.unwrap();
        format!("warning: {OPERATOR}:{line}: ")
    };
    let fix =
        "with 2 replicas, which then all reconcile at once: remove it, or set `disruption_budget = false`";
    for (lines, setting) in [
        (
            "          args: [--leader-elect=false]",
            Some("`--leader-elect=false`"),
        ),
        (
            "          args:\n            - --leader-elect=OFF",
            Some("`--leader-elect=OFF`"),
        ),
        ("          args: [--leader-elect=true]", None),
        ("          args: [--leader-elect-lease-duration=20s]", None),
    ] {
        let place = with(lines);
        for command in ["generate", "package install --dry-run", "package helm --dry-run"] {
            let messages = project.kubewright(command).expect(0).stderr;
            let expected = setting.map(|setting| format!("{place}{setting} {fix}"));
            match expected {
                Some(expected) => assert!(messages.contains(&expected), "{command}: {expected}\n{messages}"),
                None => assert!(!messages.contains("replicas"), "{command}: {messages}"),
            }
        }
    }
    with("          args: [--leader-elect=false]");
    let found = project.kubewright("doctor").expect(0).stdout;
    assert!(
        found.contains(&format!("warning files: {OPERATOR}:")) && found.contains(fix),
        "{found}"
    );
    // One replica needs no leader.
    set(&project, "disruption_budget", false);
    let messages = project.kubewright("generate").expect(0).stderr;
    assert!(!messages.contains(fix), "{messages}");

    // The variable counts where the flag is missing.
    project.write(OPERATOR, &original);
    set(&project, "disruption_budget", true);
    project.kubewright("generate").expect(0);
    let variable = "            - name: LEADER_ELECT\n              value: \"0\"\n";
    let (before, after) = original.split_once("          env:\n").unwrap();
    project.write(OPERATOR, &format!("{before}          env:\n{variable}{after}"));
    project
        .kubewright("generate")
        .expect(0)
        .stderr_contains(&format!("`LEADER_ELECT=0` {fix}"));
}

#[test]
fn edited_file_that_is_switched_off_is_a_conflict() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let file = "manifests/deploy/disruption_budget.yaml";
    project.edit(file, "minAvailable: 1", "maxUnavailable: 1");
    set(&project, "disruption_budget", false);
    let before = project.files();
    project
        .kubewright("generate")
        .expect(exit::CONFLICT)
        .stderr_contains("  maxUnavailable: 1")
        .stderr_contains(&format!("generate --keep {file}"));
    assert_eq!(project.files(), before);
    project.kubewright(&format!("generate --keep {file}")).expect(0);
    assert!(project.read(file).contains("maxUnavailable: 1"));
    // It is the user's now.
    project.kubewright("generate --check").expect(0);
    assert!(
        !project
            .read("manifests/deploy/Kustomization")
            .contains("disruption_budget")
    );

    set(&project, "disruption_budget", true);
    project.kubewright("generate").expect(exit::CONFLICT);
    project
        .kubewright(&format!("generate --overwrite {file}"))
        .expect(0);
    assert!(project.read(file).contains("minAvailable: 1"));
}

#[test]
fn project_without_the_tables_has_their_defaults() {
    let project = Sandbox::project();
    project.kubewright("generate").expect(0);
    let before = project.files();
    let settings = project.read("kubewright.toml");
    let (settings, _) = settings.split_once("\n[deploy]").unwrap();
    project.write("kubewright.toml", settings);
    project.kubewright("generate --check").expect(0);
    project.write(
        "kubewright.toml",
        &String::from_utf8_lossy(&before["kubewright.toml"]),
    );
    assert_eq!(project.files(), before);
}
