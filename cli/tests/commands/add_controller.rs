//! `kubewright add controller`.

use crate::support::Sandbox;
use kubewright_cli::exit;

#[test]
fn adds_files_and_lines_once() {
    let project = Sandbox::project();
    let before = project.files();
    project
        .kubewright("add controller Node --owns Pod --owns ConfigMap")
        .expect(0)
        .stderr_contains("create src/controllers/node.rs")
        .stderr_contains("kubewright generate  # writes the permissions of its watches");
    let after = project.files();
    let new: Vec<_> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert_eq!(new, ["src/controllers/node.rs", "tests/node.rs"]);
    let code = project.read("src/controllers/node.rs");
    for line in [
        "use k8s_openapi::api::core::v1::ConfigMap;\nuse k8s_openapi::api::core::v1::Node;\n",
        "    config_maps: Lister<ConfigMap>,\n",
        "            .owns(&pods)\n            .owns(&config_maps);\n",
    ] {
        assert!(code.contains(line), "{line:?} is not in {code}");
    }
    assert!(project.read("src/controllers/mod.rs").ends_with(
        "pub mod foo;\npub mod node;\n\npub use foo::FooController;\npub use node::NodeController;\n"
    ));
    let main = project.read("src/main.rs");
    assert!(main.contains("use shop::controllers::FooController;\nuse shop::controllers::NodeController;\n"));
    assert!(main.contains("(FooController::register)\n        .register(NodeController::register)\n"));
    assert!(project.read("tests/node.rs").lines().count() <= 50);

    project
        .kubewright("add controller Node")
        .expect(0)
        .stderr_contains("the controller of Node already exists, nothing to do");
    // A deleted line is inserted again.
    project.edit("src/main.rs", "        .register(NodeController::register)\n", "");
    project
        .kubewright("add controller Node --owns Pod")
        .expect(0)
        .stderr_contains("note: src/controllers/node.rs is yours and was not changed");
    assert_eq!(project.files(), after);
}

#[test]
fn kind_of_the_project_gets_a_controller() {
    let project = Sandbox::project();
    project.kubewright("add version Foo v1").expect(0);
    for file in ["src/controllers/foo.rs", "tests/foo.rs"] {
        std::fs::remove_file(project.cwd.join(file)).unwrap();
    }
    project
        .kubewright("add controller Foo --owns Deployment")
        .expect(0);
    let code = project.read("src/controllers/foo.rs");
    for line in [
        "        crate::api::foo::register_versions(setup);\n        let foos = setup.informers().custom::<Foo>();\n",
        "use crate::api::foo::Foo;\n",
    ] {
        assert!(code.contains(line), "{line:?} is not in {code}");
    }
    assert!(
        project
            .read("tests/foo.rs")
            .contains("const KEY: &str = \"default/example-foo\";")
    );
}

#[test]
fn what_cannot_be_added_is_refused() {
    let project = Sandbox::project();
    project.kubewright("add kind CronJob").expect(0);
    project.write("src/controllers/service.rs", "// something else\n");
    project.write("tests/secret.rs", "// something else\n");
    project.write("src/jobs.rs", "\npub struct JobController;\n");
    let before = project.files();
    for (arguments, expected) in [
        (
            "Fooo",
            "Fooo is neither a kind of the project nor one of Kubernetes: did you mean Foo?",
        ),
        ("Node --owns Pods", "did you mean Pod?"),
        ("Node --owns Node", "the name `Node` twice"),
        ("Pod --owns Node", "Pod is namespaced and cannot own Node"),
        (
            "Service",
            "src/controllers/service.rs already exists and is not about `ServiceController`",
        ),
        (
            "Secret",
            "tests/secret.rs already exists and is not about `SecretController`",
        ),
        ("Job", "Job has a controller in src/jobs.rs:2: change that one"),
        (
            "CronJob.batch",
            "the project has a kind CronJob in src/api/cron_job.rs",
        ),
        ("nodes", "name a kind as in `Foo`, `Pod`"),
    ] {
        let refused = project.kubewright(&format!("add controller {arguments}"));
        refused.expect(exit::USAGE).stderr_contains(expected);
        assert_eq!(project.files(), before, "{arguments}");
    }
}

#[test]
fn uncommitted_changes_and_dry_runs_write_nothing() {
    let project = Sandbox::project();
    let before = project.files();
    let planned = project.kubewright("add controller Pod --dry-run").expect(0);
    assert_eq!(
        planned.stdout,
        "update src/controllers/mod.rs\ncreate src/controllers/pod.rs\nupdate src/main.rs\ncreate tests/pod.rs\n"
    );
    assert_eq!(project.files(), before);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("src/main.rs", "//! ", "//! Mine: ");
    project
        .kubewright("add controller Pod")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("src/main.rs would be changed");
    project.kubewright("add controller Pod --allow-dirty").expect(0);
}
