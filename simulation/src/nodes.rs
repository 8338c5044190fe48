//! Registers the simulated nodes, and renews their leases.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;
use crate::plan::Plan;

/// The name of the first simulated node. The others have `-2`, `-3` … after it.
pub const NODE: &str = "simulated-node";

/// As the kubelet's.
const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(10);
const LEASE_DURATION_SECONDS: u32 = 40;
/// The taint of new nodes, which a cluster's node lifecycle controller removes.
const NOT_READY_TAINT: &str = "node.kubernetes.io/not-ready";

/// The simulated nodes, as far as the API server does not know them.
#[derive(Debug)]
pub(crate) struct Nodes {
    names: Vec<String>,
    registered: HashSet<String>,
    /// When each node's lease is renewed next.
    renewals: HashMap<String, Instant>,
}

/// Returns the names of this number of nodes.
pub(crate) fn names(count: usize) -> Vec<String> {
    let name = |index| match index {
        1 => NODE.to_owned(),
        _ => format!("{NODE}-{index}"),
    };
    (1..=count).map(name).collect()
}

impl Nodes {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            registered: HashSet::new(),
            renewals: HashMap::new(),
        }
    }

    /// Whether a kubelet of the simulation runs the pods of this node.
    pub(crate) fn has_kubelet(&self, cache: &ObjectCache, name: &str) -> bool {
        self.registered.contains(name) && cache.get(Kind::Node, "", name).is_some()
    }

    /// Returns whether every node is registered: pods need not be scheduled before.
    pub(crate) fn reconcile(&mut self, cache: &ObjectCache, now: Instant, plan: &mut Plan) -> bool {
        for name in &self.names {
            let node = cache.get(Kind::Node, "", name);
            if !self.registered.contains(name) {
                match registration(name, node) {
                    Some(action) => plan.push(action),
                    None => drop(self.registered.insert(name.clone())),
                }
            }
            // A kubelet registers once: a node that was deleted afterwards stays deleted.
            if let Some(node) = node.filter(|_| self.registered.contains(name)) {
                let renewal = self.renewals.entry(name.clone()).or_insert(now);
                if *renewal <= now {
                    *renewal = now + LEASE_RENEWAL_INTERVAL;
                    plan.push(Action::ApplyLease(lease(node)));
                }
                plan.requeue_after(*renewal - now);
            }
        }
        self.registered.len() == self.names.len()
    }
}

/// Returns the next step of a node's registration; none if it is complete.
fn registration(name: &str, node: Option<&Value>) -> Option<Action> {
    let Some(node) = node else {
        return Some(Action::Create(Kind::Node, new_node(name)));
    };
    if !object::is_condition_true(node, "Ready") {
        let node = object::with_status(node, status(node));
        return Some(Action::UpdateStatus(Kind::Node, node));
    }
    let taints = node["spec"]["taints"].as_array()?;
    let is_other = |taint: &&Value| taint["key"] != NOT_READY_TAINT;
    let others: Vec<&Value> = taints.iter().filter(is_other).collect();
    (others.len() < taints.len()).then(|| {
        let mut untainted = node.clone();
        untainted["spec"]["taints"] = json!(others);
        Action::Update(Kind::Node, untainted)
    })
}

fn new_node(name: &str) -> Value {
    let labels =
        json!({ "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" });
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels } })
}

fn status(node: &Value) -> Value {
    let capacity = json!({ "cpu": "64", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti" });
    let ready = object::make_condition(node, "Ready", true, "Simulated", "no kubelet runs here");
    json!({ "capacity": capacity, "allocatable": capacity, "conditions": [ready] })
}

fn lease(node: &Value) -> Value {
    let (name, now) = (object::name(node), format!("{:.6}", jiff::Timestamp::now()));
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": name, "uid": object::uid(node) });
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": name, "namespace": "kube-node-lease", "ownerReferences": [owner] },
        "spec": { "holderIdentity": name, "leaseDurationSeconds": LEASE_DURATION_SECONDS, "renewTime": now },
    })
}
