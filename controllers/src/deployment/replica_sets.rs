//! The ReplicaSets of a Deployment, as a plan finds and changes them.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::{ReplicaSet, ReplicaSetStatus},
        core::v1::PodTemplateSpec,
    },
    jiff::Timestamp,
};

use super::template;

/// Annotations of an object.
pub(super) type Annotations = BTreeMap<String, String>;

/// The ReplicaSets that a Deployment controls.
#[derive(Debug)]
pub(super) struct ReplicaSetGroup {
    /// The one with the Deployment's template.
    pub(super) new: Option<TrackedReplicaSet>,
    /// The others, the oldest first.
    pub(super) old: Vec<TrackedReplicaSet>,
}

/// A ReplicaSet: as the cache has it, or as a plan creates or changes it.
#[derive(Clone, Debug)]
pub(super) struct TrackedReplicaSet {
    object: Arc<ReplicaSet>,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The cache has it. A change of it needs an update.
    Cached { size: i64, is_changed: bool },
    /// The plan creates it.
    Created,
}

/// A write of a ReplicaSet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReplicaSetWrite {
    Create(Box<ReplicaSet>),
    Update {
        replica_set: Box<ReplicaSet>,
        /// The sizes before and after, if they differ.
        resized: Option<(i64, i64)>,
    },
    Delete(Arc<ReplicaSet>),
}

impl ReplicaSetGroup {
    /// Finds the ReplicaSet with the Deployment's template. If there are several, as an upgrade of the API server can cause, it is the
    /// oldest.
    pub(super) fn new(template: &PodTemplateSpec, replica_sets: Vec<Arc<ReplicaSet>>) -> Self {
        let mut old: Vec<_> = replica_sets.into_iter().map(TrackedReplicaSet::cached).collect();
        old.sort_by(TrackedReplicaSet::by_age);
        let position = old
            .iter()
            .position(|replica_set| replica_set.has_template(template));
        let new = position.map(|position| old.remove(position));
        Self { new, old }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &TrackedReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut TrackedReplicaSet> {
        self.old.iter_mut().chain(&mut self.new)
    }

    /// The pods that all of them should have.
    pub(super) fn size(&self) -> i64 {
        self.all().map(TrackedReplicaSet::size).sum()
    }

    /// Adds up a count of the statuses.
    pub(super) fn total(&self, count: impl Fn(&ReplicaSetStatus) -> Option<i32>) -> i64 {
        self.all().map(|replica_set| replica_set.count(&count)).sum()
    }

    /// Returns the writes that the changes need. The new one is created first: nothing shrinks if that fails. Then others shrink before any
    /// grows, so that there are never too many pods, also if a write fails.
    pub(super) fn writes(&self) -> Vec<ReplicaSetWrite> {
        let all = self.new.iter().chain(&self.old);
        let mut writes: Vec<_> = all.filter_map(TrackedReplicaSet::write).collect();
        writes.sort_by_key(|write| match write {
            ReplicaSetWrite::Create(_) => 0,
            ReplicaSetWrite::Update {
                resized: Some((before, after)),
                ..
            } if after < before => 1,
            ReplicaSetWrite::Update { .. } | ReplicaSetWrite::Delete(_) => 2,
        });
        writes
    }
}

impl TrackedReplicaSet {
    pub(super) fn cached(object: Arc<ReplicaSet>) -> Self {
        let origin = Origin::Cached {
            size: size(&object),
            is_changed: false,
        };
        Self { object, origin }
    }

    pub(super) fn created(object: ReplicaSet) -> Self {
        Self {
            object: Arc::new(object),
            origin: Origin::Created,
        }
    }

    pub(super) fn object(&self) -> &Arc<ReplicaSet> {
        &self.object
    }

    pub(super) fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        let annotations = self.object.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    }

    pub(super) fn annotations(&self) -> Annotations {
        self.object.metadata.annotations.clone().unwrap_or_default()
    }

    pub(super) fn has_template(&self, wanted: &PodTemplateSpec) -> bool {
        let own = self.object.spec.as_ref().and_then(|spec| spec.template.as_ref());
        own.is_some_and(|own| template::equal(own, wanted))
    }

    /// How many pods it should have.
    pub(super) fn size(&self) -> i64 {
        size(&self.object)
    }

    /// Whether it should have pods.
    pub(super) fn is_active(&self) -> bool {
        self.size() > 0
    }

    pub(super) fn count(&self, count: impl Fn(&ReplicaSetStatus) -> Option<i32>) -> i64 {
        self.object
            .status
            .as_ref()
            .and_then(count)
            .unwrap_or_default()
            .into()
    }

    /// How many of the pods that it should have are available.
    ///
    /// Its status may still count the pods of a larger size: those beyond the size are about to end, and nothing may rely on them.
    pub(super) fn available(&self) -> i64 {
        self.count(|status| status.available_replicas).min(self.size())
    }

    /// Whether its status is about its present size.
    pub(super) fn is_observed(&self) -> bool {
        if matches!(self.origin, Origin::Cached { size, .. } if size != self.size()) {
            return false;
        }
        let observed = self
            .object
            .status
            .as_ref()
            .and_then(|status| status.observed_generation);
        self.object.metadata.generation.unwrap_or_default() <= observed.unwrap_or_default()
    }

    /// The order by age, the oldest first.
    pub(super) fn by_age(&self, other: &Self) -> Ordering {
        (self.created_at(), self.name()).cmp(&(other.created_at(), other.name()))
    }

    fn created_at(&self) -> Option<Timestamp> {
        self.object
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0)
    }

    /// Changes the size. Annotations stay: see [`scale::resize`](super::scale::resize).
    pub(super) fn set_size(&mut self, size: i64) {
        let size = i32::try_from(size.max(0)).unwrap_or(i32::MAX);
        self.edit().spec.get_or_insert_default().replicas = Some(size);
    }

    pub(super) fn set_annotations(&mut self, annotations: Annotations) {
        self.edit().metadata.annotations = Some(annotations);
    }

    pub(super) fn set_min_ready_seconds(&mut self, seconds: i32) {
        self.edit().spec.get_or_insert_default().min_ready_seconds = Some(seconds);
    }

    fn edit(&mut self) -> &mut ReplicaSet {
        if let Origin::Cached { is_changed, .. } = &mut self.origin {
            *is_changed = true;
        }
        Arc::make_mut(&mut self.object)
    }

    fn write(&self) -> Option<ReplicaSetWrite> {
        let object = || Box::new(ReplicaSet::clone(&self.object));
        match self.origin {
            Origin::Created => Some(ReplicaSetWrite::Create(object())),
            Origin::Cached {
                size,
                is_changed: true,
            } => Some(ReplicaSetWrite::Update {
                replica_set: object(),
                resized: (size != self.size()).then(|| (size, self.size())),
            }),
            Origin::Cached { .. } => None,
        }
    }
}

/// Returns the size in the spec, with the API's default.
pub(super) fn size(replica_set: &ReplicaSet) -> i64 {
    let replicas = replica_set.spec.as_ref().and_then(|spec| spec.replicas);
    i64::from(replicas.unwrap_or(1)).max(0)
}

#[cfg(test)]
#[path = "replica_sets_tests.rs"]
mod tests;
