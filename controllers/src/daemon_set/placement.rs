//! On which nodes the pods of a DaemonSet run.

use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec, Taint, Toleration};

use super::pod_template::tolerations;
use crate::shared::{
    node_affinity::RequiredNodeAffinity,
    taints::{NO_EXECUTE, NO_SCHEDULE, TaintRules},
};

/// What a DaemonSet wants on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeDecision {
    /// A pod runs there.
    Run,
    /// A pod that runs there stays, but none is created: new pods do not tolerate a taint.
    KeepRunning,
    /// No pod runs there.
    Stop,
}

/// What a pod template requires of nodes, compiled to decide about many.
pub(super) struct Placement<'t> {
    node_name: Option<&'t str>,
    affinity: RequiredNodeAffinity<'t>,
    tolerations: Vec<Toleration>,
    rules: TaintRules,
}

impl<'t> Placement<'t> {
    pub(super) fn of(template: Option<&'t PodTemplateSpec>, rules: TaintRules) -> Self {
        let spec = template.and_then(|template| template.spec.as_ref());
        Self {
            node_name: spec
                .and_then(|spec| spec.node_name.as_deref())
                .filter(|name| !name.is_empty()),
            affinity: spec.map(RequiredNodeAffinity::of).unwrap_or_default(),
            tolerations: spec.map_or_else(|| tolerations(&PodSpec::default()), tolerations),
            rules,
        }
    }

    /// Decides about the node with this name, these labels and taints; `label` looks up the value of a key.
    pub(super) fn decide<'n>(
        &self,
        name: &str,
        label: impl Fn(&str) -> Option<&'n str>,
        taints: &[Taint],
    ) -> NodeDecision {
        let is_named = self.node_name.is_none_or(|wanted| wanted == name);
        let tolerates = |effects: &[&str]| self.rules.are_tolerated(taints, effects, &self.tolerations);
        if !is_named || !self.affinity.matches(name, label) {
            NodeDecision::Stop
        } else if tolerates(&[NO_EXECUTE, NO_SCHEDULE]) {
            NodeDecision::Run
        } else if tolerates(&[NO_EXECUTE]) {
            NodeDecision::KeepRunning
        } else {
            NodeDecision::Stop
        }
    }
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
