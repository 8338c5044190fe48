//! Property tests: a model of nodes and pods that come, go, become ready and fail, while the DaemonSet is changed and reconciled, in any order.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};
use proptest::prelude::*;

use super::{
    desired::{RolloutLimits, UpdateStrategy},
    placement::NodeDecision,
    status::NodeCounts,
    test_support::{Model, on_delete, surge, unavailable},
};
use crate::shared::pod::PodPhase;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// The DaemonSet is reconciled; each deleted pod ends at once, or is being deleted first.
    Reconcile {
        is_graceful: bool,
    },
    /// A pod that is being deleted ends.
    PodEnds(usize),
    PodIsReady(usize, bool),
    PodFails(usize),
    SetRevision(u32),
    SetStrategy(u8, i32),
    SetNode(usize, Option<NodeDecision>),
    TimePasses(i64),
}

fn events() -> impl Strategy<Value = Event> {
    let decision = prop_oneof![
        1 => Just(None),
        4 => Just(Some(NodeDecision::Run)),
        1 => Just(Some(NodeDecision::KeepRunning)),
        1 => Just(Some(NodeDecision::Stop)),
    ];
    prop_oneof![
        6 => any::<bool>().prop_map(|is_graceful| Event::Reconcile { is_graceful }),
        3 => any::<usize>().prop_map(Event::PodEnds),
        6 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(pod, is_ready)| Event::PodIsReady(pod, is_ready)),
        1 => any::<usize>().prop_map(Event::PodFails),
        1 => (0_u32..3).prop_map(Event::SetRevision),
        1 => (0_u8..3, 0_i32..4).prop_map(|(strategy, limit)| Event::SetStrategy(strategy, limit)),
        2 => (0_usize..8, decision).prop_map(|(node, decision)| Event::SetNode(node, decision)),
        2 => (0_i64..20).prop_map(Event::TimePasses),
    ]
}

impl Model {
    /// The numbers of pods on each node that neither ended nor are being deleted: (of old revisions, of the present one).
    fn active(&self) -> BTreeMap<&str, (usize, usize)> {
        let mut active = BTreeMap::new();
        let pods = self.pods.iter().filter(|pod| pod.view.is_active());
        for pod in pods {
            let (old, new) = active.entry(&*pod.node).or_insert((0, 0));
            *(if pod.revision == self.revision { new } else { old }) += 1;
        }
        active
    }

    /// The nodes that should have a pod and have no available one.
    fn unavailable(&self) -> BTreeSet<&str> {
        let observed = self.observed();
        let available: BTreeSet<_> = self
            .pods
            .iter()
            .filter(|pod| {
                !pod.is_deleting() && pod.view.is_available(self.desired.min_ready_seconds, self.now)
            })
            .map(|pod| &*pod.node)
            .collect();
        let desired = self
            .nodes
            .keys()
            .filter(|node| observed.decision(node) == Some(NodeDecision::Run));
        desired
            .map(String::as_str)
            .filter(|node| !available.contains(node))
            .collect()
    }

    fn limits(&self) -> Option<RolloutLimits> {
        let desired = self.observed().desired_nodes().count();
        match &self.desired.strategy {
            UpdateStrategy::OnDelete => None,
            UpdateStrategy::RollingUpdate {
                max_surge,
                max_unavailable,
            } => RolloutLimits::resolve(max_surge, max_unavailable, desired).ok(),
        }
    }

    fn pod_at(&self, index: usize) -> Option<usize> {
        index.checked_rem(self.pods.len())
    }

    fn carry_out(&mut self, is_graceful: bool) {
        let (created, deleted) = self.planned();
        let now = self.now;
        if is_graceful {
            let pods = self.pods.iter_mut().filter(|pod| deleted.contains(&pod.name));
            pods.for_each(|pod| pod.view.deleted = Some(Time(now)));
        } else {
            self.pods.retain(|pod| !deleted.contains(&pod.name));
        }
        for node in &created {
            self.add(node, self.revision);
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Reconcile { is_graceful } => self.carry_out(is_graceful),
            Event::PodEnds(index) => {
                if let Some(pod) = self.pod_at(index).filter(|pod| self.pods[*pod].is_deleting()) {
                    self.pods.remove(pod);
                }
            }
            Event::PodIsReady(index, is_ready) => {
                let pod = self.pod_at(index);
                if let Some(pod) = pod.filter(|pod| self.pods[*pod].view.is_active()) {
                    self.set_ready(pod, is_ready);
                }
            }
            Event::PodFails(index) => {
                if let Some(pod) = self.pod_at(index) {
                    self.set_ready(pod, false);
                    self.pods[pod].view.phase = PodPhase::Failed;
                }
            }
            Event::SetRevision(revision) => self.revision = revision,
            Event::SetStrategy(strategy, limit) => {
                self.desired.strategy = match strategy {
                    0 => on_delete(),
                    1 => unavailable(limit),
                    _ => surge(limit),
                };
            }
            Event::SetNode(node, decision) => {
                let node = format!("node-{node}");
                match decision {
                    Some(decision) => self.nodes.insert(node, decision),
                    None => self.nodes.remove(&node),
                };
            }
            Event::TimePasses(seconds) => self.now += SignedDuration::from_secs(seconds),
        }
    }

