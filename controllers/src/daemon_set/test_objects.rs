//! DaemonSets, nodes and pods for tests of single reconciles.

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::core::Status;
use kubewright::{
    controller::Action,
    testing::{Harness, Reply, Request},
};
use serde_json::{Value, json};

use super::{controller::register, pod_template::HASH_LABEL};
use crate::{Options, shared::invalid_objects::InvalidObjects};

pub(super) const KEY: &str = "default/agent";

pub(super) fn harness() -> Harness {
    Harness::new(|setup| register(setup, &Options::default(), &InvalidObjects::default()))
}

/// A harness with a DaemonSet, its revision and these nodes. Returns the revision's hash, too.
pub(super) async fn seeded(nodes: &[&str]) -> (Harness, String) {
    let test = harness();
    let hash = seed_daemon_set(&test, nodes).await;
    (test, hash)
}

/// Seeds a DaemonSet, its revision and these nodes. Returns the revision's hash.
pub(super) async fn seed_daemon_set(test: &Harness, nodes: &[&str]) -> String {
    test.seed(&daemon_set());
    reconcile(test).await;
    let requests = test.requests();
    let mut revision = created_revision(&requests).clone();
    revision["metadata"]["uid"] = revision["metadata"]["name"].clone();
    test.seed_as::<ControllerRevision>(&revision);
    for name in nodes {
        test.seed(&node(name));
    }
    let hash = revision["metadata"]["labels"][HASH_LABEL].as_str();
    hash.unwrap().to_owned()
}

/// Returns the revision that the first request creates.
pub(super) fn created_revision(requests: &[Request]) -> &Value {
    let first = requests[0].to_string();
    assert!(first.starts_with("create controllerrevisions.apps "), "{first}");
    &requests[0].body
}

pub(super) fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "uid": "owner", "generation": 1},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "agent", "image": "agent"}]},
            },
        },
    })
}

pub(super) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}})
}

pub(super) fn owner_references(uid: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": uid, "controller": true}])
}

/// A running pod on a node, controlled by the owner with this uid.
pub(super) fn pod(name: &str, node: &str, hash: &str, owner: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "labels": {"app": "agent", HASH_LABEL: hash},
            "ownerReferences": owner.map(owner_references),
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running"},
    })
}

pub(super) fn sent(test: &Harness) -> Vec<String> {
    test.requests().iter().map(ToString::to_string).collect()
}

pub(super) async fn reconcile(test: &Harness) -> Action {
    test.reconcile(KEY).await.unwrap()
}

pub(super) fn refused(message: &str, reason: &str, code: u16) -> Reply {
    Reply::status(&Status::failure(message, reason).with_code(code))
}

pub(super) fn is_create(request: &Request) -> bool {
    request.verb == "create"
}
