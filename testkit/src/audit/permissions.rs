//! Checks whether an identity has exactly the permissions that it needs.

use super::event::AuditEvent;
use super::log::AuditLog;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::{self, Write as _};

/// Permissions that belong together, such as an informer's list and watch, or an apply's patch and create. A unit counts as used if one of
/// its verbs was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionUnit {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource: `foos`, `foos/status`, `foos/finalizers`.
    pub resource: String,
    /// The RBAC verbs.
    pub verbs: Vec<String>,
    /// The namespace in which the permissions are granted; none for all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The names of the objects; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Whether only admission asks for it, as OwnerReferencesPermissionEnforcement does for delete on an object whose owner references
    /// change. The audit log does not show that, so the unit counts as used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_never_requested: bool,
}

impl PermissionUnit {
    /// Creates a unit for all namespaces.
    pub fn new<V: Into<String>>(
        group: impl Into<String>,
        resource: impl Into<String>,
        verbs: impl IntoIterator<Item = V>,
    ) -> Self {
        let verbs = verbs.into_iter().map(Into::into).collect();
        Self {
            group: group.into(),
            resource: resource.into(),
            verbs,
            namespace: None,
            names: Vec::new(),
            is_never_requested: false,
        }
    }

    /// Restricts the unit to a namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Restricts the unit to objects of these names. Lists and watches name an object by their field selector.
    pub fn of_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    fn covers(&self, event: &AuditEvent) -> bool {
        self.group == event.api_group
            && self.resource == event.rbac_resource()
            && self.verbs.contains(&event.verb)
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| *namespace == event.namespace)
            && (self.names.is_empty() || self.names.contains(&event.name))
    }
}

/// `get,list on apps deployments in shop`
impl fmt::Display for PermissionUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() {
            "core"
        } else {
            &self.group
        };
        write!(f, "{} on {group} {}", self.verbs.join(","), self.resource)?;
        if !self.names.is_empty() {
            write!(f, " {}", self.names.join(","))?;
        }
        self.namespace
            .iter()
            .try_for_each(|namespace| write!(f, " in {namespace}"))
    }
}

/// A difference between permissions and requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PermissionMismatch(String);

impl AuditLog {
    /// Returns the units that no successful request of the user has used.
    ///
    /// Update on `<plural>/finalizers` is never requested directly: with OwnerReferencesPermissionEnforcement, the API server checks it for
    /// writes of objects with a blocking owner reference, and such a write uses the unit of the owner's kind. The owner's plural is looked
    /// up in this log, which therefore must be unfiltered, and in which some user, usually the test, must have written an object of that
    /// kind.
    pub fn unused_units<'units>(
        &self,
        units: &'units [PermissionUnit],
        user: &str,
    ) -> Vec<&'units PermissionUnit> {
        let plurals = self.plurals();
        let allowed = self.by_user(user).filter(|event| !event.is_rejected());
        let is_used = |unit: &PermissionUnit| {
            unit.is_never_requested
                || allowed
                    .iter()
                    .any(|event| unit.covers(event) || uses_finalizers_permission(unit, event, &plurals))
        };
        units.iter().filter(|unit| !is_used(unit)).collect()
    }

    /// Checks that no request of the user was forbidden. It is also an error if the log has no request of the user: then the name is wrong,
    /// or the user has not started.
    pub fn check_nothing_forbidden(&self, user: &str) -> Result<(), PermissionMismatch> {
        self.check_exact(&[], user)
    }

    /// Checks that no request of the user was forbidden, and that the user has used every unit.
    pub fn check_exact(&self, units: &[PermissionUnit], user: &str) -> Result<(), PermissionMismatch> {
        let requests = self.by_user(user);
        if requests.is_empty() {
            return Err(PermissionMismatch(format!(
                "the audit log has no request of `{user}`: check the name, or wait until it has sent one"
            )));
        }
        let mut text = String::new();
        write_counted(
            &mut text,
            "forbidden requests",
            requests.forbidden().iter().map(ToString::to_string),
        );
        write_counted(
            &mut text,
            "permissions never used",
            self.unused_units(units, user).iter().map(ToString::to_string),
        );
        if text.is_empty() {
            Ok(())
        } else {
            Err(PermissionMismatch(format!("`{user}`:{text}")))
        }
    }

    /// Panics with the forbidden requests; see [`AuditLog::check_nothing_forbidden`].
    ///
    /// # Panics
    ///
    /// Panics on a mismatch.
    #[track_caller]
    pub fn assert_nothing_forbidden(&self, user: &str) {
        self.assert_exact(&[], user);
    }

    /// Panics with the forbidden requests and the unused units; see [`AuditLog::check_exact`].
    ///
    /// # Panics
    ///
    /// Panics on a mismatch.
    #[track_caller]
    pub fn assert_exact(&self, units: &[PermissionUnit], user: &str) {
        if let Err(mismatch) = self.check_exact(units, user) {
            panic!("{mismatch}");
        }
    }

    /// Maps group and kind to the plural, from the sent objects.
    fn plurals(&self) -> HashMap<(&str, &str), &str> {
        self.iter()
            .filter(|event| !event.kind.is_empty() && matches!(event.subresource.as_str(), "" | "status"))
            .map(|event| {
                (
                    (event.api_group.as_str(), event.kind.as_str()),
                    event.resource.as_str(),
                )
            })
            .collect()
    }
}

