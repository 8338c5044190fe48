//! Writes the claims of pods, and records events about new ones.

use std::{error::Error, fmt};

use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::PersistentVolumeClaim};
use kubewright::{
    NamespacedName,
    cache::Lister,
    client::{ClientError, Create, TypedClient, Update},
    controller::Setup,
    events::{EventType, Recorder},
};

use super::{
    claims::ClaimChange,
    identity::pod_name,
    objects::{claim_templates, new_claim},
};
use crate::shared::pod_control::message;

/// Writes the claims of sets.
pub(super) struct ClaimWriter {
    pub(super) lister: Lister<PersistentVolumeClaim>,
    client: TypedClient<PersistentVolumeClaim, (Create, Update)>,
    events: Recorder,
}

/// A claim that could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaimError {
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

/// The claims of one pod that could not be created, one or more.
#[derive(Debug)]
pub(super) struct ClaimErrors(Vec<ClaimError>);

impl ClaimWriter {
    pub(super) fn new(setup: &mut Setup, lister: Lister<PersistentVolumeClaim>) -> Self {
        Self {
            lister,
            client: setup.client(),
            events: setup.recorder(),
        }
    }

    /// Creates claims. A failure does not stop the others.
    pub(super) async fn create(
        &self,
        set: &StatefulSet,
        key: &NamespacedName,
        ordinal: i64,
        changes: &[ClaimChange],
    ) -> Result<(), ClaimErrors> {
        let mut errors = Vec::new();
        for change in changes {
            match change {
                ClaimChange::Create { template, owners } => {
                    let Some(template) = claim_templates(set).get(*template) else {
                        continue;
                    };
                    let claim = new_claim(set, template, ordinal, owners.clone());
                    let name = claim.metadata.name.clone().unwrap_or_default();
                    let created = self.client.create(&claim).await;
                    self.report(set, key, ordinal, &name, created.as_ref().err());
                    if let Err(source) = created {
                        errors.push(ClaimError::Create { name, source });
                    }
                }
                ClaimChange::AwaitDeletion { name } => {
                    errors.push(ClaimError::Deleting { name: name.clone() });
                }
                ClaimChange::ReportConflict { .. } | ClaimChange::SetOwners { .. } => {}
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ClaimErrors(errors))
        }
    }

    /// Updates the owners of claims that exist, until one fails.
    pub(super) async fn update_owners(
        &self,
        set: &StatefulSet,
        key: &NamespacedName,
        changes: &[ClaimChange],
    ) -> Result<(), ClaimError> {
        for change in changes {
            match change {
                ClaimChange::ReportConflict { name } => {
                    let note = format!(
                        "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, \
                         the retention policy is ignored for this claim"
                    );
                    self.events
                        .event(set, EventType::Warning, "ConflictingController", note);
                }
                ClaimChange::SetOwners { name, owners } => {
                    let claim_key = NamespacedName::namespaced(key.namespace().unwrap_or_default(), name);
                    let Ok(claim) = self.lister.get(&claim_key) else {
                        continue;
                    };
                    let mut claim = (*claim).clone();
                    claim.metadata.owner_references = Some(owners.clone());
                    let updated = self.client.update(&claim).await;
                    updated.map_err(|source| ClaimError::Update {
                        name: name.clone(),
                        source,
                    })?;
                }
                ClaimChange::Create { .. } | ClaimChange::AwaitDeletion { .. } => {}
            }
        }
        Ok(())
    }

    fn report(
        &self,
        set: &StatefulSet,
        key: &NamespacedName,
        ordinal: i64,
        claim: &str,
        error: Option<&ClientError>,
    ) {
        let owner = key.name();
        let pod = pod_name(owner, ordinal);
        match error {
            None => {
                let note = format!("Create Claim {claim} Pod {pod} in StatefulSet {owner} success");
                self.events
                    .event(set, EventType::Normal, "SuccessfulCreate", note);
            }
            Some(error) if error.is_already_exists() => {}
            Some(error) => {
                let note = format!(
                    "Create Claim {claim} for Pod {pod} in StatefulSet {owner} failed error: {}",
                    message(error)
                );
                self.events.event(set, EventType::Warning, "FailedCreate", note);
            }
        }
    }
}

/// One error, or several in brackets, as upstream prints them.
impl fmt::Display for ClaimErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [error] = &*self.0 {
            return write!(f, "{error}");
        }
        let texts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", texts.join(", "))
    }
}

impl Error for ClaimErrors {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.first()?.source()
    }
}
