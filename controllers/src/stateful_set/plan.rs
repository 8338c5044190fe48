//! Which pods to create, update and delete.
//!
//! Without `podManagementPolicy: Parallel` the first pod that is not available stops everything behind it: pods are created from the first
//! ordinal to the last, and deleted from the last to the first, one at a time.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::OwnerReference, jiff::Timestamp};

use super::{
    claims::{ClaimChange, ClaimState, PodClaims},
    desired::{DesiredSet, UpdateStrategy},
};
use crate::shared::pod::{PodPhase, PodView};

/// How many missing pods are created by one reconcile; the next one continues.
const MAX_CREATIONS: usize = 500;

/// A pod of the set.
#[derive(Clone, Debug, Default)]
pub(super) struct StatefulPod {
    pub(super) uid: String,
    /// The name of its revision.
    pub(super) revision: Option<String>,
    /// Its label with the name is right.
    pub(super) has_identity: bool,
    pub(super) view: Arc<PodView>,
}

/// The set and its pods, as the caches have them.
pub(super) struct ObservedSet<'o> {
    /// The set, as the controller of its pods.
    pub(super) set: &'o OwnerReference,
    pub(super) desired: DesiredSet,
    /// The names of its claim templates.
    pub(super) templates: &'o [String],
    /// By ordinal.
    pub(super) pods: &'o BTreeMap<i64, StatefulPod>,
    /// Looks up a claim by its name.
    pub(super) claim: &'o dyn Fn(&str) -> Option<ClaimState>,
    /// The name of the revision to which the set is updated.
    pub(super) update_revision: &'o str,
    /// How many pods the status counts of the current revision.
    pub(super) current_replicas: i64,
    pub(super) now: Timestamp,
}

/// Which of the set's templates a pod gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodRevision {
    Current,
    Update,
}

/// One thing to do about the pod with this ordinal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Create the pod, between its claims' creation and the update of their owners.
    Create {
        ordinal: i64,
        revision: PodRevision,
        claims: Vec<ClaimChange>,
    },
    /// Correct labels, volumes and claims of the pod.
    Update {
        ordinal: i64,
        /// Labels or volumes are wrong.
        changes_pod: bool,
        claims: Vec<ClaimChange>,
    },
    /// Create and correct claims of a pending pod.
    CompleteClaims {
        ordinal: i64,
        claims: Vec<ClaimChange>,
    },
    /// Correct the owners of the claims of a surplus pod.
    CorrectOwners {
        ordinal: i64,
        claims: Vec<ClaimChange>,
    },
    Delete {
        ordinal: i64,
    },
}

/// What a reconcile does, stage after stage. A failure ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SetPlan {
    /// Creates and corrects replicas, and deletes those that ended.
    pub(super) replicas: Vec<Step>,
    /// Corrects the claims of surplus pods.
    pub(super) surplus_claims: Vec<Step>,
    /// Deletes surplus pods.
    pub(super) scale_down: Vec<Step>,
    /// Deletes replicas of an old revision, which are created anew.
    pub(super) update: Vec<Step>,
}

/// Plans a reconcile of a set that is not being deleted.
pub(super) fn plan(observed: &ObservedSet<'_>) -> SetPlan {
    let mut plan = SetPlan::default();
    let is_done = if observed.desired.is_parallel {
        observed.replicas_in_parallel(&mut plan.replicas);
        true
    } else {
        observed.replicas_in_order(&mut plan.replicas)
    };
    if !is_done {
        return plan;
    }
    plan.surplus_claims = observed.surplus_claims();
    if observed.scale_down(&mut plan.scale_down) {
        plan.update = observed.update();
    }
    plan
}

