//! Permissions for params: users cannot make admission policies read what they cannot read themselves.

use super::Registry;
use super::write::Write;
use crate::auth::{ResourceAttributes, User};
use crate::meta::text;
use crate::status::Cause;
use serde_json::Value;

impl Registry {
    /// Returns why the user may not write a policy with these params, or a binding that refers to these.
    pub(super) fn check_param_access(&self, write: &Write<'_>, new: &Value) -> Option<Cause> {
        let kind = &write.target.kind;
        if kind.group != "admissionregistration.k8s.io" || !write.subresource.is_empty() {
            return None;
        }
        let (user, before) = (write.context.user, write.before());
        let is_same = |field: &str| before.is_some_and(|before| before["spec"][field] == new["spec"][field]);
        match kind.kind.as_str() {
            "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
                let param_kind = &new["spec"]["paramKind"];
                if param_kind.is_null() || is_same("paramKind") {
                    return None;
                }
                let why = self.policy_access(param_kind, user)?;
                Some(Cause::forbidden("spec.paramKind", why))
            }
            "ValidatingAdmissionPolicyBinding" => {
                let reference = &new["spec"]["paramRef"];
                if reference.is_null() || (is_same("paramRef") && is_same("policyName")) {
                    return None;
                }
                let why = self.binding_access(text(&new["spec"], "policyName"), reference, user)?;
                Some(Cause::forbidden("spec.paramRef", why))
            }
            _ => None,
        }
    }

    fn policy_access(&self, param_kind: &Value, user: &User) -> Option<String> {
        let (version, kind) = (text(param_kind, "apiVersion"), text(param_kind, "kind"));
        let resource = self.resource_of(param_kind);
        let access = ResourceAttributes {
            verb: "get",
            group: group_of(version),
            resource: resource.as_deref().unwrap_or("*"),
            subresource: "",
            namespace: "*",
            name: "*",
        };
        (!self.authorizer.allows(&self.store, user, &access)).then(|| {
            format!(
                "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={kind}, apiVersion={version})",
                described(user)
            )
        })
    }

    fn binding_access(&self, policy: &str, reference: &Value, user: &User) -> Option<String> {
        let policies = "validatingadmissionpolicies.admissionregistration.k8s.io";
        let found = self.store.get(policies, policy);
        let param_kind = found.as_ref().map(|policy| &policy.value()["spec"]["paramKind"]);
        let param_kind = param_kind.filter(|kind| !kind.is_null());
        let resource = param_kind.and_then(|kind| self.resource_of(kind));
        let name = text(reference, "name");
        let verb = if name.is_empty() { "list" } else { "get" };
        let access = ResourceAttributes {
            verb,
            group: param_kind.map_or("*", |kind| group_of(text(kind, "apiVersion"))),
            resource: resource.as_deref().unwrap_or("*"),
            subresource: "",
            namespace: text(reference, "namespace"),
            name,
        };
        if self.authorizer.allows(&self.store, user, &access) {
            return None;
        }
        let user = described(user);
        let all = format!("does not have \"{verb}\" permission for all groups, versions and resources");
        let minimum = "to determine minimum required permissions and user";
        Some(match (&found, param_kind, resource) {
            (None, ..) => format!("unable to get policy {policy} {minimum} {user} {all}"),
            (_, Some(kind), None) => {
                let (version, kind) = (text(kind, "apiVersion"), text(kind, "kind"));
                format!("unable to resolve paramKind &{{{version} {kind}}} {minimum} {user} {all}")
            }
            _ => format!(
                "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
            ),
        })
    }

    fn resource_of(&self, param_kind: &Value) -> Option<String> {
        let catalog = self.catalog();
        let kind = catalog.kind(text(param_kind, "apiVersion"), text(param_kind, "kind"));
        kind.map(|kind| kind.plural.clone())
    }
}

fn group_of(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The user as Go prints it.
fn described(user: &User) -> String {
    let extra = user
        .extra
        .iter()
        .map(|(key, values)| format!("{key}:[{}]", values.join(" ")));
    let extra = extra.collect::<Vec<_>>().join(" ");
    format!(
        "&{{{} {} [{}] map[{extra}]}}",
        user.name,
        user.uid,
        user.groups.join(" ")
    )
}
