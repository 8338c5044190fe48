//! What is done with one object: it is deleted, finalized, or freed of references to owners that are gone.

use futures::{TryStreamExt as _, stream};
use kube::api::{DeleteParams, Preconditions, PropagationPolicy};
use kubewright::{
    Scope,
    cache::{Metadata, OwnerRef},
    events::{EventType, ObjectRef, Recorder},
};
use parking_lot::Mutex;

use super::{
    FOREGROUND, NAME, ORPHAN,
    absent_owners::AbsentOwners,
    graph::{Graph, ObjectKey, waits},
    monitors::Monitors,
    owner_state::{OwnerState, OwnerStates, UnknownOwner},
    patches,
};
use crate::shared::{
    invalid_objects::{InvalidObject, InvalidObjects},
    metadata_client::{MetadataClient, has_code, is_not_found},
};

/// How many dependents are orphaned at once.
const ORPHANED_AT_ONCE: usize = 20;

pub(super) struct Collector {
    pub(super) graph: Mutex<Graph>,
    pub(super) monitors: Monitors,
    pub(super) absent: AbsentOwners,
    pub(super) client: MetadataClient,
    pub(super) recorder: Recorder,
    pub(super) invalid: InvalidObjects,
}

/// The owners of an object by their state.
#[derive(Debug, Default)]
struct Owners<'a> {
    solid: usize,
    waiting: Vec<&'a OwnerRef>,
    dangling: Vec<&'a OwnerRef>,
}

impl Collector {
    /// Looks at an object as the caches show it. Returns the objects to look at next.
    pub(super) async fn collect(&self, key: &ObjectKey) -> Result<Vec<ObjectKey>, UnknownOwner> {
        let Some(object) = self.monitors.cached(key) else {
            return Ok(Vec::new());
        };
        let object = object.metadata();
        if waits(object, ORPHAN) {
            self.orphan_dependents(key, object).await?;
        } else if waits(object, FOREGROUND) {
            return Ok(self.finish_foreground(key, object).await?);
        } else if !object.is_deleting() && !object.owner_references().is_empty() {
            self.check_owners(key, object).await?;
        }
        Ok(Vec::new())
    }

    /// Removes the owner from its dependents, then the finalizer.
    async fn orphan_dependents(&self, key: &ObjectKey, object: &Metadata) -> Result<(), kube::Error> {
        let dependents: Vec<_> = self.graph.lock().dependents(&key.uid).collect();
        let owner = [&*key.uid];
        stream::iter(dependents.iter().map(Ok))
            .try_for_each_concurrent(ORPHANED_AT_ONCE, |dependent| {
                patches::remove_owners(&self.client, dependent, &owner)
            })
            .await?;
        patches::remove_finalizer(&self.client, key, object, ORPHAN).await
    }

    /// Removes the finalizer if no dependent blocks the deletion. Otherwise returns the dependents that block it and are not being deleted in
    /// the foreground themselves.
    async fn finish_foreground(
        &self,
        key: &ObjectKey,
        object: &Metadata,
    ) -> Result<Vec<ObjectKey>, kube::Error> {
        let dependents: Vec<_> = self.graph.lock().dependents(&key.uid).collect();
        let blocks = |dependent: &ObjectKey| {
            let cached = self.monitors.cached(dependent);
            cached.filter(|cached| {
                let mut owners = cached.metadata().owner_references().iter();
                owners.any(|owner| owner.uid == key.uid && owner.block_owner_deletion)
            })
        };
        let blocking: Vec<_> = dependents
            .into_iter()
            .filter_map(|dependent| Some((blocks(&dependent)?, dependent)))
            .collect();
        if blocking.is_empty() {
            patches::remove_finalizer(&self.client, key, object, FOREGROUND).await?;
        }
        let to_check = blocking
            .into_iter()
            .filter(|(cached, _)| !waits(cached.metadata(), FOREGROUND));
        Ok(to_check.map(|(_, dependent)| dependent).collect())
    }

