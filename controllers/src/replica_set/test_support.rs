//! Owners and pods for tests of single reconciles.

use kube::core::Status;
use kubewright::{
    controller::Action,
    testing::{Harness, Reply, Request},
};
use serde_json::{Value, json};

use super::register_replica_sets;
use crate::{Options, shared::invalid_objects::InvalidObjects};

pub(super) const KEY: &str = "default/web";

pub(super) fn harness_with(options: Options) -> Harness {
    Harness::new(move |setup| register_replica_sets(setup, &options, &InvalidObjects::default()))
}

pub(super) fn harness() -> Harness {
    harness_with(Options::default())
}

/// A ReplicaSet whose status shows as many replicas as it asks for.
pub(super) fn replica_set(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default", "uid": "owner", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
        "status": {"replicas": replicas, "fullyLabeledReplicas": replicas, "observedGeneration": 1, "terminatingReplicas": 0},
    })
}

pub(super) fn owner_references(uid: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true}])
}

/// A running pod with the label `app`, controlled by the owner with this uid.
pub(super) fn pod(name: &str, app: &str, owner: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "labels": {"app": app},
            "ownerReferences": owner.map(owner_references),
        },
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
