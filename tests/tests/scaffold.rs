//! The tests of a new project, which users run first after `kubewright new`. They need nothing but Rust.

use kubewright_tests::Project;

#[test]
fn tests_of_a_new_project_pass() {
    for (name, arguments) in [("fresh", &[][..]), ("fresh-wide", &["--cluster-scoped"])] {
        let project = Project::scaffold(name, "Foo", arguments);
        let tested = project.cargo(&["test", "--offline"]).expect_success();
        for test in [
            "becomes_ready_and_is_deleted_with_its_deployment",
            "retries_after_a_failed_status_write",
            "relists_after_a_broken_watch",
            "uses_exactly_its_permissions",
        ] {
            assert!(
                tested.stdout.contains(&format!("test {test} ... ok")),
                "{test} did not run: {}",
                tested.stdout
            );
        }
    }
}
