//! Deletion: at once, or with a mark and a wait for those who must agree.

use super::{DeleteOptions, ListOptions, Listing, Registry, Target, convert, strategy};
use crate::kinds::Kind;
use crate::meta;
use crate::status::{ApiError, details};
use crate::store::{Lost, Object};
use serde_json::{Value, json};
use std::sync::Arc;

const ATTEMPTS: usize = 100;
/// Namespaces without which nothing works.
const KEPT_NAMESPACES: &[&str] = &["default", "kube-system", "kube-public"];
/// Who is asked before the owner goes: those who want what it owns kept, or gone first.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What a deletion did.
#[derive(Debug)]
pub enum Deletion {
    /// The object is gone; this is what it was.
    Gone(Arc<Object>),
    /// The object is marked, and goes when its finalizers are gone or its grace period is over.
    Pending(Arc<Object>),
}

impl Registry {
    /// Deletes an object, or marks it.
    pub fn delete(&self, target: &Target, options: &DeleteOptions) -> Result<Deletion, ApiError> {
        let kind = &target.kind;
        if kind.kind == "Namespace"
            && kind.group.is_empty()
            && KEPT_NAMESPACES.contains(&target.name.as_str())
        {
            return Err(ApiError::forbidden(
                kind,
                &target.name,
                "this namespace may not be deleted",
            ));
        }
        for _ in 0..ATTEMPTS {
            let old = self.get(target)?;
            check_preconditions(kind, &target.name, old.value(), options)?;
            let marked = mark(kind, old.value(), options);
            let finished = strategy::is_finished(kind, &marked);
            if options.dry_run {
                return Ok(if finished && !is_pod(kind) {
                    Deletion::Gone(old)
                } else {
                    Deletion::Pending(Arc::new(Object::new(marked, old.revision)))
                });
            }
            let deletion = if finished {
                self.remove(target, &old, marked).map(Deletion::Gone)
            } else if marked == *old.value() {
                return Ok(Deletion::Pending(old));
            } else {
                let updated = self.store.update(&kind.table(), &target.key(), &old, marked);
                updated.map(Deletion::Pending)
            };
            match deletion {
                Ok(deletion) => return Ok(deletion),
                Err(Lost::Changed | Lost::Exists) if options.resource_version.is_none() => {}
                Err(_) => return Err(ApiError::modified(kind, &target.name)),
            }
        }
        Err(ApiError::modified(kind, &target.name))
    }

    /// Pods are marked even when they go at once, so that watchers see both.
    fn remove(&self, target: &Target, old: &Object, marked: Value) -> Result<Arc<Object>, Lost> {
        let (table, key) = (target.kind.table(), target.key());
        if is_pod(&target.kind) && marked != *old.value() {
            let marked = self.store.update(&table, &key, old, marked)?;
            return self.store.delete(&table, &key, &marked);
        }
        self.store.delete(&table, &key, old)
    }

