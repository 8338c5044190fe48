//! Finds and creates the Workload and the PodGroup of a Job.

use k8s_openapi::api::{
    batch::v1::{Job, JobStatus},
    scheduling::v1alpha2::{PodGroup, Workload},
};
use kubewright::{
    Kind,
    cache::{IndexKey, Lister, LookupError, Object, SharedInformer},
    client::{ClientError, Create, TypedClient},
    controller::{ReconcileError, Setup, is_controlled_by},
    events::{EventType, Recorder},
};

use super::{gang, rules::JobRules};

const BY_JOB: &str = "by job";
const BY_WORKLOAD: &str = "by workload";

/// Reads and creates Workloads and PodGroups.
pub(super) struct GangObjects {
    workloads: Lister<Workload>,
    groups: Lister<PodGroup>,
    workload_creator: TypedClient<Workload, (Create,)>,
    group_creator: TypedClient<PodGroup, (Create,)>,
    recorder: Recorder,
}

impl GangObjects {
    pub(super) fn new(setup: &mut Setup) -> Self {
        let workloads = setup.informers().of::<Workload>();
        let groups = setup.informers().of::<PodGroup>();
        add_index(&workloads, BY_JOB, gang::job_of);
        add_index(&groups, BY_WORKLOAD, gang::workload_of);
        Self {
            workloads: workloads.lister(),
            groups: groups.lister(),
            workload_creator: setup.client(),
            group_creator: setup.client(),
            recorder: setup.recorder(),
        }
    }

    /// Returns the PodGroup of a Job's pods, created if the Job is new. None if the pods are scheduled one by one.
    pub(super) async fn pod_group(
        &self,
        job: &Job,
        rules: &JobRules<'_>,
        status: &JobStatus,
        pods: usize,
    ) -> Result<Option<PodGroup>, ReconcileError> {
        if !gang::is_gang(job, rules) {
            return Ok(None);
        }
        let Some(workload) = self.workload(job, rules, status, pods).await? else {
            return Ok(None);
        };
        let [template] = &*workload.spec.pod_group_templates else {
            tracing::debug!(workload = ?workload.metadata.name, "the workload has not one pod group, but several or none");
            return Ok(None);
        };
        let found = find(&self.groups, BY_WORKLOAD, job, workload.metadata.name.as_deref())?;
        match found.as_slice() {
            [] => {
                let group = gang::pod_group(job, &workload, template);
                Ok(Some(self.group_creator.create(&group).await?))
            }
            [group] if is_controlled_by(&group.metadata, job) => Ok(Some(group.clone())),
            _ => Ok(None),
        }
    }

    async fn workload(
        &self,
        job: &Job,
        rules: &JobRules<'_>,
        status: &JobStatus,
        pods: usize,
    ) -> Result<Option<Workload>, ReconcileError> {
        let found = find(&self.workloads, BY_JOB, job, job.metadata.name.as_deref())?;
        match found.as_slice() {
            [] if gang::is_new(status, pods) => Ok(Some(self.create_workload(job, rules).await?)),
            [workload] if is_controlled_by(&workload.metadata, job) => Ok(Some(workload.clone())),
            [] | [_] => Ok(None),
            several => {
                tracing::warn!(job = ?job.metadata.name, count = several.len(), "several workloads refer to the job, which is scheduled without");
                Ok(None)
            }
        }
    }

    async fn create_workload(&self, job: &Job, rules: &JobRules<'_>) -> Result<Workload, ClientError> {
        let created = self.workload_creator.create(&gang::workload(job, rules)).await?;
        let (workload, job_name) = (
            created.metadata.name.as_deref().unwrap_or_default(),
            job.metadata.name.as_deref().unwrap_or_default(),
        );
        let note = format!("Created Workload {workload} for Job {job_name}");
        self.recorder
            .event(job, EventType::Normal, "WorkloadCreated", note);
        Ok(created)
    }
}

fn add_index<K: Kind>(
    informer: &SharedInformer<K>,
    name: &str,
    owner: impl Fn(&K) -> Option<&str> + Send + Sync + 'static,
) {
    let key = move |object: &Object<K>| {
        let decoded = object.decode().map_err(|error| error.to_string())?;
        let owner = owner(&decoded).map(|owner| index_key(object.name().namespace(), owner));
        Ok::<_, String>(owner)
    };
    if let Err(error) = informer.add_index_function(name, key) {
        tracing::error!("{error}");
    }
}

fn find<K: Kind + Clone>(
    lister: &Lister<K>,
    index: &str,
    job: &Job,
    owner: Option<&str>,
) -> Result<Vec<K>, LookupError> {
    let key = index_key(job.metadata.namespace.as_deref(), owner.unwrap_or_default());
    let found = lister.by_index(index, key)?;
    found.map(|object| Ok((*object?).clone())).collect()
}

fn index_key(namespace: Option<&str>, name: &str) -> IndexKey {
    IndexKey::from(&*format!("{}/{name}", namespace.unwrap_or_default()))
}
