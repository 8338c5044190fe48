//! The tests of a new project, which users run first after `kubewright new`. They need nothing but Rust.

use kubewright_tests::Project;

#[test]
fn tests_of_a_new_project_pass() {
    for (name, arguments) in [("fresh", &[][..]), ("fresh-wide", &["--cluster-scoped"])] {
        let project = Project::scaffold(name, "Foo", arguments);
        let tested = project.cargo(&["test", "--offline"]).expect_success();
        for test in [
            "becomes_ready_with_its_deployment",
            "tries_again_after_a_conflict",
            "finds_out_what_a_broken_watch_missed",
            "deployment_goes_with_its_owner",
            "has_exactly_the_rights_that_it_uses",
        ] {
            assert!(
                tested.stdout.contains(&format!("test {test} ... ok")),
                "{test} did not run: {}",
                tested.stdout
            );
        }
    }
}
