//! A pod of a Job, as the plan sees it.

use std::sync::Arc;

use kubewright::{
    NamespacedName,
    cache::{DecodeError, Metadata, Object},
};

use super::rules::JobRules;
use crate::shared::pod::{PodPhase, PodView};

/// A pod with this finalizer is not counted in its Job's status yet.
pub(super) const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A pod of a Job.
#[derive(Clone, Debug)]
pub(super) struct JobPod {
    pub(super) name: NamespacedName,
    pub(super) uid: Box<str>,
    pub(super) view: Arc<PodView>,
    /// The completion index, if it has a valid one.
    pub(super) index: Option<u32>,
    /// Whether it has the finalizer, so that it must be counted when it terminates.
    pub(super) is_tracked: bool,
}

impl JobPod {
    /// Decodes a cached pod. Its finalizer may have been removed, or added by adoption, since it was cached.
    pub(super) fn decode(object: &Object<PodView>, is_tracked: bool) -> Result<Self, DecodeError> {
        let view = object.decode()?;
        Ok(Self {
            name: object.name().clone(),
            uid: object.metadata().uid().into(),
            index: completion_index(&view),
            view,
            is_tracked,
        })
    }

    pub(super) fn has_succeeded(&self) -> bool {
        self.view.phase == PodPhase::Succeeded
    }

    /// Whether it has failed, or is being deleted where the Job counts such pods as failed: they may never reach the phase.
    pub(super) fn has_failed(&self, rules: &JobRules<'_>) -> bool {
        let is_deleted = self.view.deleted.is_some() && !rules.replaces_only_failed;
        self.view.phase == PodPhase::Failed || is_deleted && !self.has_succeeded()
    }

    /// Whether its result counts: in an indexed Job it needs an index below the number of completions.
    pub(super) fn is_valid(&self, rules: &JobRules<'_>) -> bool {
        rules.indexes.is_none() || self.valid_index(rules).is_some()
    }

    /// Returns the index, if it is one of the Job.
    pub(super) fn valid_index(&self, rules: &JobRules<'_>) -> Option<u32> {
        self.index.filter(|index| *index < rules.indexes.unwrap_or(0))
    }
}

/// Whether a cached pod has the finalizer.
pub(super) fn has_finalizer(pod: &Metadata) -> bool {
    pod.finalizers().any(|finalizer| finalizer == TRACKING_FINALIZER)
}

fn completion_index(pod: &PodView) -> Option<u32> {
    // As Go's Atoi: a sign is accepted.
    pod.completion_index.as_deref()?.parse().ok()
}
