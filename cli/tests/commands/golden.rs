//! Snapshots of the scaffold, in `tests/golden` at the root of the repository.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli golden` updates them.

use std::{collections::BTreeMap, fs, path::Path};

use crate::support::{Sandbox, collect};

/// The most lines of the test of a kind: users must read it all before they write their own.
const MAX_TEST_LINES: usize = 120;

#[test]
fn default() {
    compare("default", "--api-version v1alpha1", &[]);
}

#[test]
fn cluster_scoped() {
    compare("cluster-scoped", "--cluster-scoped --api-version v1", &[]);
}

#[test]
fn three_kinds() {
    compare(
        "three-kinds",
        "",
        &[
            "add kind BackupPlan",
            "add kind DNSPolicy --cluster-scoped --group net.demo.dev",
            "add webhook BackupPlan --validating --defaulting",
            "add webhook Pod --validating",
            "add webhook Pod --defaulting",
            "add webhook DNSPolicy --defaulting",
            "add controller Node --owns Pod --owns BackupPlan",
        ],
    );
}

/// The names of the kind and of the project are the longest ones: rustfmt breaks more lines.
#[test]
fn tests_of_kinds_with_the_longest_names_have_at_most_the_allowed_lines() {
    let kind = "A".to_owned() + &"b".repeat(49);
    let project = "c".repeat(50);
    for scope in ["", "--cluster-scoped"] {
        let mut sandbox = Sandbox::new().with_rustfmt();
        sandbox
            .kubewright(&format!("new {project} --kind {kind} --group demo.dev {scope}"))
            .expect(0);
        sandbox.cwd = sandbox.cwd.join(&project);
        check_lengths(&sandbox.files());
    }
}

/// Creates a project, runs commands in it, and compares all its files with the snapshot.
fn compare(name: &str, options: &str, commands: &[&str]) {
    let mut sandbox = Sandbox::new().with_rustfmt();
    let version = env!("CARGO_PKG_VERSION");
    sandbox
        .kubewright(&format!(
            "new shop --kind Foo --group demo.dev --kubewright-version {version} {options}"
        ))
        .expect(0);
    sandbox.cwd = sandbox.cwd.join("shop");
    for command in commands {
        sandbox.kubewright(command).expect(0);
    }
    let found = sandbox.files();
    check_lengths(&found);
    compare_files(name, &found);
}

fn check_lengths(files: &BTreeMap<String, Vec<u8>>) {
    let tests: Vec<_> = files
        .iter()
        .filter(|(name, _)| name.starts_with("tests/"))
        .collect();
    assert!(!tests.is_empty());
    for (name, bytes) in tests {
        let lines = String::from_utf8_lossy(bytes).lines().count();
        assert!(lines <= MAX_TEST_LINES, "{name} has {lines} lines");
    }
}

/// Compares files with those of a folder of the snapshots, or replaces the snapshots with them.
pub(crate) fn compare_files(name: &str, found: &BTreeMap<String, Vec<u8>>) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&golden);
        for (name, bytes) in found {
            let path = golden.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        return;
    }
    let mut expected = BTreeMap::new();
    collect(&golden, &golden, &mut expected);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(&expected));
    for (name, bytes) in found {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            text(bytes),
            text(&expected[name]),
            "{name}: run with UPDATE_GOLDEN=1 to update it"
        );
    }
}
