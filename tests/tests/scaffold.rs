//! The tests of a new project, which users run first after `kubewright new`. They need nothing but Rust.

use kubewright_tests::Project;

#[test]
fn tests_of_a_new_project_pass() {
    for (name, arguments) in [("fresh", &[][..]), ("fresh-wide", &["--cluster-scoped"])] {
        let project = Project::scaffold(name, "Foo", arguments);
        let tested = project.cargo(&["test", "--offline"]).expect_success();
        for test in [
            "becomes_ready_with_its_deployment",
            "retries_after_a_conflict",
            "relists_after_a_broken_watch",
            "deployment_is_deleted_with_its_owner",
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

/// A new project's tests have no CEL rules; the error says what the project needs for them.
#[test]
fn tests_with_cel_rules_name_the_feature_that_they_need() {
    let project = Project::scaffold("fresh-rules", "Foo", &[]);
    let kind = "kind = \"Foo\",";
    let rule = format!("{kind}\n    validation = \"self.spec.replicas < 9\",");
    project.edit("src/api/foo.rs", kind, &rule);
    let test = ["test", "--offline", "becomes_ready_with_its_deployment"];
    let tested = project.cargo(&test).expect_failure();
    let line =
        "in Cargo.toml, under [dev-dependencies], write `kubewright-testkit = { …, features = [\"cel\"] }`";
    assert!(
        tested.stdout.contains(line),
        "{}\n{}",
        tested.stdout,
        tested.stderr
    );
}
