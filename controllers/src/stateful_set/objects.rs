//! Pods and claims, as they are created and corrected.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kubewright::controller::controller_reference;

use super::identity::{POD_INDEX_LABEL, POD_NAME_LABEL, REVISION_LABEL, claim_name, pod_name};
use crate::shared::pod_control::{NoLabels, pod_from_template};

/// Returns the pod with this ordinal, of the template and the name of a revision.
pub(super) fn new_pod(
    set: &StatefulSet,
    template: &PodTemplateSpec,
    revision: &str,
    ordinal: i64,
) -> Result<Pod, NoLabels> {
    let owner = controller_reference(set);
    let name = pod_name(&owner.name, ordinal);
    let mut pod = pod_from_template(Some(template), set.metadata.namespace.as_deref(), owner)?;
    pod.metadata.name = Some(name.clone());
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION_LABEL.to_owned(), revision.to_owned());
    set_identity(&mut pod, &name, ordinal);
    set_volumes(&mut pod, set, ordinal);
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(name);
    spec.subdomain = set.spec.as_ref().and_then(|spec| spec.service_name.clone());
    Ok(pod)
}

/// Corrects the labels and the volumes of a pod.
pub(super) fn correct_pod(pod: &mut Pod, set: &StatefulSet, ordinal: i64) {
    let name = pod.metadata.name.clone().unwrap_or_default();
    set_identity(pod, &name, ordinal);
    if !has_volumes(pod, set, ordinal) {
        set_volumes(pod, set, ordinal);
    }
}

fn set_identity(pod: &mut Pod, name: &str, ordinal: i64) {
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(POD_NAME_LABEL.to_owned(), name.to_owned());
    labels.insert(POD_INDEX_LABEL.to_owned(), ordinal.to_string());
}

fn has_volumes(pod: &Pod, set: &StatefulSet, ordinal: i64) -> bool {
    let mounted: Vec<_> = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten())
        .collect();
    claim_volumes(set, ordinal).all(|volume| mounted.contains(&&volume))
}

/// Puts the volumes of the claims before those of the template. They replace volumes of the same name.
fn set_volumes(pod: &mut Pod, set: &StatefulSet, ordinal: i64) {
    let mut volumes: Vec<Volume> = claim_volumes(set, ordinal).collect();
    let spec = pod.spec.get_or_insert_default();
    let others = spec.volumes.take().into_iter().flatten();
    let others: Vec<_> = others
        .filter(|other| volumes.iter().all(|volume| volume.name != other.name))
        .collect();
    volumes.extend(others);
    spec.volumes = Some(volumes).filter(|volumes| !volumes.is_empty());
}

fn claim_volumes(set: &StatefulSet, ordinal: i64) -> impl Iterator<Item = Volume> {
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    claim_templates(set).iter().map(move |template| {
        let name = template.metadata.name.as_deref().unwrap_or_default();
        Volume {
            name: name.to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim_name(name, set_name, ordinal),
                read_only: None,
            }),
            ..Volume::default()
        }
    })
}

/// Returns the claim of a template for the pod with this ordinal.
pub(super) fn new_claim(
    set: &StatefulSet,
    template: &PersistentVolumeClaim,
    ordinal: i64,
    owners: Vec<OwnerReference>,
) -> PersistentVolumeClaim {
    let mut claim = template.clone();
    let metadata = &mut claim.metadata;
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    let template_name = metadata.name.as_deref().unwrap_or_default();
    metadata.name = Some(claim_name(template_name, set_name, ordinal));
    metadata.namespace.clone_from(&set.metadata.namespace);
    let selected = set
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.match_labels.clone());
    let mut labels: BTreeMap<_, _> = metadata.labels.take().unwrap_or_default();
    labels.extend(selected.unwrap_or_default());
    metadata.labels = Some(labels).filter(|labels| !labels.is_empty());
    if !owners.is_empty() {
        metadata.owner_references.get_or_insert_default().extend(owners);
    }
    claim
}

/// Returns the claim templates of a set.
pub(super) fn claim_templates(set: &StatefulSet) -> &[PersistentVolumeClaim] {
    let templates = set
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_claim_templates.as_ref());
    templates.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
