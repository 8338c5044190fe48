//! Finalizers: a deleted object keeps existing, with a deletion timestamp, until the operator has cleaned up and removed its finalizer.
//!
//! In reconcile: while the object is not being deleted, [`ensure`] the finalizer before you create anything that needs a cleanup. When it is
//! being deleted, clean up, then [`remove`] the finalizer. The patches have the object's resource version as a precondition: after a
//! concurrent write the API server answers with a conflict, and the retried reconcile sees the newer object.

use std::sync::Arc;

use kube::{Resource, core::ObjectMeta};
use serde_json::{Value, json};

use crate::{
    Kind, NamespacedName,
    client::{Allows, ClientError, Patch, PatchBody, TypedClient},
};

/// Whether the object has the finalizer.
pub fn is_present<K: Resource>(object: &K, finalizer: &str) -> bool {
    other_finalizers(object.meta(), finalizer).count() < object.meta().finalizers.iter().flatten().count()
}

/// Adds the finalizer to the object, unless the object has it or is being deleted: API servers reject new finalizers then.
///
/// Returns the patched object, with which the same reconcile can continue. API servers require a name with a domain, such as
/// `demo.dev/cleanup`.
pub async fn ensure<K, V, At>(
    client: &TypedClient<K, V>,
    object: Arc<K>,
    finalizer: &str,
) -> Result<Arc<K>, ClientError>
where
    K: Kind + Resource,
    V: Allows<Patch, At>,
{
    let metadata = object.meta();
    if is_present(&*object, finalizer) || metadata.deletion_timestamp.is_some() {
        return Ok(object);
    }
    let finalizers: Vec<_> = other_finalizers(metadata, finalizer).chain([finalizer]).collect();
    let patched = client
        .patch(&name(metadata), &PatchBody::Merge(patch(metadata, &finalizers)))
        .await?;
    Ok(Arc::new(patched))
}

/// Removes the finalizer from the object. Sends nothing if the object does not have it; an object that no longer exists is not an error.
pub async fn remove<K, V, At>(
    client: &TypedClient<K, V>,
    object: &K,
    finalizer: &str,
) -> Result<(), ClientError>
where
    K: Kind + Resource,
    V: Allows<Patch, At>,
{
    let metadata = object.meta();
    if !is_present(object, finalizer) {
        return Ok(());
    }
    let finalizers: Vec<_> = other_finalizers(metadata, finalizer).collect();
    match client
        .patch(&name(metadata), &PatchBody::Merge(patch(metadata, &finalizers)))
        .await
    {
        Err(error) if error.is_not_found() && !error.is_kind_missing() => Ok(()),
        result => result.map(|_| ()),
    }
}

fn other_finalizers<'a>(metadata: &'a ObjectMeta, finalizer: &str) -> impl Iterator<Item = &'a str> {
    metadata
        .finalizers
        .iter()
        .flatten()
        .map(String::as_str)
        .filter(move |other| *other != finalizer)
}

fn patch(metadata: &ObjectMeta, finalizers: &[&str]) -> Value {
    json!({"metadata": {"resourceVersion": metadata.resource_version, "finalizers": finalizers}})
}

/// The object's name; an empty one, which the client rejects, if it has none yet.
fn name(metadata: &ObjectMeta) -> NamespacedName {
    NamespacedName::of(metadata).unwrap_or_else(|| NamespacedName::cluster(""))
}

#[cfg(test)]
#[path = "finalizer_tests.rs"]
mod tests;
