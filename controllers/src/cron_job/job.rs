//! The Job of a scheduled time.

use k8s_openapi::{
    api::{
        batch::v1::{CronJob, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::{Timestamp, tz::TimeZone},
};
use kubewright::controller::controller_reference;

/// The annotation with the scheduled time.
const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Returns the name of the Job: it is the same for the same minute, so that no Job is created twice.
pub(super) fn job_name(cron_job: &CronJob, time: Timestamp) -> String {
    let name = cron_job.metadata.name.as_deref().unwrap_or_default();
    format!("{name}-{}", time.as_second().div_euclid(60))
}

/// Returns the Job.
pub(super) fn job(cron_job: &CronJob, time: Timestamp, zone: &TimeZone) -> Job {
    let template = cron_job.spec.job_template.clone();
    let metadata = template.metadata.unwrap_or_default();
    let mut annotations = metadata.annotations.unwrap_or_default();
    let local = time.to_zoned(zone.clone());
    let format = if local.offset().is_zero() {
        "%Y-%m-%dT%H:%M:%SZ"
    } else {
        "%Y-%m-%dT%H:%M:%S%:z"
    };
    annotations.insert(SCHEDULED_AT.to_owned(), local.strftime(format).to_string());
    Job {
        metadata: ObjectMeta {
            name: Some(job_name(cron_job, time)),
            namespace: cron_job.metadata.namespace.clone(),
            labels: metadata.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![controller_reference(cron_job)]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

/// Returns the entry of a Job in the list of active ones.
pub(super) fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".to_owned()),
        kind: Some("Job".to_owned()),
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        resource_version: job.metadata.resource_version.clone(),
        field_path: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn job_has_the_templates_metadata_the_scheduled_time_and_an_owner() {
        let cron_job: CronJob = serde_json::from_value(json!({
            "metadata": {"name": "backup", "namespace": "shop", "uid": "1"},
            "spec": {"schedule": "", "jobTemplate": {
                "metadata": {"labels": {"app": "backup"}, "annotations": {"team": "data"}},
                "spec": {"parallelism": 2, "template": {}}}},
        }))
        .unwrap();
        let time = "2026-01-01T09:00:00Z".parse().unwrap();
        let made = job(&cron_job, time, &TimeZone::UTC);
        assert_eq!(made.metadata.name.as_deref(), Some("backup-29454300"));
        assert_eq!(
            serde_json::to_value(&made.metadata).unwrap(),
            json!({
                "name": "backup-29454300", "namespace": "shop", "labels": {"app": "backup"},
                "annotations": {"team": "data", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T09:00:00Z"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": "1", "controller": true, "blockOwnerDeletion": true}],
            })
        );
        assert_eq!(made.spec.unwrap().parallelism, Some(2));
        let berlin = job(&cron_job, time, &TimeZone::get("Europe/Berlin").unwrap());
        let annotations = berlin.metadata.annotations.unwrap();
        assert_eq!(annotations[SCHEDULED_AT], "2026-01-01T10:00:00+01:00");
    }
}
