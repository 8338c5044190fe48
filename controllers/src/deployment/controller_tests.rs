//! Claiming, failures and bad input, with the requests of single reconciles.

use kube::core::Status;
use kubewright::testing::{Harness, Reply, Request};
use serde_json::{Value, json};

use super::*;
use kubewright::cache::Change;

const KEY: &str = "default/web";

fn harness() -> Harness {
    Harness::new(|setup| register(setup, &Options::default(), &InvalidObjects::default()))
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "web", "resourceVersion": "1", "generation": 1},
        "spec": {
            "replicas": 1, "progressDeadlineSeconds": 600, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": template("first"),
        },
    })
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}})
}

fn replica_set(name: &str, owner: Option<&str>) -> Value {
    let reference = |uid| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": uid, "uid": uid, "controller": true});
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "resourceVersion": "1", "generation": 1, "labels": {"app": "web"},
            "ownerReferences": owner.map(|uid| vec![reference(uid)]),
        },
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("first")},
    })
}

/// Seeds a new version of an object.
fn reseed(test: &Harness, object: &Value) {
    let mut object = object.clone();
    let version: u64 = object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or("1")
        .parse()
        .unwrap();
    object["metadata"]["resourceVersion"] = json!((version + 1).to_string());
    test.seed(&object);
}

/// Returns the requests as short texts, without the hash in a name.
fn sent(test: &Harness) -> Vec<String> {
    let requests = test.requests().into_iter();
    let requests = requests.map(|request| request.to_string());
    let without_hash = |request: String| {
        if request.starts_with("create replicasets") {
            "create".to_owned()
        } else {
            request
        }
    };
    requests.map(without_hash).collect()
}

fn events(test: &Harness) -> Vec<String> {
    let events = test.events().into_iter();
    events
        .map(|event| format!("{:?} {}: {}", event.event_type, event.reason, event.note))
        .collect()
}

const STATUS: &str = "update deployments.apps/status default/web";

fn is_create(request: &Request) -> bool {
    request.verb == "create"
}

#[tokio::test]
async fn replica_set_is_created_and_reported() {
    let test = harness();
    test.seed(&deployment());
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    let name = requests[0].body["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert_eq!(requests[1].to_string(), STATUS);
    assert_eq!(
        requests[1].body["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    assert_eq!(
        events(&test),
        [format!(
            "Normal ScalingReplicaSet: Scaled up replica set {name} from 0 to 1"
        )]
    );
}

#[tokio::test]
async fn deployments_that_are_gone_or_select_nothing_are_left_alone() {
    let test = harness();
    test.reconcile(KEY).await.unwrap();
    for operator in ["In", "Between"] {
        let mut invalid = deployment();
        invalid["metadata"]["generation"] = json!(operator.len());
        invalid["spec"]["selector"] =
            json!({"matchExpressions": [{"key": "app", "operator": operator, "values": []}]});
        test.seed(&invalid);
        test.reconcile(KEY).await.unwrap();
    }
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn deployment_that_selects_everything_is_warned_about() {
    let test = harness();
    let mut everything = deployment();
    everything["spec"]["selector"] = json!({});
    test.seed(&everything);
    test.reconcile(KEY).await.unwrap();
    assert_eq!(sent(&test), [STATUS]);
    let message =
        "Warning SelectingAll: This deployment is selecting all pods. A non-empty selector is required.";
    assert_eq!(events(&test), [message]);
    everything["status"] = json!({"observedGeneration": 1});
    reseed(&test, &everything);
    test.reconcile(KEY).await.unwrap();
    assert_eq!(sent(&test), [""; 0]);
}

#[tokio::test]
async fn invalid_strategies_are_reported_once_for_each_generation_and_not_retried() {
    let objects = InvalidObjects::default();
    let test = Harness::new(|setup| register(setup, &Options::default(), &objects));
    let limit = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "some", "maxUnavailable": 0}});
    for (generation, strategy) in [(1, json!({"type": "Canary"})), (2, limit)] {
        let mut invalid = deployment();
        invalid["metadata"]["generation"] = json!(generation);
        invalid["metadata"]["resourceVersion"] = json!(generation.to_string());
        invalid["spec"]["strategy"] = strategy;
        test.seed(&invalid);
        for _ in 0..2 {
            assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
        }
    }
    assert_eq!(sent(&test), [""; 0]);
    for reason in ["UnknownStrategy", "InvalidLimit"] {
        assert_eq!(objects.count(NAME, reason).get(), 1, "{reason}");
    }
}

