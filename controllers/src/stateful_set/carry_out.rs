//! Carries a plan out: writes pods and claims, and records events.

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
    claims::ClaimChange,
    identity::pod_name,
    objects::{claim_templates, correct_pod, new_claim, new_pod},
    plan::{PodRevision, SetPlan, Step},
};
use crate::shared::pod_control::message;

/// How many requests of a set that is not ordered are sent at once.
const MAX_BATCH: usize = 500;

/// Writes the pods and claims of sets.
pub(super) struct PodWriter {
    pub(super) claims: Lister<PersistentVolumeClaim>,
    pods: TypedClient<Pod, (Get, Create, Update, Delete)>,
    claim_client: TypedClient<PersistentVolumeClaim, (Create, Update)>,
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

/// A claim that could not be written.
#[derive(Debug, thiserror::Error)]
enum ClaimError {
    #[error("failed to create PVC {name}: {}", message(source))]
    Create { name: String, source: ClientError },
    #[error("pvc {name} is being deleted")]
    Deleting { name: String },
    #[error(
        "could not update claim {name} for delete policy ownerRefs: {}",
        message(source)
    )]
    Update { name: String, source: ClientError },
}

impl PodWriter {
    pub(super) fn new(setup: &mut Setup, claims: Lister<PersistentVolumeClaim>) -> Self {
        Self {
            claims,
            pods: setup.client(),
            claim_client: setup.client(),
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
            Step::ChangeClaims { ordinal, claims } => Ok(self.change_claims(set, *ordinal, claims).await?),
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
        if let Err(error) = self.change_claims(set, ordinal, claims).await {
            self.failed(set, "Create", ordinal, &error);
            return Err(error.into());
        }
        match self
            .pods
            .create(&new_pod(set.set, template, revision, ordinal)?)
            .await
        {
            Ok(_) => self.succeeded(set, "Create", ordinal),
            Err(error) => {
                // An orphan has the name, or the cache does not show the pod yet.
                if !error.is_already_exists() {
                    self.failed(set, "Create", ordinal, &message(&error));
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    async fn update(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        changes_pod: bool,
        claims: &[ClaimChange],
    ) -> Result<(), ReconcileError> {
        if let Err(error) = self.change_claims(set, ordinal, claims).await {
            self.failed(set, "Update", ordinal, &error);
            return Err(error.into());
        }
        if changes_pod && let Err(error) = self.correct(set, ordinal).await {
            self.failed(set, "Update", ordinal, &message(&error));
            return Err(error.into());
        }
        self.succeeded(set, "Update", ordinal);
        Ok(())
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

    /// Changes claims. A failure does not stop the others; the first one is returned.
    async fn change_claims(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        changes: &[ClaimChange],
    ) -> Result<(), ClaimError> {
        let mut result = Ok(());
        for change in changes {
            let outcome = self.change_claim(set, ordinal, change).await;
            result = result.and(outcome);
        }
        result
    }

    async fn change_claim(
        &self,
        set: &SetTemplates<'_>,
        ordinal: i64,
        change: &ClaimChange,
    ) -> Result<(), ClaimError> {
        match change {
            ClaimChange::Create { template, owners } => {
                let Some(template) = claim_templates(set.set).get(*template) else {
                    return Ok(());
                };
                let claim = new_claim(set.set, template, ordinal, owners.clone());
                let name = claim.metadata.name.clone().unwrap_or_default();
                let created = self.claim_client.create(&claim).await;
                self.report_claim(set, ordinal, &name, created.as_ref().err());
                created
                    .map(drop)
                    .map_err(|source| ClaimError::Create { name, source })
            }
            ClaimChange::AwaitDeletion { name } => Err(ClaimError::Deleting { name: name.clone() }),
            ClaimChange::ReportConflict { name } => {
                let note = format!(
                    "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, \
                     the retention policy is ignored for this claim"
                );
                self.events
                    .event(set.set, EventType::Warning, "ConflictingController", note);
                Ok(())
            }
            ClaimChange::SetOwners { name, owners } => {
                let Ok(claim) = self.claims.get(&set.named(name.clone())) else {
                    return Ok(());
                };
                let mut claim = (*claim).clone();
                claim.metadata.owner_references = Some(owners.clone());
                let updated = self.claim_client.update(&claim).await;
                updated.map(drop).map_err(|source| ClaimError::Update {
                    name: name.clone(),
                    source,
                })
            }
        }
    }

    fn report_claim(&self, set: &SetTemplates<'_>, ordinal: i64, claim: &str, error: Option<&ClientError>) {
        let (pod, owner) = (set.pod(ordinal), set.key.name());
        let pod = pod.name();
        match error {
            None => {
                let note = format!("Create Claim {claim} Pod {pod} in StatefulSet {owner} success");
                self.events
                    .event(set.set, EventType::Normal, "SuccessfulCreate", note);
            }
            Some(error) if error.is_already_exists() => {}
            Some(error) => {
                let note = format!(
                    "Create Claim {claim} for Pod {pod} in StatefulSet {owner} failed error: {}",
                    message(error)
                );
                self.events
                    .event(set.set, EventType::Warning, "FailedCreate", note);
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
        self.named(pod_name(self.key.name(), ordinal))
    }

    fn named(&self, name: String) -> NamespacedName {
        NamespacedName::namespaced(self.key.namespace().unwrap_or_default(), name)
    }
}
