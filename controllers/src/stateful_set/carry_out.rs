//! Carries a plan out: writes pods, with their claims, and records events.

use std::fmt;

use futures::future::join_all;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec},
};
use kubewright::{
    NamespacedName,
    cache::Lister,
    client::{ClientError, Create, Delete, DeleteParams, Get, TypedClient, Update},
    controller::{ReconcileError, Setup},
    events::{EventType, Recorder},
};

use super::{
    claim_writer::{ClaimError, ClaimWriter},
    claims::ClaimChange,
    identity::pod_name,
    objects::{correct_pod, new_pod},
    plan::{PodRevision, SetPlan, Step},
};
use crate::shared::pod_control::message;

/// How many requests of a set that is not ordered are sent at once.
const MAX_BATCH: usize = 500;

/// Writes the pods and claims of sets.
pub(super) struct PodWriter {
    pub(super) claims: ClaimWriter,
    pods: TypedClient<Pod, (Get, Create, Update, Delete)>,
    events: Recorder,
}

/// A set, and the templates of its pods.
pub(super) struct SetTemplates<'s> {
    pub(super) set: &'s StatefulSet,
    pub(super) key: &'s NamespacedName,
    /// The name of the current revision, and its template.
    pub(super) current: (&'s str, &'s PodTemplateSpec),
    /// The name of the revision to which the set is updated, and its template.
    pub(super) update: (&'s str, &'s PodTemplateSpec),
    pub(super) is_parallel: bool,
}

impl PodWriter {
    pub(super) fn new(setup: &mut Setup, claims: Lister<PersistentVolumeClaim>) -> Self {
        Self {
            claims: ClaimWriter::new(setup, claims),
            pods: setup.client(),
            events: setup.recorder(),
        }
    }

    /// Carries a plan out, until a step fails. Returns how many replicas were deleted for their update.
    pub(super) async fn carry_out(
        &self,
        set: &SetTemplates<'_>,
        plan: &SetPlan,
    ) -> (usize, Result<(), ReconcileError>) {
        for stage in [&plan.replicas, &plan.surplus_claims, &plan.scale_down] {
            if let Err(error) = self.run(set, stage).await {
                return (0, Err(error));
            }
        }
        for (deleted, step) in plan.update.iter().enumerate() {
            if let Err(error) = self.step(set, step).await {
                return (deleted, Err(error));
            }
        }
        (plan.update.len(), Ok(()))
    }

