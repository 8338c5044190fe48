//! The webhooks: history limits by default, and what the schema cannot check.

use kubewright::controller::Setup;
use kubewright::webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator};

use crate::{api::CronJob, schedule::Schedule};

/// The longest name of a CronJob: the controller appends `-` and ten digits, and the name of a Job has at most 63 characters.
const MAX_NAME_BYTES: usize = 52;

// ANCHOR: register
/// The webhooks of CronJobs.
pub struct CronJobWebhook;

impl CronJobWebhook {
    /// Registers the webhooks with an operator.
    pub fn register(setup: &mut Setup) {
        setup.defaulter::<CronJob>(Self);
        setup.validator::<CronJob>(Self);
    }
}
// ANCHOR_END: register

// ANCHOR: defaulter
impl Defaulter<CronJob> for CronJobWebhook {
    // `concurrencyPolicy` and `suspend` have their defaults in the schema. These could be there, too.
    async fn set_defaults(
        &self,
        cron_job: &mut CronJob,
        _request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        let spec = &mut cron_job.spec;
        spec.successful_jobs_history_limit.get_or_insert(3);
        spec.failed_jobs_history_limit.get_or_insert(1);
        Ok(())
    }
}
// ANCHOR_END: defaulter

// ANCHOR: validator
impl Validator<CronJob> for CronJobWebhook {
    async fn create(&self, new: &CronJob, _request: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        let mut validation = check_schedule(new);
        let name = new.metadata.name.as_deref().unwrap_or_default();
        if name.len() > MAX_NAME_BYTES {
            validation.invalid("metadata.name", name, "must be no more than 52 characters");
        }
        Ok(validation)
    }

    async fn update(
        &self,
        new: &CronJob,
        old: &CronJob,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        // What did not change is not denied: an object from before the webhook must remain editable.
        if new.spec.schedule == old.spec.schedule {
            return Ok(Validation::new());
        }
        Ok(check_schedule(new))
    }
}

fn check_schedule(cron_job: &CronJob) -> Validation {
    let mut validation = Validation::new();
    let schedule = &cron_job.spec.schedule;
    if let Err(error) = Schedule::parse(schedule) {
        validation.invalid("spec.schedule", schedule, &error.to_string());
    }
    validation
}
// ANCHOR_END: validator
