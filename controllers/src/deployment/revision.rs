//! Revisions: the numbers of a Deployment's templates, in the order of their rollouts. The newest has the greatest.

use k8s_openapi::{
    api::apps::v1::{ReplicaSet, ReplicaSetSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kubewright::controller::controller_reference;

use super::{
    annotations::{self, REVISION},
    plan::Rollout,
    progress,
    replica_sets::{ReplicaSetGroup, TrackedReplicaSet},
    rolling,
    template::{self, HASH_LABEL},
};

/// Brings the ReplicaSet with the Deployment's template up to date, if there is one: its annotations and minimum seconds. The Deployment gets
/// its revision.
pub(super) fn sync(rollout: &mut Rollout<'_>) {
    let revision = max_revision(&rollout.group.old) + 1;
    let Some(new) = &mut rollout.group.new else {
        return;
    };
    let copied = rollout
        .deployment
        .metadata
        .annotations
        .clone()
        .unwrap_or_default();
    let own = new.annotations();
    let wanted = annotations::of_new_replica_set(&own, &copied, revision);
    rollout.revision = wanted.get(REVISION).cloned();
    if wanted != own {
        new.set_annotations(wanted);
    }
    let min_ready_seconds = new.object().spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    if min_ready_seconds.unwrap_or_default() != rollout.desired.min_ready_seconds {
        new.set_min_ready_seconds(rollout.desired.min_ready_seconds);
    }
    let name = new.name().to_owned();
    progress::note_found(rollout, &name);
}

/// As [`sync`]; creates the ReplicaSet if there is none with the Deployment's template.
pub(super) fn sync_or_create(rollout: &mut Rollout<'_>) {
    if rollout.group.new.is_some() {
        sync(rollout);
        return;
    }
    let revision = max_revision(&rollout.group.old) + 1;
    let mut created = TrackedReplicaSet::created(new_replica_set(rollout));
    let mut wanted = annotations::of_new_replica_set(
        &created.annotations(),
        &rollout
            .deployment
            .metadata
            .annotations
            .clone()
            .unwrap_or_default(),
        revision,
    );
    wanted.extend(annotations::of_sizes(&rollout.desired).map(|(key, value)| (key.to_owned(), value)));
    created.set_annotations(wanted);
    created.set_size(rolling::size_of_new(&rollout.desired, rollout.group.size(), 0));
    rollout.revision = Some(revision.to_string());
    progress::note_created(rollout, created.name());
    rollout.group.new = Some(created);
}

/// Returns the ReplicaSet of the Deployment's template, without pods. The name follows from the template, so that creating it twice fails.
fn new_replica_set(rollout: &Rollout<'_>) -> ReplicaSet {
    let (deployment, spec) = (rollout.deployment, rollout.spec);
    let hash = template::hash(&spec.template, rollout.status.collision_count);
    let mut template = spec.template.clone();
    let labels = template
        .metadata
        .get_or_insert_default()
        .labels
        .get_or_insert_default();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let labels = labels.clone();
    let mut selector = spec.selector.clone();
    let selected = selector.match_labels.get_or_insert_default();
    selected.insert(HASH_LABEL.to_owned(), hash.clone());
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(template::replica_set_name(name, &hash)),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![controller_reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    }
}

/// Returns the revision of a ReplicaSet, zero if it has none; none if another program wrote something else.
pub(super) fn revision_of(replica_set: &TrackedReplicaSet) -> Option<i64> {
    replica_set
        .annotation(REVISION)
        .map_or(Some(0), |revision| revision.parse().ok())
}

fn max_revision(replica_sets: &[TrackedReplicaSet]) -> i64 {
    let revisions = replica_sets.iter().filter_map(revision_of);
    // The greatest number has no successor.
    revisions.fold(0, i64::max).min(i64::MAX - 1)
}

/// Returns the revision before that of the Deployment's template: the second greatest. Zero if there is none.
pub(super) fn last_revision(group: &ReplicaSetGroup) -> i64 {
    if group.new.is_none() {
        return max_revision(&group.old);
    }
    let mut revisions: Vec<i64> = group.all().filter_map(revision_of).collect();
    revisions.sort_unstable_by(|left, right| right.cmp(left));
    revisions.get(1).copied().unwrap_or(0).max(0)
}

#[cfg(test)]
#[path = "revision_tests.rs"]
mod tests;
