//! Counts finished pods, and finishes the Job: the writes of the status, the removal of finalizers between them, and the events.

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use kubewright::{client::ClientError, controller::ReconcileError, events::EventType};

use super::{
    controller::{JobController, uid},
    finalizers::remove_finalizers,
    plan::Assessment,
    progress::{Progress, Suspension, differs},
    rules::JobRules,
    tracking::Tracking,
};

impl JobController {
    /// Counts the pods that have finished, and finishes the Job.
    pub(super) async fn count(
        &self,
        job: &Job,
        before: &JobStatus,
        assessment: &Assessment<'_>,
        progress: &Progress,
    ) -> Result<(), ReconcileError> {
        let (rules, limit) = (assessment.rules, self.limits.max_uncounted_pods);
        let mut tracking = Tracking::plan(assessment, progress, limit, self.clock.now());
        let mut written = None;
        if differs(before, &tracking.status) {
            let status = tracking.status.clone();
            written = Some(self.write_status(job, rules, before, status).await?);
        }
        let failures = assessment.failures_with(&tracking.finished);
        self.memory.set_failures(uid(job), failures);
        if let Some(suspension) = progress.suspension {
            self.report_suspension(job, suspension);
        }
        for (action, count) in &tracking.policy_actions {
            self.metrics.policy_action(action, *count);
        }
        let (removed, failed) =
            remove_finalizers(&self.pod_patcher, &self.memory, uid(job), &tracking.finished).await;

        let current = written.as_ref().unwrap_or(job);
        let before = current.status.clone().unwrap_or_default();
        let mut status = before.clone();
        let is_counted = tracking.count(&mut status, &removed);
        let delays = rules.features.delays_final_condition();
        let is_finished =
            failed.is_none() && tracking.finish(&mut status, progress, delays, self.clock.now());
        if is_counted || is_finished {
            let written = self.write_status(current, rules, &before, status).await?;
            if is_finished {
                self.report_end(&written, rules, progress);
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn write_status(
        &self,
        job: &Job,
        rules: &JobRules<'_>,
        before: &JobStatus,
        status: JobStatus,
    ) -> Result<Job, ClientError> {
        let mut changed = job.clone();
        changed.status = Some(status);
        let written = self.job_client.update_status(&changed).await?;
        let status = written.status.as_ref().unwrap_or(before);
        self.metrics.counted(rules, before, status);
        Ok(written)
    }

    fn report_suspension(&self, job: &Job, suspension: Suspension) {
        let (reason, note) = match suspension {
            Suspension::Suspended => ("Suspended", "Job suspended"),
            Suspension::Resumed => ("Resumed", "Job resumed"),
        };
        self.recorder.event(job, EventType::Normal, reason, note);
    }

    fn report_end(&self, job: &Job, rules: &JobRules<'_>, progress: &Progress) {
        let Some(verdict) = &progress.verdict else { return };
        let event = |severity, reason: &str, note: &str| self.recorder.event(job, severity, reason, note);
        self.metrics.job_finished(rules, verdict);
        if !verdict.is_success {
            event(EventType::Warning, &verdict.reason, &verdict.message);
            return;
        }
        let succeeded = job.status.as_ref().and_then(|status| status.succeeded);
        let succeeded = succeeded.and_then(|succeeded| u32::try_from(succeeded).ok());
        if rules
            .completions
            .is_some_and(|completions| succeeded > Some(completions))
        {
            let note = "Too many succeeded pods running after completion count reached";
            event(EventType::Warning, "TooManySucceededPods", note);
        }
        event(EventType::Normal, "Completed", "Job completed");
    }
}
