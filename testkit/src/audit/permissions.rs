//! Whether an identity has all the rights that it needs, and no other.

use super::event::AuditEvent;
use super::log::AuditLog;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::{self, Write as _};

/// Rights that belong together: an informer's list and watch, an apply's patch and create. A unit counts as used
/// when any of its requests was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource: `foos`, `foos/status`, `foos/finalizers`.
    pub resource: String,
    /// The verbs in RBAC's words.
    pub verbs: Vec<String>,
    /// The namespace in which the rights are given; None for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl Unit {
    /// A unit in every namespace.
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
        }
    }

    /// The same in one namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
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
    }
}

/// `get,list on apps deployments in shop`
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() {
            "core"
        } else {
            &self.group
        };
        write!(f, "{} on {group} {}", self.verbs.join(","), self.resource)?;
        self.namespace
            .iter()
            .try_for_each(|namespace| write!(f, " in {namespace}"))
    }
}

/// How rights and requests differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(String);

impl AuditLog {
    /// The units of which the user has sent no request that was let through.
    ///
    /// Update on `<plural>/finalizers` shows in no request of its own: with OwnerReferencesPermissionEnforcement the
    /// API server asks for it when an object is written whose owner reference blocks the owner's deletion. Such a
    /// write uses the unit of the owner's kind. The kind's plural is taken from this log, which must not be filtered:
    /// somebody, mostly the test, has written an object of that kind.
    pub fn unused_units<'units>(&self, units: &'units [Unit], user: &str) -> Vec<&'units Unit> {
        let plurals = self.plurals();
        let allowed = self.by_user(user).filter(|event| !event.is_refused());
        let is_used = |unit: &Unit| {
            allowed
                .iter()
                .any(|event| unit.covers(event) || takes_ownership(unit, event, &plurals))
        };
        units.iter().filter(|unit| !is_used(unit)).collect()
    }

    /// Whether the user was refused nothing. That no request of the user was seen at all is a mismatch too: then the
    /// name is wrong, or nothing has happened yet.
    pub fn check_nothing_forbidden(&self, user: &str) -> Result<(), Mismatch> {
        self.check_exact(&[], user)
    }

    /// Whether the user was refused nothing, and has used every unit.
    pub fn check_exact(&self, units: &[Unit], user: &str) -> Result<(), Mismatch> {
        let requests = self.by_user(user);
        if requests.is_empty() {
            return Err(Mismatch(format!(
                "the API server has seen no request of `{user}`"
            )));
        }
        let mut text = String::new();
        list(
            &mut text,
            "forbidden requests",
            requests.forbidden().iter().map(ToString::to_string),
        );
        list(
            &mut text,
            "permissions never used",
            self.unused_units(units, user).iter().map(ToString::to_string),
        );
        if text.is_empty() {
            Ok(())
        } else {
            Err(Mismatch(format!("`{user}`:{text}")))
        }
    }

    /// Panics with the refused requests, see [`AuditLog::check_nothing_forbidden`].
    ///
    /// # Panics
    ///
    /// When there is a mismatch.
    #[track_caller]
    pub fn assert_nothing_forbidden(&self, user: &str) {
        self.assert_exact(&[], user);
    }

    /// Panics with the refused requests and the unused units, see [`AuditLog::check_exact`].
    ///
    /// # Panics
    ///
    /// When there is a mismatch.
    #[track_caller]
    pub fn assert_exact(&self, units: &[Unit], user: &str) {
        if let Err(mismatch) = self.check_exact(units, user) {
            panic!("{mismatch}");
        }
    }

    /// Group and kind → plural, from objects that were sent.
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

fn takes_ownership(unit: &Unit, event: &AuditEvent, plurals: &HashMap<(&str, &str), &str>) -> bool {
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

/// The same request refused a hundred times is one line.
fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
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
    fn one_request_uses_the_unit() {
        let log = log(&[
            LIST,
            Request {
                code: 404,
                verb: "get",
                ..LIST
            },
        ]);
        let units = [
            Unit::new("demo.dev", "foos", ["list", "watch"]),
            Unit::new("demo.dev", "foos", ["get"]).in_namespace("shop"),
        ];
        assert_eq!(log.unused_units(&units, "op"), Vec::<&Unit>::new());
        log.assert_exact(&units, "op");
    }

    #[test]
    fn other_group_subresource_verb_namespace_and_user_do_not() {
        let log = log(&[
            LIST,
            Request {
                user: "other",
                verb: "delete",
                ..LIST
            },
        ]);
        let units = [
            Unit::new("other.dev", "foos", ["list"]),
            Unit::new("demo.dev", "foos/status", ["list"]),
            Unit::new("demo.dev", "foos", ["delete"]),
            Unit::new("demo.dev", "foos", ["list"]).in_namespace("elsewhere"),
        ];
        assert_eq!(log.unused_units(&units, "op"), units.iter().collect::<Vec<_>>());
    }

    #[test]
    fn refused_request_uses_nothing_and_is_listed_once() {
        let refused = || Request {
            code: 403,
            subresource: "status",
            verb: "update",
            ..LIST
        };
        let log = log(&[LIST, refused(), refused()]);
        let units = [
            Unit::new("demo.dev", "foos/status", ["update"]),
            Unit::new("", "events", ["create", "patch"]),
        ];
        let text = log.check_exact(&units, "op").unwrap_err().to_string();
        assert_eq!(
            text,
            "`op`:\n  forbidden requests:\n    update demo.dev foos/status shop: 403 (2 times)\
             \n  permissions never used:\n    update on demo.dev foos/status\n    create,patch on core events"
        );
    }

    #[test]
    fn finalizers_are_used_by_a_blocking_owner_reference() {
        let body = r#"{"kind":"Deployment","metadata":{"ownerReferences":[{"apiVersion":"demo.dev/v1","kind":"Goose","blockOwnerDeletion":true}]}}"#;
        let owned = || Request {
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
        let unit = [Unit::new("demo.dev", "geese/finalizers", ["update"])];

        assert_eq!(
            log(&[geese(), owned()]).unused_units(&unit, "op"),
            Vec::<&Unit>::new()
        );
        assert_eq!(
            log(&[geese()]).unused_units(&unit, "op").len(),
            1,
            "nothing is owned"
        );
        assert_eq!(
            log(&[geese(), Request { code: 403, ..owned() }])
                .unused_units(&unit, "op")
                .len(),
            1,
            "refused"
        );
        let foos = [Unit::new("demo.dev", "foos/finalizers", ["update"])];
        assert_eq!(
            log(&[geese(), LIST, owned()]).unused_units(&foos, "op").len(),
            1,
            "another kind is owned"
        );
    }

    #[test]
    #[should_panic(expected = "no request of `opp`")]
    fn user_that_was_never_seen_is_a_mismatch() {
        log(&[LIST]).assert_nothing_forbidden("opp");
    }
}
