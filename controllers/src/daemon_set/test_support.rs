//! A DaemonSet with nodes and pods for the tests of plans.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    apimachinery::pkg::{apis::meta::v1::Time, util::intstr::IntOrString},
    jiff::{SignedDuration, Timestamp},
};

use super::{
    desired::{DesiredState, UpdateStrategy},
    placement::NodeDecision,
    plan::{Observed, Plan, plan},
    pods::{DaemonPod, PodsByNode},
};
use crate::shared::pod::{ConditionStatus, ConditionType, PodPhase, PodView};

pub(super) struct ModelPod {
    pub(super) name: String,
    pub(super) node: String,
    pub(super) view: PodView,
    pub(super) revision: u32,
}

/// A DaemonSet of the revision 0, with nodes that all fit.
pub(super) struct Model {
    pub(super) desired: DesiredState,
    pub(super) nodes: BTreeMap<String, NodeDecision>,
    pub(super) pods: Vec<ModelPod>,
    pub(super) revision: u32,
    pub(super) now: Timestamp,
    pub(super) failed_pod_delay: Option<Duration>,
    created: u32,
}

pub(super) fn on_delete() -> UpdateStrategy {
    UpdateStrategy::OnDelete
}

pub(super) fn unavailable(limit: i32) -> UpdateStrategy {
    UpdateStrategy::RollingUpdate {
        max_surge: IntOrString::Int(0),
        max_unavailable: IntOrString::Int(limit),
    }
}

pub(super) fn surge(limit: i32) -> UpdateStrategy {
    UpdateStrategy::RollingUpdate {
        max_surge: IntOrString::Int(limit),
        max_unavailable: IntOrString::Int(0),
    }
}

impl ModelPod {
    pub(super) fn is_deleting(&self) -> bool {
        self.view.deleted.is_some()
    }
}

impl Model {
    /// A model with the nodes `node-0`, `node-1` and so on.
    pub(super) fn new(strategy: UpdateStrategy, nodes: usize) -> Self {
        let nodes = (0..nodes).map(|number| (format!("node-{number}"), NodeDecision::Run));
        Self {
            desired: DesiredState {
                strategy,
                min_ready_seconds: 0,
                history_limit: 10,
            },
            nodes: nodes.collect(),
            pods: Vec::new(),
            revision: 0,
            now: "2026-05-01T12:00:00Z".parse().unwrap(),
            failed_pod_delay: None,
            created: 0,
        }
    }

    /// Adds a running pod to a node.
    pub(super) fn add(&mut self, node: &str, revision: u32) -> &mut ModelPod {
        self.created += 1;
        self.now += SignedDuration::from_secs(1);
        self.pods.push(ModelPod {
            name: format!("pod-{}", self.created),
            node: node.to_owned(),
            view: PodView {
                node: node.to_owned(),
                phase: PodPhase::Running,
                created: Some(Time(self.now)),
                ..PodView::default()
            },
            revision,
        });
        self.pods.last_mut().unwrap()
    }

    /// Sets the condition Ready of a pod, since now.
    pub(super) fn set_ready(&mut self, pod: usize, is_ready: bool) {
        let view = &mut self.pods[pod].view;
        if view.is_ready() == is_ready {
            return;
        }
        let status = if is_ready {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        };
        view.condition_types = vec![Some(ConditionType::Ready)];
        view.condition_statuses = vec![Some(status)];
        view.condition_times = vec![Some(Time(self.now))];
    }

    pub(super) fn set_all_ready(&mut self) {
        for pod in 0..self.pods.len() {
            self.set_ready(pod, true);
        }
    }

    pub(super) fn observed(&self) -> Observed<'_> {
        let mut pods = PodsByNode::new();
        for pod in &self.pods {
            pods.entry(&*pod.node).or_default().push(DaemonPod {
                name: &pod.name,
                uid: &pod.name,
                view: &pod.view,
                is_updated: pod.revision == self.revision,
            });
        }
        let nodes = self.nodes.iter();
        Observed {
            desired: &self.desired,
            nodes: nodes.map(|(node, decision)| (&**node, *decision)).collect(),
            pods,
            now: self.now,
        }
    }

    pub(super) fn plan<'m>(&'m self, observed: &Observed<'m>) -> Plan<'m> {
        plan(observed, |_| self.failed_pod_delay)
    }

    /// Returns the nodes that the plan creates pods on, and the pods that it deletes, sorted.
    pub(super) fn planned(&self) -> (Vec<String>, Vec<String>) {
        let observed = self.observed();
        let plan = self.plan(&observed);
        let mut created: Vec<_> = plan.create.into_iter().map(str::to_owned).collect();
        let mut deleted: Vec<_> = plan.delete.iter().map(|pod| pod.name.to_owned()).collect();
        created.sort();
        deleted.sort();
        (created, deleted)
    }

    /// Carries a plan out: created pods run at once, deleted ones are gone at once. Returns the numbers of both.
    pub(super) fn reconcile(&mut self) -> (usize, usize) {
        let (created, deleted) = self.planned();
        self.pods.retain(|pod| !deleted.contains(&pod.name));
        for node in &created {
            self.add(node, self.revision);
        }
        (created.len(), deleted.len())
    }

    /// Does what a sync of upstream's tests does, where the rolling update does not wait until the first changes are observed.
    pub(super) fn sync(&mut self) -> (usize, usize) {
        let first = self.reconcile();
        if first == (0, 0) {
            return first;
        }
        let second = self.reconcile();
        (first.0 + second.0, first.1 + second.1)
    }
}