    /// Runs steps one after another, those of a parallel set in batches of 1, 2, 4 and so on: if the first fail, the others would as well.
    async fn run(&self, set: &SetTemplates<'_>, steps: &[Step]) -> Result<(), ReconcileError> {
        let (mut rest, mut size) = (steps, 1);
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            let results = join_all(batch.iter().map(|step| self.step(set, step))).await;
            results.into_iter().collect::<Result<(), _>>()?;
            rest = later;
            if set.is_parallel {
                size = (2 * size).min(MAX_BATCH);
            }
        }
        Ok(())
    }

    async fn step(&self, set: &SetTemplates<'_>, step: &Step) -> Result<(), ReconcileError> {
        match step {
            Step::Create {
                ordinal,
                revision,
                claims,
            } => self.create(set, *ordinal, *revision, claims).await,
            Step::Update {
                ordinal,
                changes_pod,
                claims,
            } => self.update(set, *ordinal, *changes_pod, claims).await,
            Step::CompleteClaims { ordinal, claims } => {
                self.claims.create(set.set, set.key, *ordinal, claims).await?;
                Ok(self.update_owners(set, *ordinal, claims).await?)
            }
            // As upstream, without an event.
            Step::CorrectOwners { claims, .. } => {
                Ok(self.claims.update_owners(set.set, set.key, claims).await?)
            }
            Step::Delete { ordinal } => Ok(self.delete(set, *ordinal).await?),
        }
    }

    async fn create(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        revision: PodRevision,
        claims: &[ClaimChange],
    ) -> Result<(), ReconcileError> {
        let (revision, template) = match revision {
            PodRevision::Current => set.current,
            PodRevision::Update => set.update,
        };
        if let Err(error) = self.claims.create(set.set, set.key, ordinal, claims).await {
            self.failed(set, "Create", ordinal, &error);
            return Err(error.into());
        }
        let pod = new_pod(set.set, template, revision, ordinal)?;
        let created = self.pods.create(&pod).await.map(drop);
        // An orphan has the name, or the cache does not show the pod yet.
        if created.as_ref().is_err_and(ClientError::is_already_exists) {
            return Ok(created?);
        }
        // As upstream: the pod is created even if the owners cannot be updated.
        self.update_owners(set, ordinal, claims).await?;
        match &created {
            Ok(()) => self.succeeded(set, "Create", ordinal),
            Err(error) => self.failed(set, "Create", ordinal, &message(error)),
        }
        Ok(created?)
    }

    async fn update(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        changes_pod: bool,
        claims: &[ClaimChange],
    ) -> Result<(), ReconcileError> {
        if let Err(error) = self.claims.create(set.set, set.key, ordinal, claims).await {
            self.failed(set, "Update", ordinal, &error);
            return Err(error.into());
        }
        self.update_owners(set, ordinal, claims).await?;
        if changes_pod && let Err(error) = self.correct(set, ordinal).await {
            self.failed(set, "Update", ordinal, &message(&error));
            return Err(error.into());
        }
        self.succeeded(set, "Update", ordinal);
        Ok(())
    }

    /// Updates the owners of the claims of a replica.
    async fn update_owners(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        claims: &[ClaimChange],
    ) -> Result<(), ClaimError> {
        let updated = self.claims.update_owners(set.set, set.key, claims).await;
        if let Err(error) = &updated {
            self.failed(set, "Update", ordinal, error);
        }
        updated
    }

    /// The cache has a part of the pod: the API server has all of it.
    async fn correct(&self, set: &SetTemplates<'_>, ordinal: i64) -> Result<(), ClientError> {
        let mut pod = self.pods.get(&set.pod(ordinal)).await?;
        correct_pod(&mut pod, set.set, ordinal);
        self.pods.update(&pod).await.map(drop)
    }

    /// Deletes a pod. One that is gone is deleted.
    async fn delete(&self, set: &SetTemplates<'_>, ordinal: i64) -> Result<(), ClientError> {
        let deleted = self
            .pods
            .delete(&set.pod(ordinal), &DeleteParams::default())
            .await;
        match deleted {
            Err(error) if !error.is_not_found() => {
                self.failed(set, "Delete", ordinal, &message(&error));
                Err(error)
            }
            _ => {
                self.succeeded(set, "Delete", ordinal);
                Ok(())
            }
        }
    }

    fn succeeded(&self, set: &SetTemplates<'_>, verb: &str, ordinal: i64) {
        let (pod, owner) = (set.pod(ordinal), set.key.name());
        let note = format!("{verb} Pod {} in StatefulSet {owner} successful", pod.name());
        let reason = format!("Successful{verb}");
        self.events.event(set.set, EventType::Normal, reason, note);
    }

    fn failed(&self, set: &SetTemplates<'_>, verb: &str, ordinal: i64, error: &impl fmt::Display) {
        let (pod, owner) = (set.pod(ordinal), set.key.name());
        let note = format!(
            "{verb} Pod {} in StatefulSet {owner} failed error: {error}",
            pod.name()
        );
        let reason = format!("Failed{verb}");
        self.events.event(set.set, EventType::Warning, reason, note);
    }
}

impl SetTemplates<'_> {
    fn pod(&self, ordinal: i64) -> NamespacedName {
        let namespace = self.key.namespace().unwrap_or_default();
        NamespacedName::namespaced(namespace, pod_name(self.key.name(), ordinal))
    }
}
