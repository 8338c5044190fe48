//! Rolling updates: which pods of old revisions are replaced next, within the limits.

use super::{
    desired::RolloutLimits,
    placement::NodeDecision,
    plan::{Observed, Plan},
    pods::DaemonPod,
};

/// The pods of a node that are not being deleted.
#[derive(Clone, Copy, Debug)]
enum NodePods<'o> {
    None,
    New(DaemonPod<'o>),
    Old(DaemonPod<'o>),
    Both {
        new: DaemonPod<'o>,
        old: DaemonPod<'o>,
    },
    /// Several of a revision, of which all but one will be deleted.
    Surplus,
}

impl<'o> NodePods<'o> {
    fn of(pods: &[DaemonPod<'o>]) -> Self {
        pods.iter()
            .filter(|pod| !pod.is_deleting())
            .fold(Self::None, |pods, &pod| match (pods, pod.is_updated) {
                (Self::None, true) => Self::New(pod),
                (Self::None, false) => Self::Old(pod),
                (Self::Old(old), true) => Self::Both { new: pod, old },
                (Self::New(new), false) => Self::Both { new, old: pod },
                _ => Self::Surplus,
            })
    }
}

/// Deletes old pods; new ones are created when the old ones are gone. Old pods that are not available go at once, available ones as long
/// as no more nodes than allowed are without an available pod.
pub(super) fn replace<'o>(plan: &mut Plan<'o>, observed: &Observed<'o>, limits: RolloutLimits) {
    let without_pods = observed
        .desired_nodes()
        .filter(|node| !observed.pods.contains_key(node));
    let mut unavailable = without_pods.count();
    let mut candidates = Vec::new();
    for pods in observed.pods.values() {
        match NodePods::of(pods) {
            NodePods::New(pod) if observed.is_available(&pod) => {}
            NodePods::Old(pod) if observed.is_available(&pod) => candidates.push(pod),
            NodePods::Old(pod) => {
                unavailable += 1;
                plan.delete.push(pod);
            }
            NodePods::New(_) | NodePods::None | NodePods::Both { .. } | NodePods::Surplus => unavailable += 1,
        }
    }
    let allowed = limits.unavailable.saturating_sub(unavailable);
    plan.delete.extend(candidates.into_iter().take(allowed));
}

/// Creates new pods beside old ones, and deletes an old pod when the new one is available. An old pod that is not available gets a new one
/// at once, available ones as long as no more nodes than allowed have a new pod that is not available. A node that is gone counts as one that does
/// not fit any more, where upstream's rollout fails until its old pod is gone, too.
pub(super) fn surge<'o>(plan: &mut Plan<'o>, observed: &Observed<'o>, limits: RolloutLimits) {
    let (mut surging, mut available) = (0, 0);
    // Nodes with an available old pod; available old pods on nodes that do not fit any more.
    let (mut candidates, mut leaving) = (Vec::new(), Vec::new());
    for (&node, pods) in &observed.pods {
        match NodePods::of(pods) {
            NodePods::None => {}
            NodePods::Surplus => surging += 1,
            NodePods::New(new) => available += usize::from(observed.is_available(&new)),
            NodePods::Both { new, old } => {
                available += usize::from(observed.is_available(&old));
                if observed.is_available(&new) {
                    plan.delete.push(old);
                } else {
                    surging += 1;
                }
            }
            NodePods::Old(old) => {
                let is_desired = observed.decision(node) == Some(NodeDecision::Run);
                match (observed.is_available(&old), is_desired) {
                    (true, true) => candidates.push(node),
                    (true, false) => leaving.push(old),
                    (false, true) => plan.create.push(node),
                    (false, false) => plan.delete.push(old),
                }
                available += usize::from(observed.is_available(&old));
            }
        }
    }
    // With surge, all desired pods are to be available: those on other nodes stay until others take their place.
    let dispensable = available.saturating_sub(observed.desired_nodes().count());
    plan.delete.extend(leaving.into_iter().take(dispensable));
    let allowed = limits.surge.saturating_sub(surging);
    plan.create.extend(candidates.into_iter().take(allowed));
}

#[cfg(test)]
#[path = "rolling_tests.rs"]
mod tests;
