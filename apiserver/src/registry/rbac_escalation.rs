//! RBAC escalation check: users cannot grant permissions that they do not have.

use super::{Registry, Target};
use crate::auth::{EscalationError, ResourceAttributes, User, check_escalation};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";

impl Registry {
    /// Refuses a role or a binding that grants more than the user's permissions, unless a rule allows `escalate` or `bind`.
    pub(super) fn check_rbac_escalation(
        &self,
        target: &Target,
        old: Option<&Value>,
        new: &Value,
        user: &User,
    ) -> Result<(), ApiError> {
        let kind = &target.kind;
        let (verb, resource, name) = match (kind.group.as_str(), kind.kind.as_str()) {
            (GROUP, "Role" | "ClusterRole") => ("escalate", kind.plural.as_str(), target.name.as_str()),
            (GROUP, "RoleBinding" | "ClusterRoleBinding") => {
                let role = &new["roleRef"];
                let resource = match role["kind"].as_str() {
                    Some("Role") => "roles",
                    _ => "clusterroles",
                };
                ("bind", resource, role["name"].as_str().unwrap_or_default())
            }
            _ => return Ok(()),
        };
        if old.is_some_and(|old| only_garbage_collected(old, new)) {
            return Ok(());
        }
        let access = ResourceAttributes {
            verb,
            group: GROUP,
            resource,
            subresource: "",
            namespace: &target.namespace,
            name,
        };
        if self.authorizer.allows(&self.store, user, &access) {
            return Ok(());
        }
        match check_escalation(&self.store, user, new, &target.namespace) {
            Ok(()) => Ok(()),
            Err(EscalationError::RoleNotFound(role)) => Err(ApiError::not_found(kind, &role)),
            Err(EscalationError::PermissionsNotHeld(why)) => {
                Err(ApiError::forbidden(kind, meta::name(new), why))
            }
        }
    }
}

/// True if only fields changed that the garbage collector updates.
fn only_garbage_collected(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        let metadata = meta::metadata_mut(&mut object);
        for key in ["ownerReferences", "finalizers", "managedFields"] {
            metadata.remove(key);
        }
        object
    };
    rest(old) == rest(new)
}
