//! Rollback by annotation: the Deployment gets the template of an older revision. Clients roll back by themselves today; the annotation
//! keeps what clients of former API versions wrote.

use k8s_openapi::api::apps::v1::Deployment;

use super::{
    annotations::{self, ROLLBACK_TO},
    desired::Strategy,
    plan::{DeploymentPlan, DeploymentWrite, Rollout},
    replica_sets::TrackedReplicaSet,
    revision,
    template::HASH_LABEL,
};

/// How a rollback ended, for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RollbackOutcome {
    /// The Deployment has the template of this revision.
    Done(i64),
    /// The Deployment had the revision's template already.
    Unchanged,
    /// No ReplicaSet has the revision.
    NotFound,
    /// There is no revision before the current one.
    NoLastRevision,
}

/// Returns the revision to roll back to, zero for the last one before the current. Another text is ignored.
pub(super) fn requested(deployment: &Deployment) -> Option<i64> {
    let annotations = deployment.metadata.annotations.as_ref()?;
    annotations.get(ROLLBACK_TO)?.parse().ok()
}

/// Plans a rollback. The revisions are brought up to date first, in a plan of their own: the next one rolls back.
pub(super) fn roll_back(mut rollout: Rollout<'_>, wanted: i64) -> DeploymentPlan {
    let status = rollout.status.clone();
    match rollout.desired.strategy {
        // Upstream creates it, and so runs its pods beside the old ones.
        Strategy::Recreate => revision::sync(&mut rollout),
        // The template that is given up stays in the history.
        Strategy::RollingUpdate { .. } => revision::sync_or_create(&mut rollout),
    }
    let is_changed = rollout.status != status || Some(&status) != rollout.deployment.status.as_ref();
    if is_changed || !rollout.group.writes().is_empty() {
        return rollout.finish();
    }
    let (outcome, template) = choose(&rollout, wanted);
    let mut deployment = rollout.deployment.clone();
    if let Some(source) = template {
        adopt_template(&mut deployment, source);
    }
    if let Some(annotations) = &mut deployment.metadata.annotations {
        annotations.remove(ROLLBACK_TO);
    }
    DeploymentPlan {
        replica_sets: Vec::new(),
        deployment: DeploymentWrite::RollBack {
            deployment: Box::new(deployment),
            outcome,
        },
        next_check: None,
    }
}

/// Finds the ReplicaSet of a revision. None if there is nothing to change.
fn choose<'r>(rollout: &'r Rollout<'_>, wanted: i64) -> (RollbackOutcome, Option<&'r TrackedReplicaSet>) {
    let wanted = if wanted == 0 {
        revision::last_revision(&rollout.group)
    } else {
        wanted
    };
    if wanted == 0 {
        return (RollbackOutcome::NoLastRevision, None);
    }
    let mut all = rollout.group.all();
    match all.find(|replica_set| revision::revision_of(replica_set) == Some(wanted)) {
        None => (RollbackOutcome::NotFound, None),
        Some(found) if found.has_template(&rollout.spec.template) => (RollbackOutcome::Unchanged, None),
        Some(found) => (RollbackOutcome::Done(wanted), Some(found)),
    }
}

/// Gives the Deployment the template and the annotations of a ReplicaSet.
fn adopt_template(deployment: &mut Deployment, source: &TrackedReplicaSet) {
    let template = source
        .object()
        .spec
        .as_ref()
        .and_then(|spec| spec.template.clone());
    if let (Some(spec), Some(mut template)) = (&mut deployment.spec, template) {
        if let Some(labels) = template
            .metadata
            .as_mut()
            .and_then(|metadata| metadata.labels.as_mut())
        {
            labels.remove(HASH_LABEL);
        }
        spec.template = template;
    }
    let own = deployment.metadata.annotations.clone().unwrap_or_default();
    deployment.metadata.annotations = Some(annotations::of_rolled_back(&own, &source.annotations()));
}

impl RollbackOutcome {
    pub(super) fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// The event's reason.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Done(_) => "DeploymentRollback",
            Self::Unchanged => "DeploymentRollbackTemplateUnchanged",
            Self::NotFound | Self::NoLastRevision => "DeploymentRollbackRevisionNotFound",
        }
    }

    /// The event's message about the Deployment of this name.
    pub(super) fn message(self, name: &str) -> String {
        match self {
            Self::Done(revision) => format!("Rolled back deployment {name:?} to revision {revision}"),
            Self::Unchanged => {
                format!("The rollback revision contains the same template as current deployment {name:?}")
            }
            Self::NotFound => "Unable to find the revision to rollback to.".to_owned(),
            Self::NoLastRevision => "Unable to find last revision.".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "rollback_tests.rs"]
mod tests;
