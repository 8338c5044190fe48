//! The life of a project with a webhook whose kind changes: it adds a version with a renamed and a split field; the running operator is
//! upgraded, rolled back and upgraded again, what is stored is migrated, and the old version is removed. The manifests of a release are
//! applied at once, before one of its replicas runs, and then replicas of both releases serve for a while. But for builds of the project, 16
//! writers create, patch, apply, update and delete objects of both versions all the time. No response may have another status than without an
//! upgrade, and between the steps the objects in the cluster must be those that were written last, in all versions.
//!
//! `packages` installs packages. `releases` has the project's releases and how they are deployed, `writers` the load, with
//! the objects of `kept`; `requests` sends its requests, `object` says what an object must be, and `load` is what the writers share.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod kept;
mod load;
mod object;
mod packages;
mod releases;
mod requests;
mod writers;

use std::{thread, time::Duration};

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{Project, new_object, on_both_servers};
use load::ApiVersions;
use object::{NEW, OLD};
use releases::{Releases, TIMEOUT};
use serde_json::{Value, json};
use writers::Writers;

on_both_servers!(project_changes_its_kind_under_load);

/// How long the writers write between two changes of the operator.
const LOAD: Duration = Duration::from_secs(2);

fn project_changes_its_kind_under_load(cluster: &Cluster) {
    let project = Project::scaffold("life", "Foo", &[]);
    let mut releases = Releases::new(cluster, &project);
    add_webhook(&project);
    project.kubewright(&["generate"]).expect_success();
    let first = releases.build();
    releases.apply_manifests();
    let old_operator = releases.start(&first);
    let mut writers = Writers::start(cluster, ApiVersions::Old);
    writers.run_for(LOAD);
    writers.check(&[OLD]);

    // A version with a renamed and a split field.
    let second = writers.pause_during(|| {
        add_version(&project);
        project.kubewright(&["generate"]).expect_success();
        releases.build()
    });
    releases.apply_manifests();
    // No replica converts, and the webhook is already that of the new version.
    writers.run_for(LOAD);
    let new_operator = releases.start(&second);
    writers.run_for(LOAD);
    wait_until_converted(cluster);
    write_both_versions(&mut writers, || releases.stop(old_operator));
    writers.keep();
    writers.run_for(LOAD);
    writers.check(&[OLD, NEW]);
    wait_until_validated(cluster);
    // Objects are stored in the old version: owner references keep it.
    wait_until_owned_by(cluster, "demo.dev/v1alpha1");

    // Rollback: the old version is the stored one. Without the old definition the API server would call the operator for writes of the old
    // version as well, to track the fields that clients of the new one own.
    writers.write(ApiVersions::Old);
    releases.roll_back_manifests(&first);
    eventually("the new version is not served", TIMEOUT, || {
        match cluster.list(&new_object("demo.dev/v1", "Foo", "default", "")) {
            Err(_) => Ok(()),
            Ok(_) => Err("it is served"),
        }
    });
    // Requests that began before may still be converted. The replica of the first release cannot, and each repeated call takes a second.
    writers.run_for(5 * LOAD);
    let old_operator = releases.start(&first);
    writers.run_for(LOAD);
    releases.stop(new_operator);
    writers.run_for(LOAD);
    writers.check(&[OLD]);
    reconciles(cluster, "rolled-back");
    wait_until_owned_by(cluster, "demo.dev/v1alpha1");

    releases.apply_manifests();
    let new_operator = releases.start(&second);
    wait_until_converted(cluster);
    write_both_versions(&mut writers, || releases.stop(old_operator));
    writers.run_for(LOAD);
    writers.check(&[OLD, NEW]);

    // All objects become ones of the new version; then the code stores it, which changes nothing in the definition any more.
    let migrate = ["migrate", "storage", "Foo", "--cluster", "testkit"];
    releases.command(&migrate);
    let definition = new_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "",
        "foos.demo.dev",
    );
    let migrated = cluster.get(&definition).unwrap().unwrap();
    assert_eq!(migrated["status"]["storedVersions"], json!(["v1"]));
    writers.run_for(LOAD);
    writers.check(&[OLD, NEW]);
    let third = writers.pause_during(|| {
        project
            .kubewright(&["migrate", "storage", "Foo", "--allow-dirty"])
            .expect_success();
        project.kubewright(&["generate"]).expect_success();
        releases.build()
    });
    releases.apply_manifests();
    let applied = cluster.get(&definition).unwrap().unwrap();
    assert_eq!(applied["spec"]["versions"], migrated["spec"]["versions"]);
    assert_eq!(applied["status"]["storedVersions"], json!(["v1"]));
    let migrated_operator = releases.start(&third);
    releases.stop(new_operator);
    writers.run_for(LOAD);
    writers.check(&[OLD, NEW]);
    // The next release has no permission to change owner references.
    writers.pause_during(|| wait_until_owned_by(cluster, "demo.dev/v1"));

    writers.write(ApiVersions::New);
    releases.command(&[
        "remove",
        "version",
        "Foo",
        "v1alpha1",
        "--cluster",
        "testkit",
        "--allow-dirty",
    ]);
    let fourth = writers.pause_during(|| {
        project.kubewright(&["generate"]).expect_success();
        releases.build()
    });
    // The definition first, as `kubectl apply` does: the next operator does not know the old version.
    releases.replace_definition(&fourth);
    // Requests that began before are still converted to it, which only a replica of the release before can do.
    writers.run_for(LOAD);
    let last_operator = releases.start(&fourth);
    releases.stop(migrated_operator);
    writers.run_for(LOAD);

    writers.stop(&[NEW]);
    reconciles(cluster, "last");
    wait_until_owned_by(cluster, "demo.dev/v1");
    releases.assert_no_deployment_forbidden();
    releases.stop(last_operator);
}

