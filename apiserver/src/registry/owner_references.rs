//! The admission plugin OwnerReferencesPermissionEnforcement.

use super::{Registry, Target};
use crate::auth::{ResourceAttributes, User};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Checks the permission to change owner references: `delete` on the object, and `update` on the owner's finalizers for
    /// `blockOwnerDeletion`.
    pub(super) fn check_owner_references(
        &self,
        target: &Target,
        old: Option<&Value>,
        new: &Value,
        user: &User,
    ) -> Result<(), ApiError> {
        let before = old.map_or(&[][..], meta::owners);
        let owners = meta::owners(new);
        if owners == before {
            return Ok(());
        }
        let kind = &target.kind;
        let may =
            |verb: &str, group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
                let access = ResourceAttributes {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                };
                self.authorizer.allows(&self.store, user, &access)
            };
        // The permission to create an object includes setting its owner references.
        if old.is_some()
            && !may(
                "delete",
                &kind.group,
                &kind.plural,
                "",
                &target.namespace,
                &target.name,
            )
        {
            let why = "cannot set an ownerRef on a resource you can't delete: , <nil>";
            return Err(ApiError::forbidden(kind, &target.name, why));
        }
        let blocks = |owner: &&Value| owner["blockOwnerDeletion"] == true;
        let held: Vec<&Value> = before.iter().filter(blocks).map(|owner| &owner["uid"]).collect();
        for owner in owners.iter().filter(blocks) {
            if held.contains(&&owner["uid"]) {
                continue;
            }
            let text = |key: &str| owner[key].as_str().unwrap_or_default();
            let catalog = self.catalog();
            let Some(owner_kind) = catalog.kind(text("apiVersion"), text("kind")) else {
                let (version, kind_name) = (text("apiVersion"), text("kind"));
                let why = format!(
                    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind \
                     {kind_name}: no matches for kind {kind_name:?} in version {version:?}"
                );
                return Err(ApiError::forbidden(kind, meta::name(new), why));
            };
            let namespace = if owner_kind.namespaced {
                target.namespace.as_str()
            } else {
                ""
            };
            let (group, plural) = (&owner_kind.group, &owner_kind.plural);
            if !may("update", group, plural, "finalizers", namespace, text("name")) {
                let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
                return Err(ApiError::forbidden(kind, meta::name(new), why));
            }
        }
        Ok(())
    }
}
