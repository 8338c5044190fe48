//! The Workload and the PodGroup of a Job whose pods are scheduled together, behind a feature gate: an indexed Job that runs all indexes
//! at once.

use k8s_openapi::{
    api::{
        batch::v1::{Job, JobStatus},
        scheduling::v1alpha2::{
            GangSchedulingPolicy, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec, PodGroupTemplate,
            PodGroupTemplateReference, TypedLocalObjectReference, Workload,
            WorkloadPodGroupTemplateReference, WorkloadSpec,
        },
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kubewright::controller::controller_reference;

use super::{conditions::SUSPENDED, rules::JobRules};
use crate::shared::name_hash::NameHash;

/// The API server's limit for names.
const MAX_NAME_BYTES: usize = 253;

/// Whether all pods of the Job are scheduled together, and none of another controller's groups has them.
pub(super) fn is_gang(job: &Job, rules: &JobRules<'_>) -> bool {
    let template = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    rules.parallelism > 1
        && rules.indexes == Some(rules.parallelism)
        && template.is_none_or(|pod| pod.scheduling_group.is_none())
}

/// Whether the Job has never started. Only such a Job gets a Workload: pods that exist are not part of a group.
pub(super) fn is_new(status: &JobStatus, pods: usize) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    pods == 0
        && status.start_time.is_none()
        && status.succeeded.unwrap_or(0) == 0
        && status.failed.unwrap_or(0) == 0
        && conditions.all(|condition| condition.type_ != SUSPENDED)
}

/// Returns the name of the Job to which a Workload belongs.
pub(super) fn job_of(workload: &Workload) -> Option<&str> {
    let owner = workload.spec.controller_ref.as_ref()?;
    let is_job = owner.api_group.as_deref() == Some("batch") && owner.kind == "Job";
    (is_job && !owner.name.is_empty()).then_some(&owner.name)
}

/// Returns the name of the Workload to which a PodGroup belongs.
pub(super) fn workload_of(group: &PodGroup) -> Option<&str> {
    let reference = group.spec.pod_group_template_ref.as_ref()?.workload.as_ref()?;
    Some(&*reference.workload_name).filter(|name| !name.is_empty())
}

/// Returns a Job's Workload.
pub(super) fn workload(job: &Job, rules: &JobRules<'_>) -> Workload {
    let name = job.metadata.name.clone().unwrap_or_default();
    let policy = GangSchedulingPolicy {
        min_count: i32::try_from(rules.parallelism).unwrap_or(i32::MAX),
    };
    let template = PodGroupTemplate {
        name: format!("{name}-pgt-0"),
        scheduling_policy: PodGroupSchedulingPolicy {
            gang: Some(policy),
            basic: None,
        },
        ..PodGroupTemplate::default()
    };
    Workload {
        metadata: ObjectMeta {
            name: Some(workload_name(
                &name,
                job.metadata.uid.as_deref().unwrap_or_default(),
            )),
            namespace: job.metadata.namespace.clone(),
            owner_references: Some(vec![controller_reference(job)]),
            ..ObjectMeta::default()
        },
        spec: WorkloadSpec {
            controller_ref: Some(TypedLocalObjectReference {
                api_group: Some("batch".to_owned()),
                kind: "Job".to_owned(),
                name,
            }),
            pod_group_templates: vec![template],
        },
    }
}

/// Returns the PodGroup of a Job's Workload, from the Workload's template.
pub(super) fn pod_group(job: &Job, workload: &Workload, template: &PodGroupTemplate) -> PodGroup {
    let name = workload.metadata.name.clone().unwrap_or_default();
    // It does not delay the Workload's deletion.
    let reference = OwnerReference {
        api_version: "scheduling.k8s.io/v1alpha2".to_owned(),
        kind: "Workload".to_owned(),
        name: name.clone(),
        uid: workload.metadata.uid.clone().unwrap_or_default(),
        controller: None,
        block_owner_deletion: None,
    };
    PodGroup {
        metadata: ObjectMeta {
            name: Some(pod_group_name(&name, &template.name)),
            namespace: job.metadata.namespace.clone(),
            owner_references: Some(vec![controller_reference(job), reference]),
            ..ObjectMeta::default()
        },
        spec: PodGroupSpec {
            pod_group_template_ref: Some(PodGroupTemplateReference {
                workload: Some(WorkloadPodGroupTemplateReference {
                    workload_name: name,
                    pod_group_template_name: template.name.clone(),
                }),
            }),
            scheduling_policy: template.scheduling_policy.clone(),
            ..PodGroupSpec::default()
        },
        status: None,
    }
}

fn workload_name(job: &str, uid: &str) -> String {
    // Upstream hashes Go's text of the uid.
    let hash = hash(&["(types.UID)", uid]);
    format!("{}-{hash}", prefix(job, MAX_NAME_BYTES - hash.len() - 1))
}

fn pod_group_name(workload: &str, template: &str) -> String {
    let hash = hash(&[workload, template]);
    let room = MAX_NAME_BYTES - hash.len() - 2;
    // Each has half of the room, and what the other leaves.
    let half = room / 2;
    let for_workload = (room - half).max(room.saturating_sub(template.len()));
    let workload = prefix(workload, for_workload);
    format!("{workload}-{}-{hash}", prefix(template, room - workload.len()))
}

fn hash(texts: &[&str]) -> String {
    let mut hash = NameHash::fnv1a();
    for text in texts {
        hash.add(text.as_bytes());
    }
    hash.finish()
}

fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
#[path = "gang_tests.rs"]
mod tests;