/// Writes both versions from now on, and stops the replica of the release before. That cannot convert, so the API server repeats its calls
/// until another replica answers: ten times, once a second. So the time is too short for eleven calls that all go to the old replica.
fn write_both_versions(writers: &mut Writers, stop_old: impl FnOnce()) {
    writers.write(ApiVersions::Both);
    thread::sleep(3 * LOAD);
    stop_old();
}

/// Waits until the owner references have this version: those of all Deployments that the operator still writes.
fn wait_until_owned_by(cluster: &Cluster, version: &str) {
    let deployment = new_object("apps/v1", "Deployment", "default", "");
    eventually("owner references have the version", TIMEOUT, || {
        let deployments = cluster.list(&deployment).unwrap();
        let is_written = |deployment: &&Value| {
            let name = deployment["metadata"]["name"].as_str().unwrap();
            name.starts_with("web-")
        };
        let owner = |deployment: &Value| deployment["metadata"]["ownerReferences"][0]["apiVersion"].clone();
        let written = deployments.iter().filter(is_written);
        let mut others = written.map(owner).filter(|owner| owner != version);
        others.next().map_or(Ok(()), Err)
    });
}

/// Waits until an object of the old version is read in the new one.
fn wait_until_converted(cluster: &Cluster) {
    eventually("the API server converts", TIMEOUT, || {
        let read = cluster.list(&new_object("demo.dev/v1", "Foo", "default", ""));
        read.map(drop).map_err(|error| error.to_string())
    });
}

