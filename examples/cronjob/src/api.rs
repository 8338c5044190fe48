//! The kind `CronJob` of `batch.tutorial.kubebuilder.io`.

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kubewright::{ApplyConfiguration, CustomResource, Informer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// ANCHOR: spec
/// The desired state of a CronJob.
#[derive(CustomResource, Informer, ApplyConfiguration, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "batch.tutorial.kubebuilder.io",
    version = "v1",
    kind = "CronJob",
    namespaced,
    status = "CronJobStatus",
    doc = "Creates a Job at each time of a schedule.",
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspend"),
    printcolumn(name = "Last run", type_ = "date", json_path = ".status.lastScheduleTime")
)]
#[serde(rename_all = "camelCase")]
pub struct CronJobSpec {
    /// The schedule: five fields as in cron (minute, hour, day of month, month, day of week), and optionally a time zone. UTC without one.
    #[schemars(length(min = 1))]
    pub schedule: String,
    /// How many seconds after its time a Job may still be started; without a limit when absent.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
    /// What happens if it is time for a Job while another one is active.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// No Jobs are created while this is true. Active Jobs continue.
    #[serde(default)]
    pub suspend: bool,
    /// The Job to create.
    pub job_template: JobTemplateSpec,
    /// How many successful Jobs are kept; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<u32>,
    /// How many failed Jobs are kept; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<u32>,
}

/// What happens if it is time for a Job while another one is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum ConcurrencyPolicy {
    /// Jobs may run side by side.
    #[default]
    Allow,
    /// The Job is not started while another one is active.
    Forbid,
    /// The active Jobs are deleted.
    Replace,
}
// ANCHOR_END: spec

// ANCHOR: status
/// The observed state of a CronJob.
#[derive(ApplyConfiguration, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobStatus {
    /// The Jobs that have not finished.
    #[serde(default)]
    pub active: Vec<ObjectReference>,
    /// The schedule's time of the newest Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// `Ready` is true if Jobs are created by the schedule.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}
// ANCHOR_END: status
