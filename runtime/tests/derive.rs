//! Compiles the inputs: those of `pass` compile without warnings and run, those of `fail` give the recorded errors.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "support/compile.rs"]
mod compile;

use compile::{Compiler, Expected};
use kubewright_rustc_arguments::rustc_arguments;

#[test]
fn valid_inputs_compile_and_run() {
    Compiler::new(rustc_arguments!()).check_all("../codegen-macros/tests/inputs/pass", Expected::Runs);
}

#[test]
fn invalid_inputs_give_the_recorded_errors() {
    Compiler::new(rustc_arguments!()).check_all("../codegen-macros/tests/inputs/fail", Expected::Errors);
}
