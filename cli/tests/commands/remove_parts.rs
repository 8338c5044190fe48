//! `kubewright remove controller` and `kubewright remove webhook`.

use crate::{certificates::manifests_with_webhooks, support::Sandbox};
use kubewright_cli::exit;

/// Runs commands that change files, and one that removes what they wrote: every file is as before, and the last command once more does nothing.
#[track_caller]
fn round_trip(project: &Sandbox, commands: &[&str], remove: &str) {
    let before = project.files();
    for command in commands {
        project.kubewright(command).expect(0);
    }
    assert_ne!(project.files(), before);
    project.kubewright(&format!("{remove} --allow-dirty")).expect(0);
    let after = project.files();
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    for (file, bytes) in &before {
        assert_eq!(
            after.get(file).map(text),
            Some(text(bytes)),
            "{file} after {remove}"
        );
    }
    assert!(after == before, "{remove} left files");
    project
        .kubewright(remove)
        .expect(0)
        .stderr_contains("nothing to do");
    assert!(project.files() == after);
}

#[test]
fn controllers_are_removed_without_a_trace() {
    let project = Sandbox::project().with_rustfmt();
    for (kind, owned) in [
        ("Node", "Pod"),
        ("Deployment.apps/v1", "ReplicaSet"),
        ("Event.events.k8s.io", "Pod"),
    ] {
        round_trip(
            &project,
            &[&format!("add controller {kind} --owns {owned}")],
            &format!("remove controller {kind}"),
        );
    }
    project.write("thing.yaml", &crate::import::definition("integer"));
    project.kubewright("import thing.yaml").expect(0);
    round_trip(
        &project,
        &["add controller Thing.demo.dev"],
        "remove controller Thing.demo.dev/v1",
    );
}

#[test]
fn kind_stays_without_its_controller() {
    let project = Sandbox::project();
    let before = project.files();
    project.kubewright("add kind Bar").expect(0);
    let planned = project
        .kubewright("remove controller Bar --dry-run --allow-dirty")
        .expect(0);
    assert_eq!(
        planned.stdout,
        "delete src/controllers/bar.rs\nupdate src/controllers/mod.rs\nupdate src/main.rs\ndelete tests/bar.rs\n"
    );
    project
        .kubewright("remove controller Bar --allow-dirty")
        .expect(0)
        .stderr_contains("delete src/controllers/bar.rs\n")
        .stderr_contains(
            "`kubewright generate` deletes its CRD: add a controller with `kubewright add controller Bar`",
        )
        .stderr_contains("next:\n  kubewright generate");
    let without = project.files();
    assert!(without.contains_key("src/api/bar.rs") && without.contains_key("manifests/samples/bar.yaml"));
    project.kubewright("add controller Bar").expect(0);
    project
        .kubewright("remove controller Bar --allow-dirty")
        .expect(0);
    assert!(project.files() == without);
    project.kubewright("remove kind Bar --allow-dirty").expect(0);
    assert!(project.files() == before);
}

#[test]
fn webhooks_are_removed_without_a_trace() {
    let project = Sandbox::project().with_rustfmt();
    for (kind, remove) in [
        ("Foo", "remove webhook Foo"),
        ("Pod", "remove webhook Pod --validating --defaulting"),
    ] {
        let both = format!("add webhook {kind} --validating --defaulting");
        round_trip(&project, &[&both], remove);
        for (one, other) in [("--validating", "--defaulting"), ("--defaulting", "--validating")] {
            let add = format!("add webhook {kind} {one}");
            round_trip(&project, &[&add], &format!("remove webhook {kind} {one}"));
            project.kubewright(&add).expect(0);
            let single = project.files();
            round_trip(
                &project,
                &[&format!("add webhook {kind} {other}")],
                &format!("remove webhook {kind} {other}"),
            );
            project
                .kubewright(&format!("remove webhook {kind} --allow-dirty"))
                .expect(0);
            // Also of those that were added together.
            project.kubewright(&both).expect(0);
            project
                .kubewright(&format!("remove webhook {kind} {other} --allow-dirty"))
                .expect(0);
            assert!(project.files() == single, "{kind} {one}");
            project
                .kubewright(&format!("remove webhook {kind} --allow-dirty"))
                .expect(0);
        }
    }
}

#[test]
fn edited_test_of_a_webhook_stays() {
    let project = Sandbox::project();
    project
        .kubewright("add webhook Foo --validating --defaulting")
        .expect(0);
    project.edit("tests/foo_webhook.rs", "//! Tests", "//! My tests");
    let test = project.read("tests/foo_webhook.rs");
    project
        .kubewright("remove webhook Foo --defaulting --allow-dirty")
        .expect(0)
        .stderr_contains(
            "note: tests/foo_webhook.rs is yours and was not changed: remove what tests the webhook there",
        );
    assert_eq!(project.read("tests/foo_webhook.rs"), test);
    assert!(!project.read("src/webhooks/foo.rs").contains("efaulter"));
}