    async fn check_owners(&self, key: &ObjectKey, object: &Metadata) -> Result<(), UnknownOwner> {
        let owners = match self.classify(object).await {
            // It cannot be found out, and a retry would not find out either.
            Err(error @ UnknownOwner::Namespaced(_)) => {
                self.report(key, object, &error);
                self.report_other_namespaces(key, object, object.owner_references());
                return Ok(());
            }
            Err(error) => {
                self.report(key, object, &error);
                return Err(error);
            }
            Ok(owners) => owners,
        };
        self.report_other_namespaces(key, object, owners.dangling.iter().copied());
        if owners.solid > 0 {
            let removed = owners.dangling.iter().chain(&owners.waiting);
            let removed: Vec<_> = removed.map(|owner| &*owner.uid).collect();
            if !removed.is_empty() {
                patches::remove_owners(&self.client, key, &removed).await?;
            }
            return Ok(());
        }
        let mut dependents = self.graph.lock().dependents(&key.uid).peekable();
        if !owners.waiting.is_empty() && dependents.peek().is_some() {
            let is_waiting = |dependent: &ObjectKey| {
                let cached = self.monitors.cached(dependent);
                cached.is_some_and(|cached| waits(cached.metadata(), FOREGROUND))
            };
            // Its owner and its dependent wait: they may own each other in a circle, in which none would ever be deleted.
            if dependents.any(|dependent| is_waiting(&dependent)) {
                patches::unblock_owners(&self.client, key, object).await?;
            }
            return Ok(self.delete(key, object, PropagationPolicy::Foreground).await?);
        }
        let has = |finalizer| object.finalizers().any(|known| known == finalizer);
        let policy = match (has(ORPHAN), has(FOREGROUND)) {
            (true, _) => PropagationPolicy::Orphan,
            (false, true) => PropagationPolicy::Foreground,
            (false, false) => PropagationPolicy::Background,
        };
        Ok(self.delete(key, object, policy).await?)
    }

    fn report(&self, key: &ObjectKey, object: &Metadata, error: &UnknownOwner) {
        if let Some(reason) = error.reason() {
            let object = InvalidObject::of(&key.kind.kind, object);
            self.invalid.report(NAME, object, reason, error);
        }
    }

    async fn classify<'a>(&self, object: &'a Metadata) -> Result<Owners<'a>, UnknownOwner> {
        let states = OwnerStates {
            monitors: &self.monitors,
            absent: &self.absent,
            client: &self.client,
        };
        let mut owners = Owners::default();
        for owner in object.owner_references() {
            match states.of(object, owner).await? {
                OwnerState::Solid => owners.solid += 1,
                OwnerState::Waiting => owners.waiting.push(owner),
                OwnerState::Dangling => owners.dangling.push(owner),
            }
        }
        Ok(owners)
    }

    /// Deletes the object if its owners are those that were looked at. It may have changed otherwise.
    async fn delete(
        &self,
        key: &ObjectKey,
        object: &Metadata,
        policy: PropagationPolicy,
    ) -> Result<(), kube::Error> {
        let version = Some(object.resource_version().to_owned());
        let outcome = self.delete_version(key, version, policy.clone()).await;
        if !outcome.as_ref().is_err_and(|error| has_code(error, 409)) {
            return outcome;
        }
        let live = self.client.get(&key.kind, &key.name).await?;
        let Some(live) = live.filter(|live| live.metadata.uid.as_deref() == Some(&*key.uid)) else {
            return Ok(());
        };
        let live = live.metadata.owner_references.unwrap_or_default();
        let known = object.owner_references();
        let is_unchanged = live.len() == known.len()
            && live.iter().zip(known).all(|(live, known)| {
                (&*live.uid, &*live.api_version, &*live.kind, &*live.name)
                    == (&*known.uid, &*known.api_version, &*known.kind, &*known.name)
            });
        if is_unchanged {
            self.delete_version(key, None, policy).await
        } else {
            outcome
        }
    }

    async fn delete_version(
        &self,
        key: &ObjectKey,
        resource_version: Option<String>,
        policy: PropagationPolicy,
    ) -> Result<(), kube::Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(key.uid.to_string()),
                resource_version,
            }),
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        match self.client.delete(&key.kind, &key.name, &params).await {
            Err(error) if is_not_found(&error) => Ok(()),
            outcome => outcome,
        }
    }

    /// Records an event for each of these owners that exists in another namespace, where a reference does not reach. No namespaced owner is in
    /// reach of a cluster-scoped object.
    fn report_other_namespaces<'a>(
        &self,
        key: &ObjectKey,
        object: &Metadata,
        owners: impl IntoIterator<Item = &'a OwnerRef>,
    ) {
        for owner in owners {
            let kind = self.monitors.kind(&owner.api_version, &owner.kind);
            let Some(kind) = kind.filter(|kind| kind.scope == Scope::Namespaced) else {
                continue;
            };
            if !self.monitors.has_uid(&kind, &owner.uid) {
                continue;
            }
            let namespace = object.name().namespace().unwrap_or_default();
            let note = format!(
                "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
                owner.api_version, owner.kind, owner.name, owner.uid
            );
            // A cluster-scoped object has been reported.
            if !namespace.is_empty() {
                let invalid = InvalidObject::of(&key.kind.kind, object);
                self.invalid.report(NAME, invalid, "OwnerInOtherNamespace", &note);
            }
            let regarding = ObjectRef {
                info: (*key.kind).clone(),
                name: key.name.clone(),
                uid: key.uid.to_string(),
            };
            self.recorder
                .event(&regarding, EventType::Warning, "OwnerRefInvalidNamespace", note);
        }
    }
}