fn uses_finalizers_permission(
    unit: &PermissionUnit,
    event: &AuditEvent,
    plurals: &HashMap<(&str, &str), &str>,
) -> bool {
    let Some(plural) = unit.resource.strip_suffix("/finalizers") else {
        return false;
    };
    unit.verbs.iter().any(|verb| verb == "update")
        && unit
            .namespace
            .as_ref()
            .is_none_or(|namespace| *namespace == event.namespace)
        && event.blocking_owners.iter().any(|owner| {
            owner.group == unit.group
                && plurals.get(&(owner.group.as_str(), owner.kind.as_str())) == Some(&plural)
        })
}

/// Lists the items, repeated ones once with their count.
fn write_counted(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    if counts.is_empty() {
        return;
    }
    let _ = write!(text, "\n  {title}:");
    for (item, count) in counts {
        let times = if count > 1 {
            format!(" ({count} times)")
        } else {
            String::new()
        };
        let _ = write!(text, "\n    {item}{times}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Request<'a> {
        user: &'a str,
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        code: u16,
        body: &'a str,
    }

    const LIST: Request<'_> = Request {
        user: "op",
        verb: "list",
        group: "demo.dev",
        resource: "foos",
        subresource: "",
        code: 200,
        body: "{}",
    };

    fn log(requests: &[Request<'_>]) -> AuditLog {
        let mut text = String::new();
        for (
            id,
            Request {
                user,
                verb,
                group,
                resource,
                subresource,
                code,
                body,
            },
        ) in requests.iter().enumerate()
        {
            let _ = writeln!(
                text,
                r#"{{"auditID":"{id}","stage":"ResponseComplete","requestURI":"/","verb":"{verb}","user":{{"username":"{user}"}},"objectRef":{{"apiGroup":"{group}","resource":"{resource}","subresource":"{subresource}","namespace":"shop"}},"responseStatus":{{"code":{code}}},"requestObject":{body},"requestReceivedTimestamp":"2026-01-02T03:04:05Z","stageTimestamp":"2026-01-02T03:04:05Z"}}"#
            );
        }
        AuditLog::parse(&text).unwrap()
    }

    #[test]
    fn one_request_of_any_verb_uses_the_unit() {
        let log = log(&[
            LIST,
            Request {
                code: 404,
                verb: "get",
                ..LIST
            },
        ]);
        let units = [
            PermissionUnit::new("demo.dev", "foos", ["list", "watch"]),
            PermissionUnit::new("demo.dev", "foos", ["get"]).in_namespace("shop"),
        ];
        assert_eq!(log.unused_units(&units, "op"), Vec::<&PermissionUnit>::new());
        log.assert_exact(&units, "op");
    }

    #[test]
    fn other_group_subresource_verb_namespace_or_user_does_not_use_the_unit() {
        let log = log(&[
            LIST,
            Request {
                user: "other",
                verb: "delete",
                ..LIST
            },
        ]);
        let units = [
            PermissionUnit::new("other.dev", "foos", ["list"]),
            PermissionUnit::new("demo.dev", "foos/status", ["list"]),
            PermissionUnit::new("demo.dev", "foos", ["delete"]),
            PermissionUnit::new("demo.dev", "foos", ["list"]).in_namespace("elsewhere"),
        ];
        assert_eq!(log.unused_units(&units, "op"), units.iter().collect::<Vec<_>>());
    }

    #[test]
    fn forbidden_requests_do_not_use_units_and_are_counted() {
        let forbidden_request = || Request {
            code: 403,
            subresource: "status",
            verb: "update",
            ..LIST
        };
        let log = log(&[LIST, forbidden_request(), forbidden_request()]);
        let units = [
            PermissionUnit::new("demo.dev", "foos/status", ["update"]),
            PermissionUnit::new("", "events", ["create", "patch"]),
        ];
        let text = log.check_exact(&units, "op").unwrap_err().to_string();
        assert_eq!(
            text,
            "`op`:\n  forbidden requests:\n    update demo.dev foos/status shop: 403 (2 times)\
             \n  permissions never used:\n    update on demo.dev foos/status\n    create,patch on core events"
        );
    }

    #[test]
    fn blocking_owner_reference_uses_the_finalizers_unit() {
        let body = r#"{"kind":"Deployment","metadata":{"ownerReferences":[{"apiVersion":"demo.dev/v1","kind":"Goose","blockOwnerDeletion":true}]}}"#;
        let dependent = || Request {
            verb: "patch",
            group: "apps",
            resource: "deployments",
            body,
            ..LIST
        };
        let geese = || Request {
            user: "admin",
            verb: "patch",
            resource: "geese",
            body: r#"{"kind":"Goose"}"#,
            ..LIST
        };
        let unit = [PermissionUnit::new("demo.dev", "geese/finalizers", ["update"])];

        assert_eq!(
            log(&[geese(), dependent()]).unused_units(&unit, "op"),
            Vec::<&PermissionUnit>::new()
        );
        assert_eq!(
            log(&[geese()]).unused_units(&unit, "op").len(),
            1,
            "no dependent was written"
        );
        assert_eq!(
            log(&[
                geese(),
                Request {
                    code: 403,
                    ..dependent()
                }
            ])
            .unused_units(&unit, "op")
            .len(),
            1,
            "forbidden"
        );
        let foos = [PermissionUnit::new("demo.dev", "foos/finalizers", ["update"])];
        assert_eq!(
            log(&[geese(), LIST, dependent()]).unused_units(&foos, "op").len(),
            1,
            "the owner has another kind"
        );
    }

    #[test]
    #[should_panic(expected = "no request of `opp`")]
    fn unknown_user_is_a_mismatch() {
        log(&[LIST]).assert_nothing_forbidden("opp");
    }
}
