//! Pod templates: which ReplicaSet has a Deployment's template, and the hash that names a new one.

use std::borrow::Cow;

use k8s_openapi::{
    api::core::v1::{PodSpec, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::Value;

use crate::shared::{name_hash::NameHash, semantic};

/// The label that distinguishes the pods of a Deployment's ReplicaSets.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// The API server's limit for the names of ReplicaSets.
const MAX_NAME_BYTES: usize = 253;

/// Whether two templates are equal but for the hash label, which a Deployment's own template lacks.
pub(super) fn equal(left: &PodTemplateSpec, right: &PodTemplateSpec) -> bool {
    metadata_equal(left.metadata.as_ref(), right.metadata.as_ref())
        && specs_equal(left.spec.as_ref(), right.spec.as_ref())
}

fn specs_equal(left: Option<&PodSpec>, right: Option<&PodSpec>) -> bool {
    left == right || semantic::equal(&json(&left), &json(&right))
}

fn metadata_equal(left: Option<&ObjectMeta>, right: Option<&ObjectMeta>) -> bool {
    left == right || semantic::equal(&json(&left.map(without_hash)), &json(&right.map(without_hash)))
}

fn without_hash(metadata: &ObjectMeta) -> Cow<'_, ObjectMeta> {
    let has_hash = metadata
        .labels
        .as_ref()
        .is_some_and(|labels| labels.contains_key(HASH_LABEL));
    if !has_hash {
        return Cow::Borrowed(metadata);
    }
    let mut metadata = metadata.clone();
    if let Some(labels) = &mut metadata.labels {
        labels.remove(HASH_LABEL);
    }
    Cow::Owned(metadata)
}

/// Types of Kubernetes serialize.
fn json(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Returns the hash of a template, which names its ReplicaSet. After a collision of names the count leads to another hash.
///
/// It is not the hash that upstream computes, which is over a printed Go struct: that depends on the names, types and order of Go's fields
/// and changes with each version of Kubernetes. No controller compares hashes: a ReplicaSet is found by its template. This one is over the
/// template's JSON, with the same function and alphabet. So a new ReplicaSet of this controller has another name than upstream's, and an
/// existing one keeps its name, whoever made it.
pub(super) fn hash(template: &PodTemplateSpec, collision_count: Option<i32>) -> String {
    let mut hash = NameHash::fnv1a();
    // The hash accepts every write, and types of Kubernetes serialize.
    let _ = serde_json::to_writer(&mut hash, template);
    if let Some(count) = collision_count {
        hash.add(&count.to_le_bytes());
    }
    hash.finish()
}

/// Returns the name of a Deployment's ReplicaSet. A long name is shortened.
pub(super) fn replica_set_name(deployment: &str, hash: &str) -> String {
    let room = MAX_NAME_BYTES.saturating_sub(1 + hash.len());
    let kept = if room == 0 {
        deployment.len()
    } else {
        deployment.floor_char_boundary(room)
    };
    format!("{}-{hash}", &deployment[..kept])
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
