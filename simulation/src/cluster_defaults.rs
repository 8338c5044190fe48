//! The objects that every cluster has: a node, and a service account in each namespace.

use serde_json::json;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;
use crate::plan::Plan;

/// The service account of pods that name none.
const ACCOUNT: &str = "default";

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    node(cache, plan);
    for namespace in cache
        .all(Kind::Namespace)
        .filter(|namespace| !object::is_being_deleted(namespace))
    {
        let name = object::name(namespace);
        if cache.get(Kind::ServiceAccount, name, ACCOUNT).is_none() {
            let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT, "namespace": name } });
            plan.push(Action::Create(Kind::ServiceAccount, account));
        }
    }
}

fn node(cache: &ObjectCache, plan: &mut Plan) {
    let Some(node) = cache.get(Kind::Node, "", crate::NODE) else {
        let labels = json!({ "kubernetes.io/hostname": crate::NODE, "kubernetes.io/os": "linux" });
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": crate::NODE, "labels": labels } });
        return plan.push(Action::Create(Kind::Node, node));
    };
    if object::is_condition_true(node, "Ready") {
        return;
    }
    let capacity = json!({ "cpu": "64", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti" });
    let ready = object::make_condition(node, "Ready", true, "Simulated", "no kubelet runs here");
    let status = json!({ "capacity": capacity, "allocatable": capacity, "conditions": [ready] });
    plan.push(Action::UpdateStatus(
        Kind::Node,
        object::with_status(node, status),
    ));
}
