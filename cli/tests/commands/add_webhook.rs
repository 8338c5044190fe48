//! `kubewright add webhook`.

use crate::support::Sandbox;
use kubewright_cli::exit;

#[test]
fn adds_files_and_lines_once() {
    let project = Sandbox::project();
    let before = project.files();
    project
        .kubewright("add webhook Foo --validating --defaulting")
        .expect(0)
        .stderr_contains("create src/webhooks/foo.rs")
        .stderr_contains("kubewright generate  # writes manifests/webhooks");
    let after = project.files();
    let new: Vec<_> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert_eq!(
        new,
        [
            "src/webhooks/foo.rs",
            "src/webhooks/mod.rs",
            "tests/foo_webhook.rs"
        ]
    );
    assert!(
        project
            .read("src/lib.rs")
            .ends_with("pub mod controllers;\npub mod webhooks;\n")
    );
    assert_eq!(
        project.read("src/webhooks/mod.rs"),
        "//! The webhooks of this operator, one kind per file. `src/main.rs` registers them.\n\npub mod foo;\n\n\
         pub use foo::FooWebhook;\n"
    );
    let main = project.read("src/main.rs");
    assert!(main.contains("use shop::controllers::FooController;\nuse shop::webhooks::FooWebhook;\n"));
    assert!(main.contains(
        "        .register(FooController::register)\n        .register(FooWebhook::register)\n        .run()"
    ));
    let lines = project.read("tests/foo_webhook.rs").lines().count();
    assert!(lines <= 80, "the test has {lines} lines");

    project
        .kubewright("add webhook Foo --validating --defaulting")
        .expect(0)
        .stderr_contains("the webhooks of Foo already exist, nothing to do");
    assert_eq!(project.files(), after);
    // A deleted line is inserted again.
    project.edit("src/main.rs", "        .register(FooWebhook::register)\n", "");
    project.kubewright("add webhook Foo --defaulting").expect(0);
    assert_eq!(project.files(), after);

    project.kubewright("add webhook Pod --defaulting").expect(0);
    assert!(
        project
            .read("src/webhooks/mod.rs")
            .ends_with("pub mod foo;\npub mod pod;\n\npub use foo::FooWebhook;\npub use pod::PodWebhook;\n")
    );
}

#[test]
fn second_webhook_of_a_kind_is_inserted() {
    let both = Sandbox::project().with_rustfmt();
    both.kubewright("add webhook Foo --validating --defaulting")
        .expect(0);
    let project = Sandbox::project().with_rustfmt();
    project.kubewright("add webhook Foo --validating").expect(0);
    let single = project.read("src/webhooks/foo.rs");
    assert!(!single.contains("Defaulter"), "{single}");
    // The user's changes stay.
    project.edit(
        "src/webhooks/foo.rs",
        "validator::<Foo>(Self)",
        "validator::<Foo>(Self).fail_closed()",
    );
    let test = project.read("tests/foo_webhook.rs");
    project
        .kubewright("add webhook Foo --defaulting")
        .expect(0)
        .stderr_contains("update src/webhooks/foo.rs")
        .stderr_contains("note: tests/foo_webhook.rs is yours and was not changed: add a test there");
    assert_eq!(project.read("tests/foo_webhook.rs"), test);
    let imports = |text: &str| {
        let end = text
            .find("\nuse shop")
            .or_else(|| text.find("\nuse crate"))
            .unwrap();
        let start = text.find("use kubewright::webhooks").unwrap();
        text[..start].to_owned() + &text[end..]
    };
    let inserted = project
        .read("src/webhooks/foo.rs")
        .replace("(Self).fail_closed()", "(Self)");
    assert!(inserted.contains("use kubewright::webhooks::Defaulter;\nuse kubewright::webhooks::{"));
    assert_eq!(imports(&inserted), imports(&both.read("src/webhooks/foo.rs")));

    // Without a place for the lines, the error has all of them.
    let third = Sandbox::project();
    third.kubewright("add webhook Foo --validating").expect(0);
    third.edit(
        "src/webhooks/foo.rs",
        "pub struct FooWebhook;",
        "pub struct FooWebhook {}",
    );
    let before = third.files();
    third
        .kubewright("add webhook Foo --defaulting")
        .expect(exit::NO_INSERTION_POINT)
        .stderr_contains("src/webhooks/foo.rs: the webhooks' type has fields")
        .stderr_contains("    setup.defaulter::<Foo>(Self);\n")
        .stderr_contains("    impl Defaulter<Foo> for FooWebhook {\n")
        .stderr_contains("nothing was written");
    assert_eq!(third.files(), before);
}

