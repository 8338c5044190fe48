//! Compiles the inputs: those of `pass` compile without warnings and run, those of `fail` give the recorded errors.

#[test]
fn inputs() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/inputs/pass/*.rs");
    cases.compile_fail("tests/inputs/fail/*.rs");
}
