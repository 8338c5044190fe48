//! From `kubewright new` to a reconciled object, under the generated Role, on the real kube-apiserver.

use std::{path::Path, sync::LazyLock, time::Duration};

use kubewright_testkit::{ControlPlane, eventually};
use kubewright_tests::{Deployed, Project};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

/// Garbage collection is the point of the last act; a Deployment controller would fight with the test over its status.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::builder()
        .controller_manager(&["garbage-collector-controller"])
        .start()
        .expect("a control plane")
});

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn scaffolded_operator_reconciles_under_its_generated_role() {
    let project = Project::scaffold("lifecycle", "Foo", &[]);
    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    let deployed = Deployed::new(&PLANE, &project, "lifecycle");
    let namespace = PLANE.namespace("lifecycle").expect("a namespace");
    let kubectl = || PLANE.kubectl().namespace(&namespace);

    // The sample as generated, in the test's namespace.
    let sample = sample(&project, "foo").replace("namespace: default", &format!("namespace: {namespace}"));
    let mut operator = deployed.start("first", &[]);
    kubectl()
        .stdin(sample)
        .run(["apply", "--server-side", "-f", "-"])
        .expect("the sample is accepted");

    let deployment = eventually("the owned Deployment", PATIENCE, || {
        kubectl().json(["get", "deployment", "example-foo"])
    });
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["kind"], "Foo");
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["controller"], true);
    assert_eq!(
        deployment["metadata"]["ownerReferences"][0]["blockOwnerDeletion"],
        true
    );
    wait_for_foo(&namespace, "not ready, of the first generation", |foo| {
        foo["status"]["observedGeneration"] == 1 && condition(foo, "Ready")["status"] == "False"
    });

    // No kubelet runs: the test plays it.
    set_available(&namespace, 1);
    let foo = wait_for_foo(&namespace, "1 available and ready", |foo| {
        foo["status"]["availableReplicas"] == 1 && condition(foo, "Ready")["status"] == "True"
    });
    let became_ready = condition(&foo, "Ready")["lastTransitionTime"].clone();

    // kubectl scales through the spec; the operator follows, twice, and says so twice: one event, counted.
    for replicas in [2, 3] {
        let spec = json!({"spec": {"replicas": replicas}}).to_string();
        kubectl()
            .run(["patch", "foo", "example-foo", "--type=merge", "-p", &spec])
            .expect("scaled");
        eventually("the Deployment is scaled", PATIENCE, || {
            let deployment = kubectl()
                .json(["get", "deployment", "example-foo"])
                .map_err(|error| error.to_string())?;
            if deployment["spec"]["replicas"] == replicas {
                Ok(())
            } else {
                Err(deployment.to_string())
            }
        });
        wait_for_foo(&namespace, "observed", |foo| {
            foo["status"]["observedGeneration"] == foo["metadata"]["generation"]
        });
    }
    let event = eventually("the event of scaling, counted twice", PATIENCE, || {
        let events = kubectl()
            .json(["get", "events.events.k8s.io"])
            .map_err(|error| error.to_string())?;
        let items = events["items"].as_array().cloned().unwrap_or_default();
        items
            .into_iter()
            .find(|event| event["reason"] == "Updated" && event["series"]["count"] == 2)
            .ok_or(events.to_string())
    });
    assert_eq!(event["regarding"]["name"], "example-foo");
    assert_eq!(event["type"], "Normal");

    // Killed without a chance to tidy up, in the middle of a change; the next one goes on from what it finds.
    let spec = json!({"spec": {"replicas": 4}}).to_string();
    operator.process.kill().expect("killed");
    kubectl()
        .run(["patch", "foo", "example-foo", "--type=merge", "-p", &spec])
        .expect("scaled");
    set_available(&namespace, 3);
    let mut operator = deployed.start("second", &[]);
    let foo = wait_for_foo(&namespace, "caught up after the restart", |foo| {
        foo["status"]["availableReplicas"] == 3
            && foo["status"]["observedGeneration"] == foo["metadata"]["generation"]
    });
    let ready = condition(&foo, "Ready");
    assert_eq!(ready["status"], "False", "3 of 4 are available: {ready}");
    assert_ne!(ready["lastTransitionTime"], "", "{became_ready}");

    // Deleting the Foo deletes the Deployment, through the owner reference.
    kubectl()
        .run(["delete", "foo", "example-foo", "--wait=false"])
        .expect("deleted");
    eventually("the Deployment is collected", PATIENCE, || {
        let left = kubectl()
            .run(["get", "deployments", "-o", "name"])
            .map_err(|error| error.to_string())?;
        if left.trim().is_empty() { Ok(()) } else { Err(left) }
    });

    // A clean end releases the lease, so that the next one need not wait for it.
    let ended = operator
        .process
        .terminate(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", operator.process.log_tail());
    let lease = PLANE
        .kubectl()
        .namespace("lifecycle-system")
        .json(["get", "lease", "lifecycle"])
        .expect("the lease");
    assert!(
        lease["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .is_empty(),
        "{lease}"
    );

    PLANE
        .audit()
        .expect("an audit log")
        .assert_exact(&deployed.units(), deployed.user());
}

#[test]
#[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
fn missing_rule_is_forbidden_and_said_clearly() {
    let project = Project::scaffold("negative", "Nay", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = Deployed::new(&PLANE, &project, "negative");
    let namespace = PLANE.namespace("negative").expect("a namespace");
    let kubectl = || PLANE.kubectl().namespace(&namespace);

    // Each of these rules is needed: without it the operator cannot do its work, and says what it may not.
    for (resource, said) in [
        ("deployments", "deployments"),
        ("nays/status", "nays/status"),
        ("nays/finalizers", "blockOwnerDeletion"),
    ] {
        let mut role = PLANE
            .kubectl()
            .json(["get", "clusterrole", "negative"])
            .expect("the generated role");
        let complete = role["rules"].clone();
        let mut weakened = 0;
        for rule in role["rules"].as_array_mut().expect("rules") {
            let resources = rule["resources"].as_array_mut().expect("resources");
            if resources.iter().any(|name| name == resource) {
                // Reading Deployments stays allowed: the caches must sync, or nothing would be written at all.
                if resource == "deployments" {
                    rule["verbs"] = json!(["list", "watch"]);
                } else {
                    resources.retain(|name| name != resource);
                    if resources.is_empty() {
                        rule["resources"] = json!(["none"]);
                    }
                }
                weakened += 1;
            }
        }
        assert!(weakened > 0, "no rule for {resource}: {complete}");
        put_role(&role);

        let operator = deployed.start("denied", &[]);
        let sample =
            sample(&project, "nay").replace("namespace: default", &format!("namespace: {namespace}"));
        kubectl()
            .stdin(sample)
            .run(["apply", "--server-side", "-f", "-"])
            .expect("the sample is accepted");
        operator.wait_for_log("forbidden");
        operator.wait_for_log(said);
        operator.wait_for_log("kubewright generate");
        let forbidden = PLANE
            .audit()
            .expect("an audit log")
            .by_user(deployed.user())
            .forbidden();
        assert!(!forbidden.is_empty(), "without {resource} something is forbidden");
        drop(operator);

        role["rules"] = complete;
        put_role(&role);
        kubectl().run(["delete", "nays", "--all"]).expect("deleted");
        kubectl()
            .run(["delete", "deployments", "--all"])
            .expect("deleted");
    }
}

fn put_role(role: &Value) {
    let mut role = role.clone();
    if let Some(metadata) = role["metadata"].as_object_mut() {
        metadata.retain(|key, _| key == "name" || key == "labels");
    }
    PLANE
        .kubectl()
        .stdin(role.to_string())
        .run(["replace", "-f", "-"])
        .expect("the role is replaced");
}

/// The sample that lies in the project.
fn sample(project: &Project, kind: &str) -> String {
    let folder = project.root().join("manifests/samples");
    let files: Vec<_> = std::fs::read_dir(&folder)
        .expect("samples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.file_stem()
                .is_some_and(|stem| stem.to_string_lossy().contains(kind))
        })
        .collect();
    let [file]: &[_] = files.as_slice() else {
        panic!("one sample of {kind} in {}: {files:?}", folder.display())
    };
    std::fs::read_to_string::<&Path>(file).expect("a sample")
}

fn set_available(namespace: &str, replicas: i32) {
    let status =
        json!({"status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}});
    PLANE
        .kubectl()
        .namespace(namespace)
        .run([
            "patch",
            "deployment",
            "example-foo",
            "--subresource=status",
            "--type=merge",
            "-p",
            &status.to_string(),
        ])
        .expect("the status is set");
}

fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .and_then(|all| all.iter().find(|condition| condition["type"] == name))
        .unwrap_or(&NONE)
}

#[track_caller]
fn wait_for_foo(namespace: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    eventually(&format!("the Foo is {what}"), PATIENCE, || {
        let foo = PLANE
            .kubectl()
            .namespace(namespace)
            .json(["get", "foo", "example-foo"])
            .map_err(|error| error.to_string())?;
        if is(&foo) { Ok(foo) } else { Err(foo.to_string()) }
    })
}
