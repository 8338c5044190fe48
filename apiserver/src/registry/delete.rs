//! The delete verb: immediate deletion, or marking an object that finalizers or a grace period hold.

use super::pod_removal::MarkedPod;
use super::retry::RetryDeadline;
use super::{Listing, Registry, Target, WriteContext, grace_period, prepare};
use crate::admission::{self, Attributes, Operation, WebhookContext};
use crate::auth::User;
use crate::builtin::SYSTEM_PRIORITIES;
use crate::kinds::{Kind, convert};
use crate::meta;
use crate::request::{DeleteOptions, ListOptions, WriteOptions};
use crate::status::{ApiError, details};
use crate::storage::{Object, WriteConflict};
use serde_json::{Value, json};
use std::sync::Arc;

/// Finalizers of the garbage collector: keep the dependents, or delete them before the owner.
pub(crate) const ORPHAN_FINALIZER: &str = "orphan";
pub(crate) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

/// The result of a deletion.
#[derive(Debug)]
pub enum DeleteResult {
    /// The object is deleted; contains its last state.
    Deleted(Arc<Object>),
    /// The object is marked for deletion and waits for its finalizers or its grace period.
    Pending(Arc<Object>),
}

/// A deletion that is admitted and has begun.
#[derive(Debug)]
pub(crate) enum Deletion {
    /// Nothing is left to do.
    Done(DeleteResult),
    /// [`Registry::remove_marked_pod`] removes the pod.
    Marked(MarkedPod),
}

impl Registry {
    /// Deletes an object, or marks it for deletion, on behalf of the server: calls no webhooks.
    pub fn delete(&self, target: &Target, options: &DeleteOptions) -> Result<DeleteResult, ApiError> {
        Ok(match self.begin_server_deletion(target, options)? {
            Deletion::Done(result) => result,
            Deletion::Marked(pod) => DeleteResult::Deleted(self.remove_pod(pod)),
        })
    }

    /// As [`begin_deletion`](Self::begin_deletion), on behalf of the server.
    pub(super) fn begin_server_deletion(
        &self,
        target: &Target,
        options: &DeleteOptions,
    ) -> Result<Deletion, ApiError> {
        let (user, own) = (User::system(), WriteOptions::default());
        let context = WriteContext::new(&user, &own);
        self.begin_deletion(target, options, context, &target.name)
    }

    /// Begins the deletion of an object. A pod that nothing holds is marked first, as in kube-apiserver: its watchers see both events. After a
    /// write conflict, the preconditions are checked against the new state. `requested` is the name in the request, which is
    /// empty for a collection.
    pub(crate) fn begin_deletion(
        &self,
        target: &Target,
        options: &DeleteOptions,
        context: WriteContext<'_>,
        requested: &str,
    ) -> Result<Deletion, ApiError> {
        let kind = &target.kind;
        if !requested.is_empty() {
            refuse_system_priority(target)?;
        }
        let catalog = self.catalog();
        let mut attributes = self.attributes(&catalog, target, "", Operation::Delete, context);
        attributes.dry_run = options.dry_run;
        admission::admit_deletion(&self.admission, &attributes)?;
        attributes.name = requested;
        let deadline = RetryDeadline::start();
        loop {
            let old = self.get(target)?;
            check_preconditions(kind, &target.name, old.value(), options)?;
            if is_decided(kind, old.value(), options) {
                return Ok(Deletion::Done(DeleteResult::Pending(old)));
            }
            if let Some(webhooks) = attributes.webhooks {
                let shown = self.convert_by_webhook(kind, vec![old.clone()])?;
                let shown = shown.first().unwrap_or(&old).value();
                let converted = convert::to_request_version(kind, shown);
                let shown = converted.as_ref().unwrap_or(shown);
                let mut sent = webhooks.options.clone();
                if is_pod(kind) {
                    sent.insert(
                        "gracePeriodSeconds".to_owned(),
                        json!(grace_period_for_webhooks(shown, options)),
                    );
                }
                let attributes = Attributes {
                    webhooks: Some(WebhookContext {
                        options: &sent,
                        ..webhooks
                    }),
                    ..attributes
                };
                admission::admit_deletion_by_webhooks(&self.admission, &attributes, shown)?;
            }
            let marked = mark_for_deletion(kind, old.value(), options);
            let finished = prepare::is_ready_to_delete(kind, &marked);
            if options.dry_run {
                return Ok(Deletion::Done(if finished && !is_pod(kind) {
                    DeleteResult::Deleted(old)
                } else {
                    DeleteResult::Pending(Arc::new(Object::new(marked, old.revision)))
                }));
            }
            let is_unchanged = marked == *old.value();
            let deletion = if finished && (is_unchanged || !is_pod(kind)) {
                let deleted = self.delete_from_store(target, &old);
                deleted.map(|object| Deletion::Done(DeleteResult::Deleted(object)))
            } else if is_unchanged {
                return Ok(Deletion::Done(DeleteResult::Pending(old)));
            } else {
                let updated = self.store.update(&kind.table(), &target.key(), &old, marked);
                updated.map(|object| {
                    if finished {
                        Deletion::Marked(MarkedPod::new(target, object))
                    } else {
                        Deletion::Done(DeleteResult::Pending(object))
                    }
                })
            };
            if let Ok(deletion) = deletion {
                return Ok(deletion);
            }
            deadline.check()?;
        }
    }