impl ObservedSet<'_> {
    fn is_unavailable(&self, pod: &StatefulPod) -> bool {
        pod.view.deleted.is_some() || !self.is_available(pod)
    }

    fn is_available(&self, pod: &StatefulPod) -> bool {
        pod.view.is_available(self.desired.min_ready_seconds, self.now)
    }

    /// Whether a pod that comes after it in order must wait for it.
    fn blocks(&self, pod: &StatefulPod) -> bool {
        pod.view.phase != PodPhase::Running || self.is_unavailable(pod)
    }

    /// The pods that are not among the replicas, by ordinal.
    fn surplus(&self) -> impl DoubleEndedIterator<Item = (i64, &StatefulPod)> {
        let ordinals = self.desired.ordinals();
        self.pods
            .iter()
            .map(|(ordinal, pod)| (*ordinal, pod))
            .filter(move |(ordinal, _)| !ordinals.contains(ordinal))
    }

    /// One replica after another. Returns whether all are available.
    fn replicas_in_order(&self, steps: &mut Vec<Step>) -> bool {
        for ordinal in self.desired.ordinals() {
            let Some(pod) = self.pods.get(&ordinal) else {
                steps.extend(self.create(ordinal));
                return false;
            };
            let ended = pod.view.is_terminal();
            if self.blocks(pod) {
                steps.extend(replace_ended(ordinal, pod));
                if !ended {
                    steps.extend(self.complete_claims(ordinal, pod));
                }
                return false;
            }
            steps.extend(self.correct(ordinal, pod));
        }
        true
    }

    fn replicas_in_parallel(&self, steps: &mut Vec<Step>) {
        let ordinals = self.desired.ordinals();
        let missing = ordinals
            .clone()
            .filter(|ordinal| !self.pods.contains_key(ordinal));
        let existing = self.pods.range(ordinals).map(|(ordinal, _)| *ordinal);
        let mut ordinals: Vec<_> = missing.take(MAX_CREATIONS).chain(existing).collect();
        ordinals.sort_unstable();
        for ordinal in ordinals {
            match self.pods.get(&ordinal) {
                None => steps.extend(self.create(ordinal)),
                Some(pod) if pod.view.is_terminal() => steps.extend(replace_ended(ordinal, pod)),
                Some(pod) => {
                    steps.extend(self.complete_claims(ordinal, pod));
                    steps.extend(self.correct(ordinal, pod));
                }
            }
        }
    }

    fn create(&self, ordinal: i64) -> Option<Step> {
        let claims = PodClaims::of(self, ordinal, "");
        (!claims.block_creation()).then(|| Step::Create {
            ordinal,
            revision: self.revision_of_new(ordinal),
            claims: claims.complete(),
        })
    }

    /// A pending pod may wait for a claim that a user deleted.
    fn complete_claims(&self, ordinal: i64, pod: &StatefulPod) -> Option<Step> {
        if pod.view.phase != PodPhase::Pending {
            return None;
        }
        let claims = PodClaims::of(self, ordinal, &pod.uid).complete();
        (!claims.is_empty()).then_some(Step::CompleteClaims { ordinal, claims })
    }

    fn correct(&self, ordinal: i64, pod: &StatefulPod) -> Option<Step> {
        let claims = PodClaims::of(self, ordinal, &pod.uid);
        let is_mounted = claims.are_mounted(&pod.view.claims);
        let changes_pod = !pod.has_identity || !is_mounted;
        let claims = match (pod.view.phase, is_mounted) {
            // Done already.
            (PodPhase::Pending, _) => Vec::new(),
            (_, true) => claims.correct_owners(),
            (_, false) => claims.complete(),
        };
        (changes_pod || !claims.is_empty()).then_some(Step::Update {
            ordinal,
            changes_pod,
            claims,
        })
    }

    fn revision_of_new(&self, ordinal: i64) -> PodRevision {
        let current = match self.desired.strategy {
            UpdateStrategy::OnDelete => 0,
            UpdateStrategy::RollingUpdate { partition, .. } => partition.unwrap_or(self.current_replicas),
        };
        if ordinal - self.desired.start < current {
            PodRevision::Current
        } else {
            PodRevision::Update
        }
    }

    fn surplus_claims(&self) -> Vec<Step> {
        let steps = self.surplus().rev().filter_map(|(ordinal, pod)| {
            let claims = PodClaims::of(self, ordinal, &pod.uid).correct_owners();
            (!claims.is_empty()).then_some(Step::CorrectOwners { ordinal, claims })
        });
        steps.collect()
    }

    /// Returns whether there is nothing left to scale down.
    fn scale_down(&self, steps: &mut Vec<Step>) -> bool {
        let is_deleting = |pod: &StatefulPod| pod.view.deleted.is_some();
        if self.desired.is_parallel {
            let surplus = self.surplus().rev().filter(|(_, pod)| !is_deleting(pod));
            steps.extend(surplus.map(|(ordinal, _)| Step::Delete { ordinal }));
            return true;
        }
        let Some((ordinal, last)) = self.surplus().next_back() else {
            return true;
        };
        // The last pod waits until those before it are available, unless it is the only one that is not.
        let first_unavailable = self
            .surplus()
            .find(|(_, pod)| self.is_unavailable(pod))
            .map(|(first, _)| first);
        if !is_deleting(last) && (!self.blocks(last) || first_unavailable == Some(ordinal)) {
            steps.push(Step::Delete { ordinal });
        }
        false
    }

    /// The replicas of an old revision that are deleted, the last one first.
    fn update(&self) -> Vec<Step> {
        let UpdateStrategy::RollingUpdate {
            partition,
            max_unavailable,
        } = self.desired.strategy
        else {
            return Vec::new();
        };
        let ordinals = self.desired.ordinals();
        let first = ordinals.start + partition.unwrap_or(0);
        let limit = match max_unavailable {
            None => return self.update_next(first).into_iter().collect(),
            Some(limit) => limit - self.unavailable_replicas(),
        };
        let outdated = self
            .pods
            .range(first.min(ordinals.end)..ordinals.end)
            .rev()
            .filter(|(_, pod)| self.is_outdated(pod));
        let limit = usize::try_from(limit).unwrap_or(0);
        outdated
            .take(limit)
            .map(|(ordinal, _)| Step::Delete { ordinal: *ordinal })
            .collect()
    }

    /// One replica after another, each when those after it are available and of the new revision.
    fn update_next(&self, first: i64) -> Option<Step> {
        let ordinals = self.desired.ordinals();
        for ordinal in (first.min(ordinals.end)..ordinals.end).rev() {
            let pod = self.pods.get(&ordinal)?;
            if self.is_outdated(pod) {
                return Some(Step::Delete { ordinal });
            }
            if self.is_unavailable(pod) {
                return None;
            }
        }
        None
    }

    /// Whether it is to be replaced by one of the new revision. One that ended is deleted anyway.
    fn is_outdated(&self, pod: &StatefulPod) -> bool {
        let is_kept = pod.view.deleted.is_none() && !pod.view.is_terminal();
        is_kept && pod.revision.as_deref() != Some(self.update_revision)
    }

    /// Counts missing replicas, too.
    pub(super) fn unavailable_replicas(&self) -> i64 {
        let existing = self.pods.range(self.desired.ordinals());
        let available = existing.filter(|(_, pod)| !self.is_unavailable(pod)).count();
        self.desired.replicas - i64::try_from(available).unwrap_or(i64::MAX)
    }
}

/// A pod that ended, even well, is deleted and created anew.
fn replace_ended(ordinal: i64, pod: &StatefulPod) -> Option<Step> {
    (pod.view.is_terminal() && pod.view.deleted.is_none()).then_some(Step::Delete { ordinal })
}

#[cfg(test)]
#[path = "plan_property_tests.rs"]
mod property_tests;
#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
