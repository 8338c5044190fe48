//! Owner mapping: the owner reference of an owned object, and the keys that a change of an owned object enqueues.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, core::ObjectMeta};

use crate::{
    ApiResource, NamespacedName, Scope,
    cache::{Change, Metadata, OwnerRef},
};

/// Returns an owner reference to `owner` as the managing controller, for the `ownerReferences` of an owned object. It has
/// `blockOwnerDeletion`, which delays a foreground deletion of the owner until the object is deleted.
///
/// An owner that is not stored yet has no uid; the reference then has an empty one, which API servers reject.
///
/// `apiVersion` is that of `K`. If `K` has several versions, the operator's clients send the stored one instead, so that a new hub does not
/// change the references of all owned objects; see [`conversion`](crate::conversion). Compare an owner with [`is_controlled_by`], not the
/// reference as a whole.
pub fn controller_reference<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    let metadata = owner.meta();
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whether `owner` is the managing controller of the object with this metadata. Compares uids: an owner that was deleted and recreated
/// with the same name does not control the objects of the former one.
pub fn is_controlled_by<K: Resource<DynamicType = ()>>(metadata: &ObjectMeta, owner: &K) -> bool {
    let controller = metadata
        .owner_references
        .iter()
        .flatten()
        .find(|reference| reference.controller == Some(true));
    match (controller, &owner.meta().uid) {
        (Some(controller), Some(uid)) => controller.uid == *uid,
        _ => false,
    }
}

/// Returns the keys of kind `owner` that a change of an owned object enqueues: its controller owner before and after the change.
pub(super) fn owner_keys(
    change: &Change<'_>,
    owner: &ApiResource,
) -> impl Iterator<Item = NamespacedName> + use<> {
    let (old, new) = match *change {
        Change::Added { new, .. } => (None, Some(new)),
        // A resync: nothing changed.
        Change::Updated { old, new } if old.resource_version() == new.resource_version() => (None, None),
        Change::Updated { old, new } => (Some(old), Some(new)),
        Change::Deleted { old, .. } => (Some(old), None),
    };
    let key = |metadata: &Metadata| owner_key(metadata.controller(), metadata.name().namespace(), owner);
    let (old, new) = (old.and_then(key), new.and_then(key));
    let old = old.filter(|old| Some(old) != new.as_ref());
    [old, new].into_iter().flatten()
}

/// Returns the owner's key, if it is of kind `owner`. The API version may differ: an object is served in all versions of its kind.
fn owner_key(
    controller: Option<&OwnerRef>,
    namespace: Option<&str>,
    owner: &ApiResource,
) -> Option<NamespacedName> {
    let controller = controller?;
    let group = controller
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    if *controller.kind != *owner.kind || *group != *owner.group {
        return None;
    }
    match owner.scope {
        Scope::Cluster => Some(NamespacedName::cluster(controller.name.clone())),
        Scope::Namespaced => Some(NamespacedName::namespaced(namespace?, controller.name.clone())),
    }
}

#[cfg(test)]
#[path = "owner_mapping_tests.rs"]
mod tests;