    fn delete_from_store(&self, target: &Target, old: &Object) -> Result<Arc<Object>, WriteConflict> {
        let deleted = self.store.delete(&target.kind.table(), &target.key(), old)?;
        self.sync_service_addresses(&target.kind, Some(old.value()), None);
        Ok(deleted)
    }

    /// Deletes all selected objects on behalf of the server, which need not be converted, and returns their states before the deletion.
    pub fn delete_collection(
        &self,
        target: &Target,
        selection: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<Listing, ApiError> {
        let (user, own) = (User::system(), WriteOptions::default());
        let listing = self.list(target, selection)?;
        let mut marked = vec![];
        let context = WriteContext::new(&user, &own);
        let outcome = self.delete_listed(target, &listing, options, context, &mut marked);
        for pod in marked {
            self.remove_pod(pod);
        }
        outcome.map(|()| listing)
    }

    /// Begins the deletion of all selected objects, and returns their states before it. If one cannot be converted, deletes none. Adds the pods
    /// that must be removed to `marked`, also if there is an error.
    pub(crate) fn begin_collection(
        &self,
        target: &Target,
        selection: &ListOptions,
        options: &DeleteOptions,
        context: WriteContext<'_>,
        marked: &mut Vec<MarkedPod>,
    ) -> Result<Listing, ApiError> {
        let listing = self.list_converted(target, selection)?;
        self.delete_listed(target, &listing, options, context, marked)?;
        Ok(listing)
    }

    fn delete_listed(
        &self,
        target: &Target,
        listing: &Listing,
        options: &DeleteOptions,
        context: WriteContext<'_>,
        marked: &mut Vec<MarkedPod>,
    ) -> Result<(), ApiError> {
        for object in &listing.objects {
            let object = object.value();
            let target = Target::new(&target.kind, meta::namespace(object), meta::name(object));
            match self.begin_deletion(&target, options, context, "") {
                Ok(Deletion::Marked(pod)) => marked.push(pod),
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Updates an object on behalf of the server, without validation and admission; retries after write conflicts.
    pub(crate) fn update_as_server(
        &self,
        target: &Target,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Arc<Object>, ApiError> {
        self.try_update_as_server(target, |object| {
            change(object);
            Ok(())
        })
    }

    /// Like `update_as_server`, for a change that can refuse the current state.
    pub(crate) fn try_update_as_server(
        &self,
        target: &Target,
        mut change: impl FnMut(&mut Value) -> Result<(), ApiError>,
    ) -> Result<Arc<Object>, ApiError> {
        let deadline = RetryDeadline::start();
        loop {
            let old = self.get(target)?;
            let mut new = old.value().clone();
            change(&mut new)?;
            if new == *old.value() {
                return Ok(old);
            }
            let (table, key) = (target.kind.table(), target.key());
            let outcome = if prepare::is_ready_to_delete(&target.kind, &new) {
                self.store.delete(&table, &key, &old)
            } else {
                self.store
                    .update(&table, &key, &old, convert::to_stored_version(&target.kind, new))
            };
            if let Ok(object) = outcome {
                return Ok(object);
            }
            deadline.check()?;
        }
    }
}

/// Refuses to delete a system priority class by name. kube-apiserver deletes it with its collection.
fn refuse_system_priority(target: &Target) -> Result<(), ApiError> {
    let Target { kind, name, .. } = target;
    let is_system = SYSTEM_PRIORITIES.iter().any(|(system, _)| system == name);
    if is_system && kind.kind == "PriorityClass" && kind.group == "scheduling.k8s.io" {
        let why = "this is a system priority class and cannot be deleted";
        return Err(ApiError::forbidden(&**kind, name, why));
    }
    Ok(())
}

/// True if an earlier deletion decided what becomes of the object: the grace period of a pod is not over, or the finalizers in the spec of a
/// namespace are still there. Then a repeated deletion changes nothing.
fn is_decided(kind: &Kind, object: &Value, options: &DeleteOptions) -> bool {
    is_pod(kind) && grace_period::is_kept(object, options)
        || is_namespace(kind) && meta::is_being_deleted(object) && prepare::has_namespace_finalizers(object)
}

/// Returns the object as the deletion request changes it: finalizers, deletionTimestamp, generation.
fn mark_for_deletion(kind: &Kind, object: &Value, options: &DeleteOptions) -> Value {
    let mut marked = object.clone();
    // The first deletion of a definition only adds the finalizer of its own.
    if kind.kind != "CustomResourceDefinition" || meta::is_being_deleted(object) {
        set_gc_finalizers(kind, &mut marked, options);
    }
    if meta::is_being_deleted(object) {
        if let Some(seconds) = grace_period::requested(options)
            && seconds < grace_period::pending(object)
        {
            grace_period::shorten(&mut marked, seconds);
        }
        return marked;
    }
    let seconds = if is_pod(kind) {
        grace_period::of_pod(object, options)
    } else {
        0
    };
    grace_period::start(&mut marked, seconds);
    let metadata = meta::metadata_mut(&mut marked);
    if kind.kind == "CustomResourceDefinition" {
        metadata.remove("deletionGracePeriodSeconds");
    } else if is_namespace(kind) {
        // Namespaces have a deletion of their own in kube-apiserver, which does not increment the generation.
    } else if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
        metadata.insert("generation".into(), json!(generation + 1));
    }
    if is_namespace(kind) && prepare::has_namespace_finalizers(object) {
        metadata.remove("deletionGracePeriodSeconds");
        meta::entry_mut(&mut marked, "status").insert("phase".into(), json!("Terminating"));
    }
    if kind.kind == "CustomResourceDefinition" {
        crate::crd::mark_terminating(&mut marked);
    }
    marked
}

/// Sets the finalizers of the garbage collector as the propagation policy requests.
fn set_gc_finalizers(kind: &Kind, object: &mut Value, options: &DeleteOptions) {
    // Events own nothing.
    let policy = if is_event(kind) {
        Some("Background")
    } else {
        options.propagation.as_deref()
    };
    match policy {
        Some("Orphan") => {
            meta::remove_finalizer(object, FOREGROUND_FINALIZER);
            meta::add_finalizer(object, ORPHAN_FINALIZER);
        }
        Some("Foreground") => {
            meta::remove_finalizer(object, ORPHAN_FINALIZER);
            meta::add_finalizer(object, FOREGROUND_FINALIZER);
        }
        Some(_) => {
            meta::remove_finalizer(object, ORPHAN_FINALIZER);
            meta::remove_finalizer(object, FOREGROUND_FINALIZER);
        }
        None if orphans_by_default(kind) && !has_gc_finalizer(object) => {
            meta::add_finalizer(object, ORPHAN_FINALIZER);
        }
        None => {}
    }
}

/// True for kinds that, for historical reasons, orphan their dependents by default.
fn orphans_by_default(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("", "ReplicationController") | ("batch", "Job")
    )
}

/// True if an earlier deletion set a finalizer of the garbage collector.
fn has_gc_finalizer(object: &Value) -> bool {
    [ORPHAN_FINALIZER, FOREGROUND_FINALIZER]
        .iter()
        .any(|finalizer| meta::has_finalizer(object, finalizer))
}

/// Returns the grace period that webhooks see.
fn grace_period_for_webhooks(pod: &Value, options: &DeleteOptions) -> i64 {
    match grace_period::requested(options) {
        Some(seconds) if grace_period::pending(pod) > 0 => seconds,
        _ => grace_period::of_pod(pod, options),
    }
}

fn is_pod(kind: &Kind) -> bool {
    kind.kind == "Pod" && kind.group.is_empty()
}

fn is_namespace(kind: &Kind) -> bool {
    kind.kind == "Namespace" && kind.group.is_empty()
}

fn is_event(kind: &Kind) -> bool {
    kind.kind == "Event" && matches!(kind.group.as_str(), "" | "events.k8s.io")
}

pub(super) fn check_preconditions(
    kind: &Kind,
    name: &str,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let uid = options
        .uid
        .as_deref()
        .map(|expected| ("UID", expected, meta::uid(object), "deleted and then recreated"));
    let version = options.resource_version.as_deref().map(|expected| {
        (
            "ResourceVersion",
            expected,
            meta::resource_version(object),
            "modified",
        )
    });
    for (what, expected, actual, fate) in [uid, version].into_iter().flatten() {
        if expected != actual {
            if is_namespace(kind) || kind.kind == "CustomResourceDefinition" {
                let why = format!(
                    "Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}"
                );
                return Err(ApiError::conflict(kind, name, why));
            }
            let qualified = match kind.group.as_str() {
                "" => kind.kind.clone(),
                group => format!("{}.{group}", kind.kind),
            };
            let message = format!(
                "Operation cannot be fulfilled on {qualified} {name:?}: the {what} in the precondition ({expected}) does not match the \
                 {what} in record ({actual}). The object might have been {fate}"
            );
            let details = details(name, &kind.group, &kind.kind);
            return Err(ApiError::with_details(409, "Conflict", message, details));
        }
    }
    Ok(())
}
