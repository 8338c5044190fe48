//! What does not compile, and what the compiler says about it.

#[test]
fn verbs_bind_what_a_client_may_do() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/verbs_allowed.rs");
    cases.compile_fail("tests/ui/verb_outside_*.rs");
    cases.compile_fail("tests/ui/verbs_without_*.rs");
}
