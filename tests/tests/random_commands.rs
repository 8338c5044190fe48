//! Random commands in a project: the project compiles after each, without warnings, and so do its tests.
//!
//! A case compiles up to 13 times, which takes minutes: these run in `.ci/nightly` (`TEST_EFFORT` times as many). What the commands do to
//! files is tested with many more cases in the command's package.

use std::{fmt::Debug, process::Command};

use kubewright_tests::Project;
use proptest::prelude::*;
use random_steps::{Files, Summary, TestProject, run_every_command, run_steps, steps};

#[path = "../../cli/tests/commands/random_steps.rs"]
mod random_steps;

/// The version of the library in `Cargo.toml`, beside its path.
const NEW_VERSION: &str = concat!("version = \"=", env!("CARGO_PKG_VERSION"), "\", ");
const OLD_VERSION: &str = "version = \"=0.1.0-alpha.1\", ";

impl TestProject for Project {
    fn files(&self) -> Files {
        Project::files(self)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root().join(path), text).unwrap();
    }

    fn run(&self, line: &str) -> (i32, String) {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = self.kubewright(&arguments);
        (output.code, output.stderr)
    }

    fn commit(&self) {
        for arguments in [
            &["add", "--all"][..],
            &["commit", "--quiet", "--allow-empty", "--message", "step"],
        ] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
                .args(arguments);
            assert!(git.current_dir(self.root()).status().unwrap().success());
        }
    }

    /// The library itself is this workspace's.
    fn make_library_old(&self) {
        for (name, text) in Project::files(self) {
            let text = String::from_utf8_lossy(&text).into_owned();
            let old = if name == "Cargo.toml" {
                let text = text.replace(NEW_VERSION, "");
                text.replace("{ path = ", &format!("{{ {OLD_VERSION}path = "))
            } else if name.starts_with("src/") {
                text.replace("NamespacedName", "ObjectName")
            } else {
                continue;
            };
            TestProject::write(self, &name, &old);
        }
    }
}

fn cases() -> u32 {
    const CASES: u32 = 6;
    CASES * std::env::var("TEST_EFFORT").map_or(1, |text| text.parse().expect("TEST_EFFORT is a number"))
}

#[test]
#[ignore = "takes minutes: cargo xtask test --nightly"]
fn project_compiles_after_random_commands() {
    let config = ProptestConfig {
        cases: cases(),
        // Shrinking would compile for hours; a shorter list of steps is found by hand.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let summary = Summary::default();
    let project = Project::scaffold("random-commands", "Foo", &[]);
    run_every_command(&project, &summary, |line| {
        check_compiles(&project, line, &"each command");
    });
    proptest!(config, |(steps in steps())| {
        let project = Project::scaffold("random-commands", "Foo", &[]);
        run_steps(&project, &steps, &summary, |line| check_compiles(&project, line, &steps));
    });
    println!("{summary}");
}

fn check_compiles(project: &Project, line: &str, steps: &impl Debug) {
    let checked = project.cargo(&["check", "--offline", "--all-targets"]);
    assert!(
        checked.code == 0 && !checked.stderr.contains("warning:"),
        "after {line}, of {steps:?}:\n{}",
        checked.stderr
    );
}
