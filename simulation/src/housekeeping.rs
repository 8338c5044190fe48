//! What a cluster has before anybody deploys: a node, and a service account in each namespace.

use serde_json::json;

use crate::action::Action;
use crate::object;
use crate::step::Next;
use crate::world::{Kind, World};

/// The service account that pods run as where they name none.
const ACCOUNT: &str = "default";

pub(crate) fn step(world: &World, next: &mut Next) {
    node(world, next);
    for namespace in world
        .all(Kind::Namespace)
        .filter(|namespace| !object::is_deleted(namespace))
    {
        let name = object::name(namespace);
        if world.get(Kind::ServiceAccount, name, ACCOUNT).is_none() {
            let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT, "namespace": name } });
            next.act(Action::Create(Kind::ServiceAccount, account));
        }
    }
}

fn node(world: &World, next: &mut Next) {
    let Some(node) = world.get(Kind::Node, "", crate::NODE) else {
        let labels = json!({ "kubernetes.io/hostname": crate::NODE, "kubernetes.io/os": "linux" });
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": crate::NODE, "labels": labels } });
        return next.act(Action::Create(Kind::Node, node));
    };
    if object::is_true(node, "Ready") {
        return;
    }
    let room = json!({ "cpu": "64", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti" });
    let ready = object::make_condition(node, "Ready", true, "Simulated", "no kubelet runs here");
    let status = json!({ "capacity": room, "allocatable": room, "conditions": [ready] });
    next.act(Action::Status(Kind::Node, object::with_status(node, status)));
}
