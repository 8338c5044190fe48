//! New pods: the Job's template, with the finalizer and, in an indexed Job, the index.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod, PodSchedulingGroup},
    scheduling::v1alpha2::PodGroup,
};
use kubewright::controller::controller_reference;

use super::{indexes::IndexFailures, job_pod::TRACKING_FINALIZER};
use crate::shared::pod_control::{NoLabels, pod_from_template};

/// The annotation and the label with the completion index.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
const INDEX_IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
/// The environment variable with the completion index.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The API server cuts longer prefixes of names off.
const MAX_PREFIX_BYTES: usize = 58;

/// The new pods of a Job.
#[derive(Clone, Debug)]
pub(super) struct NewPods {
    pod: Pod,
    job: String,
}

/// The index of a new pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewIndex {
    pub(super) index: u32,
    /// The failures of the index so far, where it has a backoff limit of its own.
    pub(super) failures: Option<IndexFailures>,
}

impl NewPods {
    /// Returns the pods of a Job. Those of a pod group are scheduled together.
    pub(super) fn of(job: &Job, group: Option<&PodGroup>) -> Result<Self, NoLabels> {
        let template = job.spec.as_ref().map(|spec| &spec.template);
        let namespace = job.metadata.namespace.as_deref();
        let mut pod = pod_from_template(template, namespace, controller_reference(job))?;
        let finalizers = pod.metadata.finalizers.get_or_insert_default();
        if !finalizers.iter().any(|finalizer| finalizer == TRACKING_FINALIZER) {
            finalizers.push(TRACKING_FINALIZER.to_owned());
        }
        if let Some(group) = group {
            // As upstream, the group does not own them.
            pod.spec.get_or_insert_default().scheduling_group = Some(PodSchedulingGroup {
                pod_group_name: group.metadata.name.clone(),
            });
        }
        let job = job.metadata.name.clone().unwrap_or_default();
        Ok(Self { pod, job })
    }

    /// Returns a pod, with an index if the Job is an indexed one.
    pub(super) fn pod(&self, index: Option<NewIndex>) -> Pod {
        let mut pod = self.pod.clone();
        let Some(NewIndex { index, failures }) = index else {
            return pod;
        };
        pod.metadata.generate_name = Some(name_prefix(&self.job, index));
        insert(&mut pod.metadata.labels, COMPLETION_INDEX, index);
        insert(&mut pod.metadata.annotations, COMPLETION_INDEX, index);
        if let Some(IndexFailures { counted, ignored }) = failures {
            insert(&mut pod.metadata.annotations, INDEX_FAILURES, counted);
            if ignored > 0 {
                insert(&mut pod.metadata.annotations, INDEX_IGNORED_FAILURES, ignored);
            }
        }
        if let Some(spec) = &mut pod.spec {
            spec.hostname = Some(format!("{}-{index}", self.job));
            let init_containers = spec.init_containers.iter_mut().flatten();
            init_containers
                .chain(&mut spec.containers)
                .for_each(add_index_variable);
        }
        pod
    }
}

fn add_index_variable(container: &mut Container) {
    let variables = container.env.get_or_insert_default();
    if variables.iter().any(|variable| variable.name == INDEX_VARIABLE) {
        return;
    }
    let field = ObjectFieldSelector {
        field_path: format!("metadata.labels['{COMPLETION_INDEX}']"),
        api_version: None,
    };
    variables.push(EnvVar {
        name: INDEX_VARIABLE.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(field),
            ..EnvVarSource::default()
        }),
        value: None,
    });
}

/// The prefix of the names of an index's pods. Of a long name the end is left out, so that the index stays.
fn name_prefix(job: &str, index: u32) -> String {
    let end = format!("-{index}-");
    let room = MAX_PREFIX_BYTES.saturating_sub(end.len());
    let kept = if job.len() > room {
        job.floor_char_boundary(room)
    } else {
        job.len()
    };
    format!("{}{end}", &job[..kept])
}

fn insert(texts: &mut Option<BTreeMap<String, String>>, key: &str, value: u32) {
    texts
        .get_or_insert_default()
        .insert(key.to_owned(), value.to_string());
}

#[cfg(test)]
#[path = "new_pod_tests.rs"]
mod tests;