/// Waits until the validator of `add webhook` denies an object. Until the API server trusts it, it ignores the failed call.
fn wait_until_validated(cluster: &Cluster) {
    let mut attempts = 0;
    eventually("the validator denies", TIMEOUT, || {
        attempts += 1;
        let spec = json!({"app": "web", "instance": "refused", "size": 7});
        let mut refused = object("demo.dev/v1", &format!("refused-{attempts}"), spec);
        refused["metadata"]["labels"] = json!({"demo.dev/team": ""});
        match cluster.apply(&refused) {
            Err(error) if error.to_string().contains("name the team") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

/// Creates an object and waits for its Deployment.
fn reconciles(cluster: &Cluster, name: &str) {
    let (version, spec) = if name == "last" {
        ("demo.dev/v1", json!({"app": "web", "instance": name, "size": 1}))
    } else {
        (
            "demo.dev/v1alpha1",
            json!({"deploymentName": format!("web-{name}"), "replicas": 1}),
        )
    };
    cluster.apply(&object(version, name, spec)).unwrap();
    let deployment = new_object("apps/v1", "Deployment", "default", &format!("web-{name}"));
    eventually("the operator reconciles", TIMEOUT, || {
        cluster.get(&deployment).unwrap().ok_or("no Deployment")
    });
}

fn object(version: &str, name: &str, spec: Value) -> Value {
    let mut object = new_object(version, "Foo", "default", name);
    object["spec"] = spec;
    object
}

/// Adds a validator, with a rule about what all versions have.
fn add_webhook(project: &Project) {
    project
        .kubewright(&["add", "webhook", "Foo", "--validating", "--allow-dirty"])
        .expect_success();
    let webhook = "src/webhooks/foo.rs";
    let text = project.read(webhook);
    let (start, end) = ("        let name = ", "        Ok(validation)");
    let example = text.find(start).and_then(|start| {
        let length = text[start..].find(end)?;
        Some(&text[start..start + length])
    });
    let rule = "        let labels = new.metadata.labels.clone().unwrap_or_default();
        if labels.get(\"demo.dev/team\").is_some_and(String::is_empty) {
            validation.required(\"metadata.labels[demo.dev/team]\", \"name the team\");
        }\n";
    project.edit(webhook, example.unwrap(), rule);
    project.edit(
        webhook,
        "new.spec.deployment_name != old.spec.deployment_name",
        "new.metadata.labels != old.metadata.labels",
    );
}

/// Changes the code as a user would.
fn add_version(project: &Project) {
    project
        .kubewright(&["add", "version", "Foo", "v1", "--allow-dirty"])
        .expect_success();
    let (new, old) = ("src/api/foo/v1.rs", "src/api/foo/v1alpha1.rs");
    let name = "    pub deployment_name: String,\n";
    let split = "    pub app: String,\n    /// The instance of the app.\n    pub instance: String,\n    /// A note.\n    \
                 #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub note: Option<String>,\n";
    project.edit(new, name, split);
    project.edit(new, "pub replicas: i32", "pub size: i32");
    project.edit(new, ".spec.replicas", ".spec.size");
    project.edit(
        new,
        "by_deployment = \"spec.deploymentName\"",
        "by_app = \"spec.app\"",
    );

    let hub = "hub = super::v1::FooSpec";
    let rules = "hub = super::v1::FooSpec, hub_only(app, from = app), hub_only(instance, from = instance), hub_only(note)";
    project.edit(old, hub, rules);
    project.edit(
        old,
        name,
        &format!("    #[convert(dropped, from = deployment_name)]\n{name}"),
    );
    let replicas = "    pub replicas: i32";
    project.edit(
        old,
        replicas,
        &format!("    #[convert(renamed = \"size\")]\n{replicas}"),
    );
    let functions = "
fn app(foo: &FooSpec) -> String {
    foo.deployment_name.split('-').next().unwrap_or_default().to_owned()
}

fn instance(foo: &FooSpec) -> String {
    foo.deployment_name.split_once('-').map_or_else(String::new, |(_, instance)| instance.to_owned())
}

fn deployment_name(foo: &super::v1::FooSpec) -> String {
    format!(\"{}-{}\", foo.app, foo.instance)
}
";
    let text = project.read(old);
    project.edit(old, &text, &(text.clone() + functions));

    let controller = "src/controllers/foo.rs";
    project.edit(
        controller,
        "key.sibling(foo.spec.deployment_name.as_str())",
        "key.sibling(format!(\"{}-{}\", foo.spec.app, foo.spec.instance))",
    );
    project.edit(controller, "foo.spec.deployment_name", "foo.spec.app");
    for _ in 0..2 {
        project.edit(controller, "foo.spec.replicas", "foo.spec.size");
    }

    let sample = "manifests/samples/foo.yaml";
    project.edit(
        sample,
        "deploymentName: example-foo",
        "app: example\n  instance: foo",
    );
    project.edit(sample, "replicas:", "size:");
}
