//! The plan: what a Deployment needs at a point in time. Pure functions: no I/O, no clock.

use std::{collections::BTreeSet, mem, sync::Arc};

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet},
    jiff::{SignedDuration, Timestamp},
};

use super::{
    annotations::REVISION,
    desired::{DesiredState, InvalidSpec, Strategy},
    history, progress, recreate,
    replica_sets::{ReplicaSetGroup, ReplicaSetWrite},
    revision,
    rollback::{self, RollbackOutcome},
    rolling, scale, status,
};

/// What the caches hold about a Deployment.
#[derive(Clone, Debug)]
pub(super) struct Observed<'o> {
    pub(super) deployment: &'o Deployment,
    /// Those that the Deployment controls.
    pub(super) replica_sets: Vec<Arc<ReplicaSet>>,
    /// The uids of ReplicaSets that have pods which did not end. Read only for the strategy Recreate.
    pub(super) running: BTreeSet<String>,
    /// Whether the status counts terminating pods.
    pub(super) counts_terminating: bool,
}

/// What a Deployment needs.
#[derive(Debug, PartialEq)]
pub(super) struct DeploymentPlan {
    /// The writes of ReplicaSets, in order.
    pub(super) replica_sets: Vec<ReplicaSetWrite>,
    /// The write after those.
    pub(super) deployment: DeploymentWrite,
    /// When to look again, although nothing changed: a rollout that makes no progress times out.
    pub(super) next_check: Option<SignedDuration>,
}

/// A write of the Deployment.
#[derive(Debug, PartialEq)]
pub(super) enum DeploymentWrite {
    None,
    /// The status, and the annotation of the revision.
    Status(Box<Deployment>),
    /// The spec and the annotations.
    RollBack {
        deployment: Box<Deployment>,
        outcome: RollbackOutcome,
    },
}

/// A Deployment and its ReplicaSets, as the steps of a plan change them.
#[derive(Debug)]
pub(super) struct Rollout<'o> {
    pub(super) deployment: &'o Deployment,
    pub(super) spec: &'o DeploymentSpec,
    pub(super) desired: DesiredState,
    pub(super) group: ReplicaSetGroup,
    /// The cached status, with the conditions that the plan changes.
    pub(super) status: DeploymentStatus,
    /// The revision that the Deployment gets.
    pub(super) revision: Option<String>,
    /// ReplicaSets that the history has no room for.
    pub(super) expired: Vec<Arc<ReplicaSet>>,
    pub(super) counts_terminating: bool,
    pub(super) now: Timestamp,
}

/// Plans what a Deployment needs at the time `now`.
pub(super) fn plan(mut observed: Observed<'_>, now: Timestamp) -> Result<DeploymentPlan, InvalidSpec> {
    let running = mem::take(&mut observed.running);
    let mut rollout = Rollout::new(observed, now)?;
    if rollout.deployment.metadata.deletion_timestamp.is_some() {
        revision::sync(&mut rollout);
        return Ok(rollout.finish());
    }
    progress::note_pause(&mut rollout);
    let rollback = rollback::requested(rollout.deployment);
    if rollout.desired.is_paused {
        revision::sync(&mut rollout);
        scale::scale(&mut rollout);
        if rollback.is_none() {
            history::clean_up(&mut rollout);
        }
        return Ok(rollout.finish());
    }
    if let Some(revision) = rollback {
        return Ok(rollback::roll_back(rollout, revision));
    }
    revision::sync(&mut rollout);
    if scale::is_scaling_event(&rollout) {
        scale::scale(&mut rollout);
        return Ok(rollout.finish());
    }
    match rollout.desired.strategy {
        Strategy::Recreate => recreate::roll_out(&mut rollout, &running),
        Strategy::RollingUpdate { .. } => rolling::roll_out(&mut rollout),
    }
    Ok(rollout.finish_and_estimate())
}

impl<'o> Rollout<'o> {
    pub(super) fn new(observed: Observed<'o>, now: Timestamp) -> Result<Self, InvalidSpec> {
        let deployment = observed.deployment;
        let spec = deployment.spec.as_ref().ok_or(InvalidSpec::Missing)?;
        Ok(Self {
            deployment,
            spec,
            desired: DesiredState::of(spec)?,
            group: ReplicaSetGroup::new(&spec.template, observed.replica_sets),
            status: deployment.status.clone().unwrap_or_default(),
            revision: None,
            expired: Vec::new(),
            counts_terminating: observed.counts_terminating,
            now,
        })
    }

    /// The plan so far, with the counts of the status.
    pub(super) fn finish(self) -> DeploymentPlan {
        let status = status::calculate(&self);
        self.into_plan(status, None)
    }

    /// As [`finish`](Self::finish), with an estimate of the rollout's progress.
    fn finish_and_estimate(self) -> DeploymentPlan {
        let mut status = status::calculate(&self);
        progress::estimate(&self, &mut status);
        let next_check = progress::next_check(&self, &status);
        self.into_plan(status, next_check)
    }

    fn into_plan(self, status: DeploymentStatus, next_check: Option<SignedDuration>) -> DeploymentPlan {
        let mut writes = self.group.writes();
        writes.extend(self.expired.iter().cloned().map(ReplicaSetWrite::Delete));
        DeploymentPlan {
            replica_sets: writes,
            deployment: self.status_write(status),
            next_check,
        }
    }

    fn status_write(&self, status: DeploymentStatus) -> DeploymentWrite {
        let annotations = self.deployment.metadata.annotations.as_ref();
        let revision = annotations.and_then(|annotations| annotations.get(REVISION));
        let new_revision = self.revision.as_ref().filter(|new| Some(*new) != revision);
        if new_revision.is_none() && status == self.deployment.status.clone().unwrap_or_default() {
            return DeploymentWrite::None;
        }
        let mut deployment = self.deployment.clone();
        deployment.status = Some(status);
        if let Some(revision) = new_revision {
            let annotations = deployment.metadata.annotations.get_or_insert_default();
            annotations.insert(REVISION.to_owned(), revision.clone());
        }
        DeploymentWrite::Status(Box::new(deployment))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