#[tokio::test]
async fn orphans_are_adopted_after_a_live_read_and_others_released() {
    let test = harness();
    test.seed(&deployment());
    test.seed(&replica_set("orphan", None));
    test.seed(&replica_set("others", Some("other")));
    let mut released = replica_set("released", Some("web"));
    released["metadata"]["labels"] = json!({"app": "other"});
    test.seed(&released);
    test.reconcile(KEY).await.unwrap();
    let mut requests = sent(&test);
    requests.sort();
    let expected = [
        "get deployments.apps default/web",
        "patch replicasets.apps default/orphan",
        "patch replicasets.apps default/released",
    ];
    assert_eq!(requests, expected);
}

#[tokio::test]
async fn deployment_that_was_deleted_or_replaced_meanwhile_adopts_nothing() {
    for change in [
        json!({"deletionTimestamp": "2026-05-01T00:00:00Z"}),
        json!({"uid": "new"}),
    ] {
        let test = harness();
        test.seed(&deployment());
        test.seed(&replica_set("orphan", None));
        let mut fresh = deployment();
        let metadata = fresh["metadata"].as_object_mut().unwrap();
        metadata.extend(change.as_object().unwrap().clone());
        test.api().put::<Deployment>(&fresh);
        test.reconcile(KEY).await.unwrap_err();
        assert_eq!(sent(&test), ["get deployments.apps default/web"]);
    }
}

#[tokio::test]
async fn failure_to_create_is_reported_once() {
    let test = harness();
    test.seed(&deployment());
    let forbidden = || Reply::status(&Status::failure("no quota", "Forbidden").with_code(403));
    test.reply_with(is_create, forbidden());
    test.reconcile(KEY).await.unwrap_err();
    let requests = test.requests();
    let condition = &requests[1].body["status"]["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("False"), &json!("ReplicaSetCreateError"))
    );
    let message = condition["message"].as_str().unwrap();
    assert!(
        message.starts_with("Failed to create new replica set \"web-") && message.ends_with("\": no quota"),
        "{message}"
    );
    assert_eq!(
        events(&test),
        [format!("Warning ReplicaSetCreateError: {message}")]
    );
    reseed(&test, &requests[1].body);
    test.reply_with(is_create, forbidden());
    test.reconcile(KEY).await.unwrap_err();
    assert_eq!(sent(&test), ["create"]);
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_is_deleted() {
    let test = harness();
    test.seed(&deployment());
    let terminating = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no",
        "details": {"causes": [{"reason": "NamespaceTerminating", "message": "no", "field": "metadata.namespace"}]},
    });
    test.reply_with(is_create, Reply::object(http::StatusCode::FORBIDDEN, terminating));
    assert_eq!(test.reconcile(KEY).await.unwrap(), Action::await_change());
    assert_eq!((sent(&test), events(&test)), (vec!["create".to_owned()], vec![]));
}

