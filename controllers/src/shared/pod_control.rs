//! Creates and deletes the pods of an owner, and records events about them.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kubewright::{
    NamespacedName,
    client::{ClientError, Create, Delete, DeleteParams, TypedClient},
    controller::Setup,
    events::{EventType, ObjectRef, Recorder, Regarding},
};
use parking_lot::Mutex;
use serde::Deserialize;

/// The API server's limit for names, and so for their prefixes.
const MAX_NAME_BYTES: usize = 253;
/// After this length a note gets no further name. The API server's limit for notes is 1024 bytes.
const MAX_NAMES_BYTES: usize = 1000;

/// The reasons of events about pods.
pub(crate) mod reasons {
    pub(crate) const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
    pub(crate) const FAILED_CREATE: &str = "FailedCreate";
    pub(crate) const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
    pub(crate) const FAILED_DELETE: &str = "FailedDelete";
}

/// Writes pods, with events about their owner.
pub(crate) struct PodControl {
    pods: TypedClient<Pod, (Create, Delete)>,
    recorder: Recorder,
}

/// Writes pods of one owner. The end of the batch records one event about all that were created, and one about all that were deleted, where
/// upstream records one about each. A failure is an event of its own.
pub(crate) struct PodBatch<'c> {
    control: &'c PodControl,
    owner: ObjectRef,
    names: Mutex<BatchNames>,
}

#[derive(Default)]
struct BatchNames {
    created: Vec<String>,
    deleted: Vec<String>,
}

/// What is read of a created pod.
#[derive(Deserialize)]
struct CreatedPod {
    metadata: CreatedMetadata,
}

#[derive(Deserialize)]
struct CreatedMetadata {
    name: String,
}

/// The pod template has no labels, so that no selector could match its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to create pods, no labels")]
pub(crate) struct NoLabels;

impl PodControl {
    pub(crate) fn new(setup: &mut Setup) -> Self {
        Self {
            pods: setup.client(),
            recorder: setup.recorder(),
        }
    }

    /// Names this controller in the events, in place of the component.
    #[must_use]
    pub(crate) fn reporting_as(mut self, controller: &'static str) -> Self {
        self.recorder = self.recorder.reporting_as(controller);
        self
    }

    /// Begins a batch of writes.
    pub(crate) fn batch(&self, owner: &impl Regarding) -> PodBatch<'_> {
        PodBatch {
            control: self,
            owner: owner.object_ref(),
            names: Mutex::default(),
        }
    }
}

impl PodBatch<'_> {
    /// Creates a pod. Records no event if the namespace is being deleted, where every creation fails.
    pub(crate) async fn create(&self, pod: &Pod) -> Result<(), ClientError> {
        match self.control.pods.create_returning::<CreatedPod, _>(pod).await {
            Ok(created) => {
                self.names.lock().created.push(created.metadata.name);
                Ok(())
            }
            Err(error) => {
                if !error.is_namespace_terminating() {
                    self.failed(reasons::FAILED_CREATE, "creating", &error);
                }
                Err(error)
            }
        }
    }

    /// Deletes a pod by name, without preconditions, as upstream does. A missing pod is an error, without an event.
    pub(crate) async fn delete(&self, name: &NamespacedName) -> Result<(), ClientError> {
        match self.control.pods.delete(name, &DeleteParams::default()).await {
            Ok(()) => {
                self.names.lock().deleted.push(name.name().to_owned());
                Ok(())
            }
            Err(error) => {
                if !error.is_not_found() {
                    self.failed(reasons::FAILED_DELETE, "deleting", &error);
                }
                Err(error)
            }
        }
    }

    fn failed(&self, reason: &str, action: &str, error: &ClientError) {
        let note = format!("Error {action}: {}", message(error));
        let recorder = &self.control.recorder;
        recorder.event(&self.owner, EventType::Warning, reason, note);
    }
}

/// Records the events, also if the reconcile was cancelled.
impl Drop for PodBatch<'_> {
    fn drop(&mut self) {
        let BatchNames { created, deleted } = std::mem::take(self.names.get_mut());
        for (reason, action, names) in [
            (reasons::SUCCESSFUL_CREATE, "Created", created),
            (reasons::SUCCESSFUL_DELETE, "Deleted", deleted),
        ] {
            if let Some(note) = note(action, names) {
                let recorder = &self.control.recorder;
                recorder.event(&self.owner, EventType::Normal, reason, note);
            }
        }
    }
}

