//! Objects for the tests of Jobs.

use std::sync::Arc;

use k8s_openapi::{
    api::batch::v1::{Job, JobStatus},
    jiff::Timestamp,
};
use kubewright::NamespacedName;
use serde_json::{Value, from_value, json};

use super::{features::Features, features::Limits, job_pod::JobPod, rules::JobRules};
use crate::{FeatureGates, Options};

pub(super) fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// The time so many seconds before [`now`].
pub(super) fn ago(seconds: i64) -> String {
    (now() - k8s_openapi::jiff::SignedDuration::from_secs(seconds)).to_string()
}

pub(super) fn features(gates: &str) -> Features {
    Features::of(&FeatureGates::parse(gates).unwrap())
}

pub(super) fn limits() -> Limits {
    Limits::of(&Options::default())
}

/// A Job with these fields of the spec.
pub(super) fn job(spec: &Value) -> Job {
    let mut object = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "work", "namespace": "default", "uid": "job", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "parallelism": 2, "backoffLimit": 6,
            "selector": {"matchLabels": {"job": "work"}},
            "template": {
                "metadata": {"labels": {"job": "work"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "work"}]},
            },
        },
        "status": {},
    });
    let fields = spec.as_object().unwrap().clone();
    object["spec"].as_object_mut().unwrap().extend(fields);
    from_value(object).unwrap()
}

pub(super) fn rules(job: &Job) -> JobRules<'_> {
    JobRules::of(job, features("")).unwrap()
}

/// A tracked pod from its status and other parts.
pub(super) fn pod_of(uid: &str, object: Value) -> JobPod {
    let view: crate::shared::pod::PodView = from_value(object).unwrap();
    JobPod {
        name: NamespacedName::namespaced("default", uid),
        uid: uid.into(),
        index: view
            .completion_index
            .as_deref()
            .and_then(|index| index.parse().ok()),
        view: Arc::new(view),
        is_tracked: true,
    }
}

/// A tracked pod in a phase.
pub(super) fn pod(uid: &str, phase: &str) -> JobPod {
    pod_of(uid, json!({"status": {"phase": phase}}))
}

/// A tracked pod of an index, after so many failures.
pub(super) fn indexed(uid: &str, index: u32, phase: &str, failures: u32) -> JobPod {
    pod_of(
        uid,
        json!({
            "metadata": {"annotations": {
                "batch.kubernetes.io/job-completion-index": index.to_string(),
                "batch.kubernetes.io/job-index-failure-count": failures.to_string(),
            }},
            "status": {"phase": phase},
        }),
    )
}

/// The pod while it is being deleted.
pub(super) fn deleted(mut pod: JobPod) -> JobPod {
    let mut view = (*pod.view).clone();
    view.deleted = from_value(json!(ago(5))).unwrap();
    pod.view = Arc::new(view);
    pod
}

pub(super) fn untracked(mut pod: JobPod) -> JobPod {
    pod.is_tracked = false;
    pod
}

/// A failed pod whose container terminated so many seconds ago.
pub(super) fn finished(uid: &str, phase: &str, seconds: i64) -> JobPod {
    let terminated = json!({"exitCode": 1, "finishedAt": ago(seconds)});
    pod_of(
        uid,
        json!({"status": {"phase": phase, "containerStatuses": [{"name": "main", "state": {"terminated": terminated}}]}}),
    )
}

/// Whether the status has a final condition.
pub(super) fn has_finished(status: &JobStatus) -> bool {
    let job = Job {
        status: Some(status.clone()),
        ..Job::default()
    };
    crate::shared::finished_job::finished_condition(&job).is_some()
}