#[tokio::test]
async fn collision_counts_only_for_another_template_or_owner() {
    let wanted = {
        let test = harness();
        test.seed(&deployment());
        test.reconcile(KEY).await.unwrap();
        test.requests().remove(0).body
    };
    let name = wanted["metadata"]["name"].as_str().unwrap();
    let exists = || {
        let test = harness();
        test.seed(&deployment());
        test.reply_with(
            is_create,
            Reply::status(&Status::failure("exists", "AlreadyExists").with_code(409)),
        );
        test
    };
    // The cache does not have it yet.
    exists().reconcile(KEY).await.unwrap_err();
    let others = exists();
    others.seed(&replica_set(name, Some("other")));
    assert_eq!(others.reconcile(KEY).await.unwrap(), Action::await_change());
    let requests = others.requests();
    assert_eq!(
        (
            requests[1].to_string().as_str(),
            &requests[1].body["status"]["collisionCount"]
        ),
        (STATUS, &json!(1))
    );
    let changed = exists();
    let mut other_template = replica_set(name, Some("web"));
    other_template["spec"]["template"] = template("second");
    changed.seed(&other_template);
    changed.reconcile(KEY).await.unwrap();
    assert_eq!(changed.requests()[1].body["status"]["collisionCount"], 1);
}

#[tokio::test]
async fn replica_set_that_is_gone_is_deleted() {
    let test = harness();
    let mut deployment = deployment();
    deployment["spec"]["revisionHistoryLimit"] = json!(0);
    deployment["status"] =
        json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1});
    test.seed(&deployment);
    let mut new = replica_set("new", Some("web"));
    new["status"] = json!({"observedGeneration": 1, "replicas": 1, "availableReplicas": 1});
    test.seed(&new);
    let mut old = replica_set("old", Some("web"));
    old["spec"]["replicas"] = json!(0);
    old["spec"]["template"] = template("second");
    old["status"] = json!({"observedGeneration": 1, "replicas": 0});
    test.seed(&old);
    let gone = Reply::status(&Status::failure("gone", "NotFound").with_code(404));
    test.reply_with(|request| request.verb == "delete", gone);
    test.reconcile(KEY).await.unwrap();
    let requests = test.requests();
    let deletion = requests.iter().find(|request| request.verb == "delete").unwrap();
    assert_eq!(deletion.to_string(), "delete replicasets.apps default/old");
    assert_eq!(deletion.body["preconditions"]["uid"], "old");
    assert_eq!(requests.last().unwrap().to_string(), STATUS);
}

#[tokio::test]
async fn deleted_pod_enqueues_a_recreated_deployment_that_waits_for_no_other() {
    let test = harness();
    let mut recreated = deployment();
    recreated["spec"]["strategy"] = json!({"type": "Recreate"});
    test.seed(&recreated);
    test.seed(&replica_set("old", Some("web")));
    let pod = |name: &str, phase: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": "default", "uid": name, "labels": {"app": "web"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "old", "uid": "old", "controller": true}],
            },
            "status": {"phase": phase},
        })
    };
    let informers = test.setup().informers();
    let pods = informers.projected::<PodView>();
    let caches = DeploymentPods {
        deployments: informers.of::<Deployment>().lister(),
        replica_sets: informers.of::<ReplicaSet>().lister(),
        pods: pods.lister(),
    };
    test.seed(&pod("a", "Running"));
    let deleted = pods
        .lister()
        .object(&NamespacedName::namespaced("default", "a"))
        .unwrap();
    let change = Change::Deleted {
        old: deleted.metadata(),
        final_state_known: true,
    };
    for (version, (phase, is_enqueued)) in (2..).zip([
        ("Running", false),
        ("Succeeded", true),
        ("Failed", true),
        ("Strange", false),
    ]) {
        let mut other = pod("a", phase);
        other["metadata"]["resourceVersion"] = json!(version.to_string());
        test.seed(&other);
        assert_eq!(caches.waiting_for(&change).is_some(), is_enqueued, "{phase}");
    }
    let mut ended = pod("a", "Succeeded");
    ended["metadata"]["resourceVersion"] = json!("9");
    test.seed(&ended);
    assert!(caches.waiting_for(&change).is_some());
    recreated["spec"]["strategy"] = json!({"type": "RollingUpdate"});
    reseed(&test, &recreated);
    assert_eq!(caches.waiting_for(&change), None);
}