#[test]
fn what_cannot_be_added_is_refused() {
    let project = Sandbox::project();
    project.write("src/webhooks/deployment.rs", "// something else\n");
    project.write("tests/config_map_webhook.rs", "// something else\n");
    project.edit(
        "src/controllers/foo.rs",
        "        let foos = ",
        "        setup.validator::<Secret>(Rules);\n        let foos = ",
    );
    let before = project.files();
    for (arguments, expected) in [
        ("Foo", "pass --validating, --defaulting or both"),
        (
            "Fooo --validating",
            "Fooo is neither a kind of the project nor one of Kubernetes: did you mean Foo?",
        ),
        (
            "Deployment.apps/v2 --validating",
            "did you mean Deployment.apps/v1?",
        ),
        ("foos --validating", "name a kind as in `Foo`, `Pod`"),
        (
            "Lease --validating",
            "Lease cannot have webhooks: the operators' own leader election",
        ),
        (
            "Deployment --validating",
            "src/webhooks/deployment.rs already exists and is not about `DeploymentWebhook`",
        ),
        (
            "ConfigMap --defaulting",
            "tests/config_map_webhook.rs already exists and is not about `ConfigMapWebhook`",
        ),
        (
            "Secret --validating",
            "the validator of Secret is registered in src/controllers/foo.rs:",
        ),
    ] {
        project
            .kubewright(&format!("add webhook {arguments}"))
            .expect(exit::USAGE)
            .stderr_contains(expected);
        assert_eq!(project.files(), before, "{arguments}");
    }
    std::fs::remove_file(project.cwd.join("manifests/samples/foo.yaml")).unwrap();
    project
        .kubewright("add webhook Foo --validating")
        .expect(exit::USAGE)
        .stderr_contains("Foo has no sample in manifests/samples");
    // A kind of the project hides that of Kubernetes.
    let project = Sandbox::project();
    project.kubewright("add kind CronJob").expect(0);
    project
        .kubewright("add webhook CronJob.batch --validating")
        .expect(exit::USAGE)
        .stderr_contains("the project has a kind CronJob in src/api/cron_job.rs");
    project.kubewright("add webhook CronJob --validating").expect(0);
    assert!(
        project
            .read("src/webhooks/cron_job.rs")
            .contains("use crate::api::cron_job::CronJob;")
    );
    project.kubewright("add kind Operation").expect(0);
    project
        .kubewright("add webhook Operation --validating")
        .expect(exit::USAGE)
        .stderr_contains("the name `Operation` twice");
}

#[test]
fn missing_insertion_point_is_an_error_with_the_line_to_add() {
    let project = Sandbox::project();
    project.write("src/main.rs", "fn main() { shop::start() }\n");
    let before = project.files();
    project
        .kubewright("add webhook Foo --validating")
        .expect(exit::NO_INSERTION_POINT)
        .stderr_contains(".register(FooWebhook::register)");
    std::fs::remove_file(project.cwd.join("src/lib.rs")).unwrap();
    project
        .kubewright("add webhook Foo --validating")
        .expect(exit::NO_INSERTION_POINT)
        .stderr_contains("src/lib.rs: the project has no library");
    project.write("src/lib.rs", std::str::from_utf8(&before["src/lib.rs"]).unwrap());
    assert_eq!(project.files(), before);
}

#[test]
fn uncommitted_changes_and_dry_runs_write_nothing() {
    let project = Sandbox::project();
    let before = project.files();
    let planned = project
        .kubewright("add webhook Pod --validating --dry-run")
        .expect(0);
    assert_eq!(
        planned.stdout,
        "update src/lib.rs\nupdate src/main.rs\ncreate src/webhooks/mod.rs\ncreate src/webhooks/pod.rs\ncreate tests/pod_webhook.rs\n"
    );
    assert_eq!(project.files(), before);

    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("src/lib.rs", "//! ", "//! Mine: ");
    let before = project.files();
    project
        .kubewright("add webhook Pod --validating")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/lib.rs would be changed")
        .stderr_contains("--allow-dirty");
    assert_eq!(project.files(), before);
    project
        .kubewright("add webhook Pod --validating --allow-dirty")
        .expect(0);
}
