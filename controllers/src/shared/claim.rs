//! Claiming: an owner adopts orphans that its selector matches, and releases dependents that it no longer matches. Upstream's
//! `ControllerRefManager`.

use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubewright::{
    Kind, NamespacedName, View,
    cache::{Metadata, Object},
    client::{ClientError, Patch, PatchBody, TypedClient},
    controller::ReconcileError,
};
use serde_json::{Value, json};

/// How many patches of one owner are sent concurrently.
const MAX_CONCURRENT_PATCHES: usize = 16;

/// What is to be done about one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is the owner's.
    Keep,
    /// It has no controller, and the selector matches: it becomes the owner's.
    Adopt,
    /// It is the owner's, and the selector does not match any more.
    Release,
    /// It has another controller, or the selector does not match.
    Ignore,
}

/// Decides about an object. An owner that is being deleted neither adopts nor releases.
pub(crate) fn decide(
    owner_uid: &str,
    owner_is_deleting: bool,
    object: &Metadata,
    is_selected: bool,
) -> Claim {
    let controller = object.controller().map(|controller| &*controller.uid);
    decide_by(
        owner_uid,
        owner_is_deleting,
        controller,
        object.is_deleting(),
        is_selected,
    )
}

fn decide_by(
    owner_uid: &str,
    owner_is_deleting: bool,
    controller_uid: Option<&str>,
    is_deleting: bool,
    is_selected: bool,
) -> Claim {
    match controller_uid {
        Some(uid) if uid != owner_uid => Claim::Ignore,
        Some(_) if is_selected => Claim::Keep,
        Some(_) if owner_is_deleting => Claim::Ignore,
        Some(_) => Claim::Release,
        None if owner_is_deleting || is_deleting || !is_selected => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The owner, as claims need it.
pub(crate) struct ClaimOwner<'o> {
    /// What dependents get: kind, name and uid of the owner, as their controller.
    pub(crate) reference: &'o OwnerReference,
    pub(crate) is_deleting: bool,
    /// Finalizers that an adopted object gets.
    pub(crate) finalizers: &'o [&'o str],
}

/// What is claimed: a cached object, or a value that has one.
pub(crate) trait Claimable {
    fn metadata(&self) -> &Metadata;
}

impl<K: View> Claimable for Object<K> {
    fn metadata(&self) -> &Metadata {
        Object::metadata(self)
    }
}

/// Claims objects: returns those that are the owner's, adopted ones included.
///
/// `can_adopt` reads the owner from the API server, once and only before the first adoption: the cache may not show yet that it is being
/// deleted, or replaced by another of the same name; see [`check_adopter`]. An object that is gone is left out. A failed patch does not
/// stop the others.
pub(crate) async fn claim<K, T, F>(
    owner: &ClaimOwner<'_>,
    objects: Vec<T>,
    is_selected: impl Fn(&Metadata) -> bool,
    client: &TypedClient<K, (Patch,)>,
    can_adopt: impl FnOnce() -> F,
) -> Result<Vec<T>, ReconcileError>
where
    K: Kind,
    T: Claimable,
    F: Future<Output = Result<(), ReconcileError>>,
{
    let (mut kept, mut adopted, mut released) = (Vec::with_capacity(objects.len()), Vec::new(), Vec::new());
    for object in objects {
        let metadata = object.metadata();
        match decide(
            &owner.reference.uid,
            owner.is_deleting,
            metadata,
            is_selected(metadata),
        ) {
            Claim::Keep => kept.push(object),
            Claim::Adopt => adopted.push(object),
            Claim::Release => released.push(object),
            Claim::Ignore => {}
        }
    }
    if adopted.is_empty() && released.is_empty() {
        return Ok(kept);
    }
    let mut failure = None;
    if !adopted.is_empty()
        && let Err(error) = can_adopt().await
    {
        failure = Some(error);
        adopted.clear();
    }
    let released = released.into_iter().map(|object| (object, Claim::Release));
    let adopted = adopted.into_iter().map(|object| (object, Claim::Adopt));
    let patches = released.chain(adopted).map(|(object, claim)| async move {
        let name = object.metadata().name();
        let patched = match claim {
            Claim::Release => {
                let patch = release(owner, object.metadata().uid());
                send(client, name, patch, true).await.map(|_| false)
            }
            _ => send(client, name, adoption(owner, object.metadata().uid()), false).await,
        };
        patched.map(|is_owned| is_owned.then_some(object))
    });
    let mut patches = stream::iter(patches).buffer_unordered(MAX_CONCURRENT_PATCHES);
    while let Some(patched) = patches.next().await {
        match patched {
            Ok(object) => kept.extend(object),
            Err(error) => {
                failure.get_or_insert(error.into());
            }
        }
    }
    drop(patches);
    failure.map_or(Ok(kept), Err)
}

