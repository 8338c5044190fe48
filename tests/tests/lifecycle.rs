//! From `kubewright new` to a reconciled object, under the generated Role.

use std::time::Duration;

use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{Deployed, Project, condition, named, objects, on_both_servers};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

on_both_servers!(
    scaffolded_operator_reconciles_under_its_generated_role,
    missing_rule_is_forbidden_and_said_clearly,
);

fn scaffolded_operator_reconciles_under_its_generated_role(cluster: &Cluster) {
    let project = Project::scaffold("lifecycle", "Foo", &[]);
    project.kubewright(&["generate"]).expect_success();
    project.kubewright(&["generate", "--check"]).expect_success();
    let deployed = Deployed::new(cluster, &project, "lifecycle");
    cluster.create_namespace("lifecycle").expect("a namespace");
    let foo = named("demo.dev/v1alpha1", "Foo", "lifecycle", "example-foo");
    let deployment = named("apps/v1", "Deployment", "lifecycle", "example-foo");
    let wait_for = |object: &Value, what: &str, is: &dyn Fn(&Value) -> bool| {
        eventually(what, PATIENCE, || match cluster.get(object) {
            Ok(Some(found)) if is(&found) => Ok(found),
            other => Err(format!("{other:?}")),
        })
    };
    let is_observed = |foo: &Value| foo["status"]["observedGeneration"] == foo["metadata"]["generation"];
    // No kubelet runs: the test plays it.
    let set_available = |replicas: i32| {
        let status =
            json!({ "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas });
        cluster
            .patch_status(&deployment, &status)
            .expect("the status is set");
    };
    let scale = |replicas: i32| {
        let spec = json!({ "spec": { "replicas": replicas } });
        cluster.merge_patch(&foo, &spec).expect("scaled");
    };

    let mut operator = deployed.start("first", &[]);
    cluster
        .apply(&sample(&project, "lifecycle"))
        .expect("the sample is accepted");
    let made = wait_for(&deployment, "the owned Deployment", &|_| true);
    assert_eq!(made["spec"]["replicas"], 1);
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "Foo");
    assert_eq!(
        (&owner["controller"], &owner["blockOwnerDeletion"]),
        (&json!(true), &json!(true))
    );
    wait_for(&foo, "the Foo is not ready, of the first generation", &|foo| {
        foo["status"]["observedGeneration"] == 1 && condition(foo, "Ready")["status"] == "False"
    });
    set_available(1);
    wait_for(&foo, "1 is available, and the Foo ready", &|foo| {
        foo["status"]["availableReplicas"] == 1 && condition(foo, "Ready")["status"] == "True"
    });

    // Scaled through the spec; the operator follows, twice, and says so twice: one event, counted.
    for replicas in [2, 3] {
        scale(replicas);
        wait_for(&deployment, "the Deployment is scaled", &|deployment| {
            deployment["spec"]["replicas"] == replicas
        });
        wait_for(&foo, "the Foo is observed", &is_observed);
    }
    let event = eventually("the event of scaling, counted twice", PATIENCE, || {
        let events = cluster
            .list(&named("events.k8s.io/v1", "Event", "lifecycle", ""))
            .map_err(|error| error.to_string())?;
        let is_it = |event: &&Value| event["reason"] == "Updated" && event["series"]["count"] == 2;
        events.iter().find(is_it).cloned().ok_or(format!("{events:?}"))
    });
    assert_eq!(event["regarding"]["name"], "example-foo");
    assert_eq!(event["type"], "Normal");

    // Killed without a chance to tidy up, in the middle of a change; the next one goes on from what it finds.
    operator.process.kill().expect("killed");
    scale(4);
    set_available(3);
    let mut operator = deployed.start("second", &[]);
    let caught_up = wait_for(&foo, "the Foo is caught up with after the restart", &|foo| {
        foo["status"]["availableReplicas"] == 3 && is_observed(foo)
    });
    let ready = condition(&caught_up, "Ready");
    assert_eq!(ready["status"], "False", "3 of 4 are available: {ready}");

    // Deleting the Foo deletes the Deployment, through the owner reference.
    cluster.delete(&foo).expect("deleted");
    eventually("the Deployment is collected", PATIENCE, || {
        match cluster.get(&deployment) {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });

    // A clean end releases the lease, so that the next one need not wait for it.
    let ended = operator
        .process
        .terminate(Duration::from_secs(30))
        .expect("it ends")
        .expect("in time");
    assert!(ended.success(), "{ended}: {}", operator.process.log_tail());
    let lease = named("coordination.k8s.io/v1", "Lease", "lifecycle-system", "lifecycle");
    let lease = cluster.get(&lease).expect("asked").expect("the lease");
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    assert!(holder.is_empty(), "{lease}");

    cluster
        .audit()
        .expect("an audit log")
        .assert_exact(&deployed.units(), deployed.user());
}

fn missing_rule_is_forbidden_and_said_clearly(cluster: &Cluster) {
    let project = Project::scaffold("negative", "Nay", &[]);
    project.kubewright(&["generate"]).expect_success();
    let deployed = Deployed::new(cluster, &project, "negative");
    cluster.create_namespace("negative").expect("a namespace");
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "negative" } });
    let complete = cluster.get(&role).expect("asked").expect("the generated role")["rules"].clone();
    let put_rules = |rules: &Value| {
        cluster
            .merge_patch(&role, &json!({ "rules": rules }))
            .expect("the role is changed");
    };

    // Each of these rules is needed: without it the operator cannot do its work, and says what it may not.
    for (resource, said) in [
        ("deployments", "deployments"),
        ("nays/status", "nays/status"),
        ("nays/finalizers", "blockOwnerDeletion"),
    ] {
        let mut rules = complete.clone();
        let mut weakened = 0;
        for rule in rules.as_array_mut().expect("rules") {
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
        put_rules(&rules);

        let operator = deployed.start("denied", &[]);
        let sample = sample(&project, "negative");
        cluster.apply(&sample).expect("the sample is accepted");
        operator.wait_for_log("forbidden");
        operator.wait_for_log(said);
        operator.wait_for_log("kubewright generate");
        let audit = cluster.audit().expect("an audit log");
        let forbidden = audit.by_user(deployed.user()).forbidden();
        assert!(!forbidden.is_empty(), "without {resource} something is forbidden");
        drop(operator);

        put_rules(&complete);
        cluster.delete(&sample).expect("deleted");
        let deployment = named("apps/v1", "Deployment", "negative", "example-nay");
        eventually("its Deployment is gone", PATIENCE, || {
            match cluster.get(&deployment) {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
}

/// The sample as generated, in the test's namespace.
fn sample(project: &Project, namespace: &str) -> Value {
    let samples = objects(&project.root().join("manifests/samples"));
    let [mut sample]: [Value; 1] = samples.try_into().expect("one sample");
    sample["metadata"]["namespace"] = namespace.into();
    sample
}
