//! Who may say who owns an object: the admission plugin OwnerReferencesPermissionEnforcement.

use super::{Registry, Target};
use crate::auth::{Access, User};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Owners may be changed by who may delete the object, and may hold back their own deletion for it if the user may set their
    /// finalizers.
    pub(super) fn admit_owners(
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
                let access = Access {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                };
                self.authorizer.allows(&self.store, user, &access)
            };
        // A new object's owners may be set by who may create it.
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