/// Returns the note about pods; none if there are none. It has as many names as are sure to fit.
fn note(action: &str, mut names: Vec<String>) -> Option<String> {
    if let [name] = &*names {
        return Some(format!("{action} pod: {name}"));
    }
    names.sort_unstable();
    let mut note = format!("{action} {} pods: {}", names.len(), names.first()?);
    for name in &names[1..] {
        if note.len() + name.len() > MAX_NAMES_BYTES {
            note += ", …";
            break;
        }
        note += ", ";
        note += name;
    }
    Some(note)
}

/// Returns the pod of a template, in the owner's namespace and controlled by it. The API server chooses its name.
pub(crate) fn pod_from_template(
    template: Option<&PodTemplateSpec>,
    namespace: Option<&str>,
    owner: OwnerReference,
) -> Result<Pod, NoLabels> {
    let template = template.cloned().unwrap_or_default();
    let metadata = template.metadata.unwrap_or_default();
    if metadata.labels.as_ref().is_none_or(BTreeMap::is_empty) {
        return Err(NoLabels);
    }
    Ok(Pod {
        metadata: ObjectMeta {
            generate_name: Some(name_prefix(&owner.name)),
            namespace: namespace.map(str::to_owned),
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    })
}

/// The prefix of the names of an owner's pods: its name and a dash, unless that is too long.
pub(crate) fn name_prefix(owner: &str) -> String {
    let dash = if owner.len() < MAX_NAME_BYTES { "-" } else { "" };
    format!("{owner}{dash}")
}

/// Returns the API server's message of an error, as upstream quotes it in events and conditions.
pub(crate) fn message(error: &ClientError) -> String {
    match error.status() {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}

/// Whether the API server may have carried out the request that failed.
pub(crate) fn is_outcome_unknown(error: &ClientError) -> bool {
    error.is_unanswered() || error.status().is_some_and(|status| status.code >= 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> OwnerReference {
        OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: "ReplicaSet".to_owned(),
            name: name.to_owned(),
            uid: "1".to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    fn template(labels: &[(&str, &str)]) -> PodTemplateSpec {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        PodTemplateSpec {
            metadata: Some(ObjectMeta {
                name: Some("ignored".to_owned()),
                labels: Some(labels.collect()),
                annotations: Some(BTreeMap::from([("team".to_owned(), "data".to_owned())])),
                finalizers: Some(vec!["example.com/finalizer".to_owned()]),
                ..ObjectMeta::default()
            }),
            spec: Some(k8s_openapi::api::core::v1::PodSpec::default()),
        }
    }

    #[test]
    fn pod_has_the_templates_metadata_and_a_controller() {
        let template = template(&[("app", "web")]);
        let pod = pod_from_template(Some(&template), Some("shop"), owner("web")).unwrap();
        let (metadata, of_template) = (pod.metadata, template.metadata.unwrap());
        assert_eq!(metadata.name, None);
        assert_eq!(metadata.generate_name.as_deref(), Some("web-"));
        assert_eq!(metadata.namespace.as_deref(), Some("shop"));
        assert_eq!(metadata.labels, of_template.labels);
        assert_eq!(metadata.annotations, of_template.annotations);
        assert_eq!(metadata.finalizers, of_template.finalizers);
        assert_eq!(metadata.owner_references, Some(vec![owner("web")]));
        assert_eq!(pod.spec, template.spec);
    }

    #[test]
    fn templates_without_labels_make_no_pods() {
        for template in [None, Some(template(&[]))] {
            let pod = pod_from_template(template.as_ref(), Some("shop"), owner("web"));
            assert_eq!(pod, Err(NoLabels));
        }
    }

    #[test]
    fn note_names_all_pods_that_fit() {
        let names = |count: usize| {
            (0..count)
                .map(|number| format!("web-{number:04}"))
                .rev()
                .collect()
        };
        assert_eq!(note("Created", names(0)), None);
        assert_eq!(note("Created", names(1)).unwrap(), "Created pod: web-0000");
        assert_eq!(
            note("Deleted", names(3)).unwrap(),
            "Deleted 3 pods: web-0000, web-0001, web-0002"
        );
        let long = note("Created", names(500)).unwrap();
        assert!(
            long.starts_with("Created 500 pods: web-0000, web-0001,"),
            "{long}"
        );
        assert!(long.ends_with(", web-0097, …") && long.len() <= 1024, "{long}");
    }

    #[test]
    fn long_names_get_no_dash() {
        assert_eq!(name_prefix(&"a".repeat(252)), format!("{}-", "a".repeat(252)));
        assert_eq!(name_prefix(&"a".repeat(253)), "a".repeat(253));
    }
}
