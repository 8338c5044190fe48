//! Which pods a node needs: one that runs, and during a rolling update with surge another one of the new revision.

use std::time::Duration;

use super::{
    placement::NodeDecision,
    plan::{EndedPod, Observed, Plan},
    pods::{DaemonPod, seniority},
};
use crate::shared::pod::PodPhase;

/// Plans for a node that exists.
pub(super) fn plan_node<'o>(
    plan: &mut Plan<'o>,
    observed: &Observed<'o>,
    node: &'o str,
    decision: NodeDecision,
    failed_pod_delay: impl Fn(&str) -> Option<Duration>,
) {
    let Some(pods) = observed.pods.get(node) else {
        if decision == NodeDecision::Run {
            plan.create.push(node);
        }
        return;
    };
    let mut pods: Vec<_> = pods.iter().filter(|pod| !pod.is_deleting()).copied().collect();
    if decision == NodeDecision::Stop {
        plan.delete.extend(pods);
        return;
    }
    plan_ended(plan, node, &pods, failed_pod_delay);
    pods.retain(|pod| !pod.view.is_terminal());
    pods.sort_by_cached_key(seniority);
    if !observed.desired.allows_surge() {
        plan.delete.extend(pods.into_iter().skip(1));
    } else if pods.is_empty() && decision == NodeDecision::Run {
        // Without waiting for the pods that are being deleted.
        plan.create.push(node);
    } else {
        plan_surging(plan, observed, &pods);
    }
}

/// Deletes pods that ended. Failed ones wait for their delay; of several on one node, the others wait for the next reconcile.
fn plan_ended<'o>(
    plan: &mut Plan<'o>,
    node: &'o str,
    pods: &[DaemonPod<'o>],
    failed_pod_delay: impl Fn(&str) -> Option<Duration>,
) {
    let mut has_failed = false;
    for &pod in pods {
        match pod.view.phase {
            PodPhase::Succeeded => {}
            PodPhase::Failed if has_failed => continue,
            PodPhase::Failed => {
                if let Some(delay) = failed_pod_delay(node) {
                    plan.next_check = Some(plan.next_check.map_or(delay, |other| other.min(delay)));
                    continue;
                }
                has_failed = true;
            }
            _ => continue,
        }
        plan.ended.push(EndedPod { pod, node });
        plan.delete.push(pod);
    }
}

/// Keeps at most two pods: the oldest one of the new revision, and the oldest of old ones as long as it is ready and the new one is not
/// available.
fn plan_surging<'o>(plan: &mut Plan<'o>, observed: &Observed<'o>, pods: &[DaemonPod<'o>]) {
    if pods.len() < 2 {
        return;
    }
    let (new, old): (Vec<_>, Vec<_>) = pods.iter().copied().partition(|pod| pod.is_updated);
    let surplus = new.iter().skip(1).chain(old.iter().skip(1));
    plan.delete.extend(surplus.copied());
    if let ([new, ..], [old, ..]) = (&*new, &*old)
        && (!old.view.is_ready() || observed.is_available(new))
    {
        plan.delete.push(*old);
    }
}

/// Deletes pods that are made for nodes which do not exist. No scheduler binds them. Those that ran on one are left to pod garbage collection.
pub(super) fn plan_missing_nodes<'o>(plan: &mut Plan<'o>, observed: &Observed<'o>) {
    let missing = observed.pods.iter();
    let missing = missing.filter(|(node, _)| observed.decision(node).is_none());
    let pods = missing.flat_map(|(_, pods)| pods);
    plan.delete.extend(
        pods.filter(|pod| pod.view.node.is_empty() && !pod.is_deleting())
            .copied(),
    );
}
