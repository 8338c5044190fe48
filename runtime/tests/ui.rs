//! The verbs of a client type decide which calls compile, and what the compiler says about the others.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "support/compile.rs"]
mod compile;

use compile::{Compiler, Expected};
use kubewright_rustc_arguments::rustc_arguments;

#[test]
fn calls_of_verbs_in_the_type_compile() {
    Compiler::new(rustc_arguments!()).check_all("tests/ui/pass", Expected::Runs);
}

#[test]
fn calls_of_other_verbs_are_errors() {
    Compiler::new(rustc_arguments!()).check_all("tests/ui/fail", Expected::Errors);
}
