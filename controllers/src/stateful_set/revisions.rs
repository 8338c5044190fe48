//! The revisions of a set: which of them has the present template, and which the former one, that replicas have until they are updated.

use std::{borrow::Cow, sync::Arc};

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, StatefulSet},
    core::v1::PodTemplateSpec,
};
use kubewright::{client::ClientError, controller::ReconcileError};

use crate::shared::controller_revisions::{Proposal, RevisionHistory, next_number, template};

/// The label of a revision with the hash in its name.
const HASH_LABEL: &str = "controller.kubernetes.io/hash";

/// The revisions of a set that count.
pub(super) struct SetRevisions {
    pub(super) current: Arc<ControllerRevision>,
    pub(super) update: Arc<ControllerRevision>,
    pub(super) collision_count: i32,
}

/// How the set gets a revision with its present template.
#[derive(Debug, PartialEq)]
enum Choice<'r> {
    /// The last one has it.
    Keep(&'r Arc<ControllerRevision>),
    /// A former one has it, which becomes the last one.
    RollBack(&'r Arc<ControllerRevision>),
    Create,
}

fn choose<'r>(
    proposal: &Proposal<'_, StatefulSet>,
    revisions: &'r [Arc<ControllerRevision>],
    compares_semantics: bool,
) -> Choice<'r> {
    let last = revisions.last();
    match (proposal.find_equal(revisions), last) {
        (Some(equal), Some(last)) if Arc::ptr_eq(equal, last) => Choice::Keep(last),
        (Some(equal), _) => Choice::RollBack(equal),
        // Written by another version of Kubernetes: a new revision would replace all pods for nothing.
        (None, Some(last)) if compares_semantics && proposal.means_the_same(last) => Choice::Keep(last),
        (None, _) => Choice::Create,
    }
}

impl SetRevisions {
    /// Finds the revisions of a set among its sorted history. Creates or renumbers the one of its present template.
    pub(super) async fn find(
        set: &StatefulSet,
        revisions: &[Arc<ControllerRevision>],
        history: &RevisionHistory,
        compares_semantics: bool,
    ) -> Result<Self, ClientError> {
        let template = set.spec.as_ref().map(|spec| &spec.template);
        let proposal = Proposal::new(set, template, HASH_LABEL);
        let status = set.status.as_ref();
        let mut collision_count = status.and_then(|status| status.collision_count).unwrap_or(0);
        let number = next_number(revisions);
        let update = match choose(&proposal, revisions, compares_semantics) {
            Choice::Keep(revision) => revision.clone(),
            Choice::RollBack(revision) => history
                .update(revision, |revision| revision.revision = number)
                .await?
                .into(),
            Choice::Create => history
                .create_proposed(&proposal, number, &mut collision_count)
                .await?
                .into(),
        };
        let current = status.and_then(|status| status.current_revision.as_deref());
        let current = revisions
            .iter()
            .find(|revision| revision.metadata.name.as_deref() == current && current.is_some());
        Ok(Self {
            current: current.unwrap_or(&update).clone(),
            update,
            collision_count,
        })
    }
}

/// Returns the name of a revision.
pub(super) fn name(revision: &ControllerRevision) -> &str {
    revision.metadata.name.as_deref().unwrap_or_default()
}

/// Returns the pod template of a revision; the set's if the revision has none.
pub(super) fn template_of<'s>(
    set: &'s StatefulSet,
    revision: &ControllerRevision,
) -> Result<Cow<'s, PodTemplateSpec>, ReconcileError> {
    let of_revision = template(revision).map_err(|error| {
        ReconcileError::new(format_args!(
            "the revision {} has no valid template: {error}",
            name(revision)
        ))
    })?;
    let of_set = set.spec.as_ref().map(|spec| &spec.template);
    Ok(match (of_revision, of_set) {
        (Some(template), _) => Cow::Owned(template),
        (None, Some(template)) => Cow::Borrowed(template),
        (None, None) => Cow::Owned(PodTemplateSpec::default()),
    })
}

#[cfg(test)]
#[path = "revisions_tests.rs"]
mod tests;
