//! Random commands in a project, in process.

use crate::random_steps::{Files, Summary, TestProject, run_every_command, run_steps, steps};
use crate::support::Sandbox;
use proptest::prelude::*;

impl TestProject for Sandbox {
    fn files(&self) -> Files {
        Sandbox::files(self)
    }

    fn write(&self, path: &str, text: &str) {
        Sandbox::write(self, path, text);
    }

    fn run(&self, line: &str) -> (i32, String) {
        let outcome = self.kubewright(line);
        (outcome.code.into(), outcome.stderr)
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "step"]);
    }

    fn make_library_old(&self) {
        let manifest = self.read("Cargo.toml");
        Sandbox::write(
            self,
            "Cargo.toml",
            &manifest.replace(
                concat!("\"=", env!("CARGO_PKG_VERSION"), "\""),
                "\"=0.1.0-alpha.1\"",
            ),
        );
        for (name, text) in Sandbox::files(self) {
            let text = String::from_utf8_lossy(&text).into_owned();
            if name.starts_with("src/") && text.contains("NamespacedName") {
                Sandbox::write(self, &name, &text.replace("NamespacedName", "ObjectName"));
            }
        }
    }
}

/// `PROPTEST_CASES` sets another number.
fn cases() -> u32 {
    const CASES: u32 = 16;
    std::env::var("PROPTEST_CASES").map_or(CASES, |text| text.parse().unwrap())
}

#[test]
fn user_code_survives_random_commands() {
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let summary = Summary::default();
    run_every_command(&Sandbox::project(), &summary, |_| {});
    proptest!(config, |(steps in steps())| run_steps(&Sandbox::project(), &steps, &summary, |_| {}));
    println!("{summary}");
}
