//! Random commands of a project's life, in process.

use crate::random_steps::{Files, TestProject, run_steps, steps};
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
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn user_code_survives_random_commands(steps in steps()) {
        run_steps(&Sandbox::project(), &steps, |_| {});
    }
}
