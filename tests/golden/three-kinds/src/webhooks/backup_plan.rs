//! The webhooks of BackupPlan: the API server calls them before it stores an object.

use kubewright::controller::Setup;
use kubewright::webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator};

use crate::api::backup_plan::BackupPlan;

/// The webhooks of BackupPlan. It may have listers and typed clients as fields, as a controller does.
pub struct BackupPlanWebhook;

impl BackupPlanWebhook {
    /// Registers the webhooks. Does no I/O.
    ///
    /// The returned builders have options. By default the API server waits 10 s for an answer and then accepts the write, which
    /// `.fail_closed()` changes; objects in the operator's own namespace are never reviewed, so that it can be repaired.
    pub fn register(setup: &mut Setup) {
        setup.validator::<BackupPlan>(Self);
        setup.defaulter::<BackupPlan>(Self);
    }
}

impl Validator<BackupPlan> for BackupPlanWebhook {
    /// Checks a new object, with its defaults. Rules that the schema or CEL can express need no webhook.
    async fn create(
        &self,
        new: &BackupPlan,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        let name = &new.spec.deployment_name;
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(is_allowed) {
            validation.invalid(
                "spec.deploymentName",
                name,
                "must consist of a-z, 0-9 and '-'",
            );
        }
        Ok(validation)
    }

    /// Checks a change. Denies only what changed: objects from before a rule must remain editable.
    async fn update(
        &self,
        new: &BackupPlan,
        old: &BackupPlan,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        if new.spec.deployment_name != old.spec.deployment_name {
            // The controller would leave the old Deployment behind.
            validation.forbidden("spec.deploymentName", "cannot be changed");
        }
        Ok(validation)
    }
}

impl Defaulter<BackupPlan> for BackupPlanWebhook {
    /// Changes a new or changed object, before it is validated. It may be called again with its own result.
    async fn set_defaults(
        &self,
        new: &mut BackupPlan,
        _request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        // With `#[serde(default)]` on the field, it may be left out, too.
        if new.spec.deployment_name.is_empty()
            && let Some(name) = &new.metadata.name
        {
            new.spec.deployment_name = name.clone();
        }
        Ok(())
    }
}
