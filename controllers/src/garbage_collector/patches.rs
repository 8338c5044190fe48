//! Patches of owner references and finalizers.
//!
//! Built-in kinds take a strategic merge patch, which names the references by uid and is independent of other changes. Custom resources
//! refuse it with 415: they get the whole list, with the resource version that it was read at.

use kubewright::cache::Metadata;
use serde_json::{Value, json};

use super::graph::ObjectKey;
use crate::shared::metadata_client::{MetadataClient, has_code};

/// Removes the references to these owners. Does nothing if the object is gone.
pub(super) async fn remove_owners(
    client: &MetadataClient,
    key: &ObjectKey,
    owners: &[&str],
) -> Result<(), kube::Error> {
    let removed: Vec<_> = owners
        .iter()
        .map(|uid| json!({"$patch": "delete", "uid": uid}))
        .collect();
    change_owners(client, key, removed, |list| {
        list.retain(|owner| !owner["uid"].as_str().is_some_and(|uid| owners.contains(&uid)));
    })
    .await
}

/// Makes all references of an object non-blocking.
pub(super) async fn unblock_owners(
    client: &MetadataClient,
    key: &ObjectKey,
    object: &Metadata,
) -> Result<(), kube::Error> {
    let blocking = object
        .owner_references()
        .iter()
        .filter(|owner| owner.block_owner_deletion);
    let unblocked = blocking.map(|owner| {
        json!({
            "apiVersion": *owner.api_version, "kind": *owner.kind, "name": *owner.name, "uid": *owner.uid,
            "blockOwnerDeletion": false,
        })
    });
    change_owners(client, key, unblocked.collect(), |list| {
        for owner in list {
            owner["blockOwnerDeletion"] = Value::Bool(false);
        }
    })
    .await
}

/// Removes a finalizer from the object, as the cache knows it. A conflict means that the cache is behind.
pub(super) async fn remove_finalizer(
    client: &MetadataClient,
    key: &ObjectKey,
    object: &Metadata,
    finalizer: &str,
) -> Result<(), kube::Error> {
    let left: Vec<_> = object.finalizers().filter(|known| *known != finalizer).collect();
    let patch = json!({"metadata": {"resourceVersion": object.resource_version(), "finalizers": left}});
    ignore_gone(client.merge_patch(&key.kind, &key.name, &patch).await.map(drop))
}

async fn change_owners(
    client: &MetadataClient,
    key: &ObjectKey,
    changes: Vec<Value>,
    change: impl FnOnce(&mut Vec<Value>),
) -> Result<(), kube::Error> {
    let patch = json!({"metadata": {"uid": *key.uid, "ownerReferences": changes}});
    match client.strategic_patch(&key.kind, &key.name, &patch).await {
        Err(error) if has_code(&error, 415) => {}
        patched => return ignore_gone(patched.map(drop)),
    }
    let Some(live) = client.get(&key.kind, &key.name).await? else {
        return Ok(());
    };
    if live.metadata.uid.as_deref() != Some(&*key.uid) {
        return Ok(());
    }
    let owners = serde_json::to_value(&live.metadata.owner_references).map_err(kube::Error::SerdeError)?;
    let Value::Array(mut owners) = owners else {
        return Ok(());
    };
    change(&mut owners);
    let patch =
        json!({"metadata": {"resourceVersion": live.metadata.resource_version, "ownerReferences": owners}});
    ignore_gone(client.merge_patch(&key.kind, &key.name, &patch).await.map(drop))
}

fn ignore_gone(outcome: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match outcome {
        Err(error) if has_code(&error, 404) => Ok(()),
        outcome => outcome,
    }
}
