//! Which DaemonSets a change of a node affects.

use std::collections::HashMap;

use k8s_openapi::api::{apps::v1::DaemonSet, core::v1::Taint};
use kubewright::{
    NamespacedName,
    cache::{Change, Lister, Metadata},
    controller::predicates::labels_changed,
};
use parking_lot::Mutex;

use super::placement::{NodeDecision, Placement};
use crate::shared::{node::NodeView, taints::TaintRules};

/// Compares each node with its last state. Labels and taints decide about pods; the heartbeats of nodes affect nothing.
pub(super) struct NodeChanges {
    nodes: Lister<NodeView>,
    daemon_sets: Lister<DaemonSet>,
    rules: TaintRules,
    /// The last known taints of the nodes that have some.
    taints: Mutex<HashMap<NamespacedName, Vec<Taint>>>,
}

impl NodeChanges {
    pub(super) fn new(nodes: Lister<NodeView>, daemon_sets: Lister<DaemonSet>, rules: TaintRules) -> Self {
        Self {
            nodes,
            daemon_sets,
            rules,
            taints: Mutex::default(),
        }
    }

    /// Returns the DaemonSets that want something else on the node than before.
    ///
    /// Nodes of the initial list affect nothing: the first reconcile of each DaemonSet finds them in the cache.
    pub(super) fn affected(&self, change: &Change<'_>) -> Vec<NamespacedName> {
        let (old, new, is_initial) = match *change {
            Change::Added {
                new,
                is_in_initial_list,
            } => (None, Some(new), is_in_initial_list),
            Change::Updated { old, new } => (Some(old), Some(new), false),
            Change::Deleted { old, .. } => (Some(old), None, false),
        };
        let (old_taints, new_taints) = self.replace_taints(change.name(), new.is_some());
        let is_update = old.is_some() && new.is_some();
        if is_initial || (is_update && !labels_changed(change) && old_taints == new_taints) {
            return Vec::new();
        }
        let mut affected = Vec::new();
        for object in self.daemon_sets.list().objects() {
            // The reconcile reports those that do not decode.
            let Ok(daemon_set) = object.decode() else {
                continue;
            };
            let template = daemon_set.spec.as_ref().map(|spec| &spec.template);
            let placement = Placement::of(template, self.rules);
            let before = decide(&placement, old, &old_taints);
            if before != decide(&placement, new, &new_taints) {
                affected.push(object.name().clone());
            }
        }
        affected
    }

    /// Returns the taints of a node before and now.
    fn replace_taints(&self, node: &NamespacedName, exists: bool) -> (Vec<Taint>, Vec<Taint>) {
        let view = exists.then(|| self.nodes.get(node).ok()).flatten();
        let new = view.map(|view| view.taints.clone()).unwrap_or_default();
        let mut taints = self.taints.lock();
        let old = if new.is_empty() {
            taints.remove(node)
        } else {
            taints.insert(node.clone(), new.clone())
        };
        (old.unwrap_or_default(), new)
    }
}

/// No pod runs on a node that does not exist.
fn decide(placement: &Placement<'_>, node: Option<&Metadata>, taints: &[Taint]) -> NodeDecision {
    node.map_or(NodeDecision::Stop, |node| {
        placement.decide(node.name().name(), |key| node.label(key), taints)
    })
}