    /// Checks what a reconcile would do now.
    fn check_plan(&self) -> Result<(), TestCaseError> {
        let observed = self.observed();
        let plan = self.plan(&observed);
        let allows_surge = self.desired.allows_surge();
        let nodes: BTreeSet<_> = plan.create.iter().collect();
        prop_assert_eq!(nodes.len(), plan.create.len(), "one pod a node");
        for node in &plan.create {
            prop_assert_eq!(observed.decision(node), Some(NodeDecision::Run), "{}", node);
            let pods = observed.pods.get(node).map_or(0, Vec::len);
            prop_assert!(allows_surge || pods == 0, "{} has {} pods", node, pods);
            let (_, new) = self.active().get(node).copied().unwrap_or_default();
            prop_assert_eq!(new, 0, "{} has a new pod", node);
        }
        let deleted: BTreeSet<_> = plan.delete.iter().map(|pod| pod.name).collect();
        prop_assert_eq!(deleted.len(), plan.delete.len(), "each pod once");
        prop_assert!(plan.delete.iter().all(|pod| !pod.is_deleting()));

        // What a rollout deletes: available pods that are alone on a node that fits.
        let alone = |pod: &&super::pods::DaemonPod<'_>| {
            let node = pod.view.target_node().unwrap_or_default();
            let (old, new) = self.active().get(node).copied().unwrap_or_default();
            observed.decision(node) == Some(NodeDecision::Run)
                && old + new == 1
                && observed.is_available(pod)
                && pod.view.is_active()
        };
        let replaced = plan.delete.iter().filter(alone).count();
        match self.limits() {
            None => prop_assert_eq!(replaced, 0),
            Some(limits) if limits.surge > 0 => {
                prop_assert_eq!(replaced, 0, "surge replaces before it deletes");
            }
            Some(limits) => {
                let after = self.unavailable().len() + replaced;
                prop_assert!(
                    replaced == 0 || after <= limits.unavailable,
                    "{} of {:?}",
                    after,
                    limits
                );
            }
        }
        Ok(())
    }

    /// Checks that each node has the pods that it may have after a reconcile without failures.
    fn check_pods(&self) -> Result<(), TestCaseError> {
        for (node, (old, new)) in self.active() {
            if !self.nodes.contains_key(node) {
                continue;
            }
            prop_assert!(old <= 1 && new <= 1, "{}: {} old and {} new pods", node, old, new);
            prop_assert!(self.desired.allows_surge() || old + new <= 1, "{}", node);
        }
        Ok(())
    }

    /// Ends everything that is under way, and lets the controller do the rest.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..100 {
            self.pods.retain(|pod| !pod.is_deleting());
            // Pod garbage collection.
            let nodes = self.nodes.keys().cloned().collect::<BTreeSet<_>>();
            self.pods.retain(|pod| nodes.contains(&pod.node));
            for pod in 0..self.pods.len() {
                if self.pods[pod].view.is_active() {
                    self.set_ready(pod, true);
                }
            }
            self.now += SignedDuration::from_secs(60);
            if self.planned() == Default::default() {
                return Ok(());
            }
            self.check_plan()?;
            self.carry_out(true);
        }
        Err(TestCaseError::fail("the rollout does not end"))
    }
}

proptest! {
    #[test]
    fn rollouts_stay_within_their_limits_and_end(
        nodes in 1_usize..8,
        (strategy, limit) in (0_u8..3, 0_i32..4),
        min_ready_seconds in prop_oneof![Just(0), 1_i32..15],
        events in prop::collection::vec(events(), 0..60),
    ) {
        let mut model = Model::new(on_delete(), nodes);
        model.desired.min_ready_seconds = min_ready_seconds;
        model.happen(&Event::SetStrategy(strategy, limit));
        for event in &events {
            model.check_plan()?;
            model.happen(event);
            if matches!(event, Event::Reconcile { .. }) {
                model.check_pods()?;
            }
            let counts = NodeCounts::of(&model.observed());
            prop_assert!(counts.available <= counts.ready && counts.ready <= counts.current);
            prop_assert!(counts.current <= counts.desired && counts.updated <= counts.current);
        }
        model.settle()?;
        let is_rolling = model.limits().is_some();
        for (node, decision) in &model.nodes {
            let (old, new) = model.active().get(&**node).copied().unwrap_or_default();
            match decision {
                NodeDecision::Run => {
                    prop_assert_eq!(old + new, 1, "{}", node);
                    prop_assert!(new == 1 || !is_rolling, "{} has an old pod", node);
                }
                NodeDecision::KeepRunning => prop_assert!(old + new <= 1, "{}", node),
                NodeDecision::Stop => prop_assert_eq!(old + new, 0, "{}", node),
            }
        }
    }
}