    /// Deletes all that is selected, and tells what that was before.
    pub fn delete_collection(
        &self,
        target: &Target,
        selection: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<Listing, ApiError> {
        let listing = self.list(target, selection)?;
        for object in &listing.objects {
            let object = object.value();
            let target = Target::new(&target.kind, meta::namespace(object), meta::name(object));
            match self.delete(&target, options) {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(listing)
    }

    /// Writes an object as the server itself, if it is still this one.
    pub(crate) fn rewrite(
        &self,
        target: &Target,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Arc<Object>, ApiError> {
        for _ in 0..ATTEMPTS {
            let old = self.get(target)?;
            let mut new = old.value().clone();
            change(&mut new);
            if new == *old.value() {
                return Ok(old);
            }
            let (table, key) = (target.kind.table(), target.key());
            let outcome = if strategy::is_finished(&target.kind, &new) {
                self.store.delete(&table, &key, &old)
            } else {
                self.store
                    .update(&table, &key, &old, convert::store(&target.kind, new))
            };
            if let Ok(object) = outcome {
                return Ok(object);
            }
        }
        Err(ApiError::modified(&target.kind, &target.name))
    }
}

/// The object as it is once it was asked to go.
fn mark(kind: &Kind, object: &Value, options: &DeleteOptions) -> Value {
    let mut marked = object.clone();
    match options.propagation.as_deref() {
        Some("Orphan") => {
            meta::remove_finalizer(&mut marked, FOREGROUND);
            meta::add_finalizer(&mut marked, ORPHAN);
        }
        Some("Foreground") => {
            meta::remove_finalizer(&mut marked, ORPHAN);
            meta::add_finalizer(&mut marked, FOREGROUND);
        }
        Some(_) => {
            meta::remove_finalizer(&mut marked, ORPHAN);
            meta::remove_finalizer(&mut marked, FOREGROUND);
        }
        None if orphans(kind) && !waits(object) => meta::add_finalizer(&mut marked, ORPHAN),
        None => {}
    }
    let grace = if is_pod(kind) {
        grace_period(object, options)
    } else {
        0
    };
    if meta::is_being_deleted(object) {
        let before = object["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0);
        if grace < before {
            set_deletion(&mut marked, grace);
        }
        return marked;
    }
    set_deletion(&mut marked, grace);
    let metadata = meta::metadata_mut(&mut marked);
    if kind.kind == "CustomResourceDefinition" {
        metadata.remove("deletionGracePeriodSeconds");
    } else if kind.kind == "Namespace" && kind.group.is_empty() {
        // Namespaces are marked by themselves, and count nothing.
    } else if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
        metadata.insert("generation".into(), json!(generation + 1));
    }
    if kind.kind == "Namespace" && kind.group.is_empty() && strategy::holds_namespace(object) {
        metadata.remove("deletionGracePeriodSeconds");
        meta::entry_mut(&mut marked, "status").insert("phase".into(), json!("Terminating"));
    }
    if kind.kind == "CustomResourceDefinition" {
        crate::crd::mark_terminating(&mut marked);
    }
    marked
}

/// Kinds that, from old times, leave behind what they own unless they are told otherwise.
fn orphans(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("", "ReplicationController") | ("batch", "Job")
    )
}

/// Whether somebody who was asked before still holds the object.
fn waits(object: &Value) -> bool {
    [ORPHAN, FOREGROUND]
        .iter()
        .any(|finalizer| meta::has_finalizer(object, finalizer))
}

fn set_deletion(object: &mut Value, grace: i64) {
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(grace.clamp(0, 1 << 32));
    let time = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let metadata = meta::metadata_mut(object);
    metadata.insert("deletionTimestamp".into(), json!(time));
    metadata.insert("deletionGracePeriodSeconds".into(), json!(grace));
}

/// A pod that runs nowhere, or no longer, needs no time to end.
fn grace_period(pod: &Value, options: &DeleteOptions) -> i64 {
    let idle = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
        || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if idle {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    options.grace_period.or(own).unwrap_or(30).max(0)
}

fn is_pod(kind: &Kind) -> bool {
    kind.kind == "Pod" && kind.group.is_empty()
}

fn check_preconditions(
    kind: &Kind,
    name: &str,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let uid = options
        .uid
        .as_deref()
        .map(|wanted| ("UID", wanted, meta::uid(object), "deleted and then recreated"));
    let version = options.resource_version.as_deref().map(|wanted| {
        (
            "ResourceVersion",
            wanted,
            meta::resource_version(object),
            "modified",
        )
    });
    for (what, wanted, present, fate) in [uid, version].into_iter().flatten() {
        if wanted != present {
            let qualified = match kind.group.as_str() {
                "" => kind.kind.clone(),
                group => format!("{}.{group}", kind.kind),
            };
            let message = format!(
                "Operation cannot be fulfilled on {qualified} {name:?}: the {what} in the precondition ({wanted}) does not match the \
                 {what} in record ({present}). The object might have been {fate}"
            );
            let mut error = ApiError::new(409, "Conflict", message);
            error.details = Some(details(name, &kind.group, &kind.kind));
            return Err(error);
        }
    }
    Ok(())
}