/// A configuration without its webhook delays or denies all writes of the kind.
#[test]
fn step_for_clusters_is_printed_for_the_last_webhook() {
    let project = Sandbox::project();
    for command in [
        "add webhook Foo --validating --defaulting",
        "add webhook Pod --validating",
    ] {
        project.kubewright(command).expect(0);
    }
    project.set_manifests(&manifests_with_webhooks());
    project.kubewright("generate").expect(0);
    let removed = project
        .kubewright("remove webhook Foo --allow-dirty")
        .expect(0)
        .stderr_contains(
            "delete it before the new operator runs\n  kubectl delete mutatingwebhookconfigurations shop\n",
        );
    assert!(
        !removed.stderr.contains("kubectl delete validating"),
        "{}",
        removed.stderr
    );
    project
        .kubewright("remove webhook Pod --allow-dirty")
        .expect(0)
        .stderr_contains("kubectl delete validatingwebhookconfigurations shop\n");
}

#[test]
fn refusals_write_nothing() {
    let project = Sandbox::project();
    for command in [
        "add kind Bar",
        "add controller Node",
        "add webhook Bar --validating --defaulting",
        "add webhook Pod --validating --defaulting",
    ] {
        project.kubewright(command).expect(0);
    }
    project.write(
        "src/controllers/moved.rs",
        &project.read("src/controllers/node.rs"),
    );
    std::fs::remove_file(project.cwd.join("src/controllers/node.rs")).unwrap();
    project.edit(
        "src/controllers/foo.rs",
        "        let foos = ",
        "        setup.validator::<Secret>(Rules);\n        let foos = ",
    );
    project.edit(
        "src/webhooks/pod.rs",
        "        setup.defaulter::<Pod>(Self);",
        "        let defaulter = setup.defaulter::<Pod>(Self);",
    );
    project.write(
        "src/extra.rs",
        "use crate::controllers::*;\nuse crate::webhooks::BarWebhook as Hook;\n\npub fn f(_: bar::BarController) {}\n",
    );
    project.edit("src/lib.rs", "pub mod api;", "pub mod api;\npub mod extra;");
    let before = project.files();
    let line = |file: &str, text: &str| {
        let found = project.read(file);
        found.lines().position(|line| line.contains(text)).unwrap() + 1
    };
    let node = line("src/controllers/moved.rs", "pub struct NodeController");
    let secret = line("src/controllers/foo.rs", "Secret");
    let pod = line("src/webhooks/pod.rs", "let defaulter");
    for (arguments, expected) in [
        (
            "controller Nothing",
            "Nothing is neither a kind of the project nor one of Kubernetes".to_owned(),
        ),
        (
            "controller Node",
            format!(
                "the controller of Node is in src/controllers/moved.rs:{node}, and not in src/controllers/node.rs, where `kubewright add` writes it: remove it by hand"
            ),
        ),
        (
            "controller Bar",
            "BarController is in use:\nsrc/extra.rs:4\nchange or delete these first".to_owned(),
        ),
        (
            "webhook Nothing",
            "Nothing is neither a kind of the project nor one of Kubernetes".to_owned(),
        ),
        (
            "webhook Secret",
            format!(
                "the validator of Secret is in src/controllers/foo.rs:{secret}, and not in src/webhooks/secret.rs"
            ),
        ),
        (
            "webhook Bar",
            "BarWebhook is in use:\nsrc/extra.rs:2\n".to_owned(),
        ),
        (
            "webhook Pod --defaulting",
            format!("PodWebhook is in use:\nsrc/webhooks/pod.rs:{pod}\n"),
        ),
    ] {
        project
            .kubewright(&format!("remove {arguments} --allow-dirty"))
            .expect(exit::USAGE)
            .stderr_contains(&expected)
            .stderr_contains("; nothing was written");
    }
    for arguments in ["controller Foo", "webhook Pod --validating"] {
        project
            .kubewright(&format!("remove {arguments}"))
            .expect(exit::UNCOMMITTED)
            .stderr_contains("not in a git repository that has a commit");
    }
    for (arguments, expected) in [
        ("controller Secret", "Secret has no controller, nothing to do"),
        ("webhook Foo", "Foo has no such webhook, nothing to do"),
    ] {
        project
            .kubewright(&format!("remove {arguments}"))
            .expect(0)
            .stderr_contains(expected);
    }
    assert!(project.files() == before);
    project.git(&["add", "--all"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("tests/foo.rs", "//! ", "//! Mine: ");
    project
        .kubewright("remove controller Foo")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("tests/foo.rs would be changed and has uncommitted changes");
}

#[test]
fn kind_without_a_controller_is_not_registered_by_add_kind() {
    let project = Sandbox::project();
    project
        .kubewright("remove controller Foo --allow-dirty")
        .expect(0);
    let files = project.files();
    project
        .kubewright("add kind Foo --allow-dirty")
        .expect(0)
        .stderr_contains("kind Foo already exists, nothing to do");
    assert_eq!(project.files(), files);
}