/// Checks the owner as the API server has it: it must be the same object, and not be deleted.
pub(crate) fn check_adopter(owner: &OwnerReference, fresh: &ObjectMeta) -> Result<(), ReconcileError> {
    let OwnerReference { kind, name, uid, .. } = owner;
    let fresh_uid = fresh.uid.as_deref().unwrap_or_default();
    if fresh_uid != uid {
        return Err(ReconcileError::new(format_args!(
            "original {kind} {name} is gone: got uid {fresh_uid}, wanted {uid}"
        )));
    }
    match &fresh.deletion_timestamp {
        Some(time) => Err(ReconcileError::new(format_args!(
            "{kind} {name} has just been deleted at {}",
            time.0
        ))),
        None => Ok(()),
    }
}

/// Sends a patch; false if the object is gone. A release of an object that lost its reference, or was replaced, is invalid: nothing is left to do.
async fn send<K: Kind>(
    client: &TypedClient<K, (Patch,)>,
    name: &NamespacedName,
    patch: Value,
    may_be_invalid: bool,
) -> Result<bool, ClientError> {
    match client.patch(name, &PatchBody::Strategic(patch)).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) if may_be_invalid && error.is_invalid() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The uid in a patch is a precondition: it does not change another object of the same name.
fn adoption(owner: &ClaimOwner<'_>, uid: &str) -> Value {
    let mut metadata = json!({"uid": uid, "ownerReferences": [owner.reference]});
    if !owner.finalizers.is_empty() {
        metadata["finalizers"] = json!(owner.finalizers);
    }
    json!({ "metadata": metadata })
}

fn release(owner: &ClaimOwner<'_>, uid: &str) -> Value {
    let mut metadata =
        json!({"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner.reference.uid}]});
    if !owner.finalizers.is_empty() {
        metadata["$deleteFromPrimitiveList/finalizers"] = json!(owner.finalizers);
    }
    json!({ "metadata": metadata })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn reference() -> OwnerReference {
        OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: "ReplicaSet".to_owned(),
            name: "web".to_owned(),
            uid: "owner".to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    #[test]
    fn objects_are_claimed_as_upstream_does() {
        let (ours, others) = (Some("owner"), Some("other"));
        for (controller, owner_deleting, deleting, selected, expected) in [
            (others, false, false, true, Claim::Ignore),
            (ours, false, false, true, Claim::Keep),
            (ours, true, true, true, Claim::Keep),
            (ours, false, false, false, Claim::Release),
            (ours, true, false, false, Claim::Ignore),
            (None, false, false, true, Claim::Adopt),
            (None, false, false, false, Claim::Ignore),
            (None, true, false, true, Claim::Ignore),
            (None, false, true, true, Claim::Ignore),
        ] {
            let claim = decide_by("owner", owner_deleting, controller, deleting, selected);
            assert_eq!(
                claim, expected,
                "{controller:?} owner deleting {owner_deleting} deleting {deleting} selected {selected}"
            );
        }
    }

    #[test]
    fn only_the_same_owner_that_is_not_deleted_may_adopt() {
        let owner = reference();
        let fresh = |uid: &str, deleted: Option<&str>| ObjectMeta {
            uid: Some(uid.to_owned()),
            deletion_timestamp: deleted.map(|time| Time(time.parse().unwrap())),
            ..ObjectMeta::default()
        };
        assert!(check_adopter(&owner, &fresh("owner", None)).is_ok());
        for (uid, deleted, expected) in [
            (
                "other",
                None,
                "original ReplicaSet web is gone: got uid other, wanted owner",
            ),
            (
                "owner",
                Some("2026-05-01T00:00:00Z"),
                "ReplicaSet web has just been deleted at 2026-05-01T00:00:00Z",
            ),
        ] {
            let error = check_adopter(&owner, &fresh(uid, deleted)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn patches_have_the_uid_as_a_precondition() {
        let reference = reference();
        let owner = ClaimOwner {
            reference: &reference,
            is_deleting: false,
            finalizers: &["batch.kubernetes.io/job-tracking"],
        };
        assert_eq!(
            adoption(&owner, "pod"),
            json!({"metadata": {
                "uid": "pod",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "owner",
                    "controller": true, "blockOwnerDeletion": true}],
                "finalizers": ["batch.kubernetes.io/job-tracking"],
            }})
        );
        assert_eq!(
            release(&owner, "pod"),
            json!({"metadata": {
                "uid": "pod",
                "ownerReferences": [{"$patch": "delete", "uid": "owner"}],
                "$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"],
            }})
        );
    }
}
