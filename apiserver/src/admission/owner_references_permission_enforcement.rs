//! OwnerReferencesPermissionEnforcement: owner references may be changed by users that may delete the object, and block the deletion of
//! owners whose finalizers the user may update.

use super::{Attributes, Operation};
use crate::auth::ResourceAttributes;
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

pub(super) fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
    let old = match attributes.operation {
        Operation::Update { .. } if !attributes.subresource.is_empty() => return Ok(()),
        Operation::Update { old } => Some(old),
        _ => None,
    };
    let before = old.map_or(&[][..], meta::owners);
    let owners = meta::owners(object);
    if owners == before {
        return Ok(());
    }
    let kind = attributes.kind;
    let may = |verb: &str, group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        let access = ResourceAttributes {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        };
        attributes
            .authorizer
            .allows(attributes.store, attributes.user, &access)
    };
    // The permission to create an object includes setting its owner references.
    if old.is_some()
        && !may(
            "delete",
            &kind.group,
            &kind.plural,
            "",
            attributes.namespace,
            attributes.name,
        )
    {
        let why = "cannot set an ownerRef on a resource you can't delete: , <nil>";
        return Err(attributes.forbidden(object, why));
    }
    let blocks = |owner: &&Value| owner["blockOwnerDeletion"] == true;
    let held: Vec<&Value> = before.iter().filter(blocks).map(|owner| &owner["uid"]).collect();
    for owner in owners.iter().filter(blocks) {
        if held.contains(&&owner["uid"]) {
            continue;
        }
        // A user that may finalize anything may name owners that are not served.
        if may("update", "*", "*", "finalizers", "", "*") {
            return Ok(());
        }
        let text = |key: &str| owner[key].as_str().unwrap_or_default();
        let Some(owner_kind) = attributes.catalog.kind(text("apiVersion"), text("kind")) else {
            let (version, kind_name) = (text("apiVersion"), text("kind"));
            let why = format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind \
                 {kind_name}: no matches for kind {kind_name:?} in version {version:?}"
            );
            return Err(attributes.forbidden(object, why));
        };
        let namespace = if owner_kind.namespaced {
            attributes.namespace
        } else {
            ""
        };
        let (group, plural) = (&owner_kind.group, &owner_kind.plural);
        if !may("update", group, plural, "finalizers", namespace, text("name")) {
            let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
            return Err(attributes.forbidden(object, why));
        }
    }
    Ok(())
}
