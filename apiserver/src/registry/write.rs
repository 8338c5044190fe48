//! The way of every object into the store. A body is decoded (`decode`) and turned into the new state of an object by a verb (`create`,
//! `update`, `patch`, `apply`); then it passes [`Registry::mutate`] and [`Registry::validate_and_store`].

use super::managed_fields::restore_invalid_managers;
use super::object_size::check_size;
use super::unchanged::is_noop_update;
use super::validate::{validate, validate_subresource};
use super::{Registry, Target, WriteResult, metadata, prepare};
use crate::admission::{self, AdmissionReport, Attributes, Operation, WebhookContext};
use crate::auth::{ResourceAttributes, User};
use crate::kinds::{Catalog, convert};
use crate::meta;
use crate::request::WriteOptions;
use crate::request::timeout::timeout_error;
use crate::status::{ApiError, Cause};
use crate::storage::{Object, WriteConflict};
use crate::strategy::{self, warnings};
use crate::types::ExplicitEmptyFields;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// The user and the options of a write.
#[derive(Clone, Copy, Debug)]
pub struct WriteContext<'a> {
    /// The user that the write is attributed to.
    pub user: &'a User,
    /// The options of the request.
    pub options: &'a WriteOptions,
    /// Where admission reports warnings and audit annotations; None if nobody reads them.
    pub(crate) report: Option<&'a AdmissionReport>,
    /// How to call webhooks; None if the write calls none. A write that calls some blocks its thread.
    pub(crate) webhooks: Option<WebhookContext<'a>>,
}

impl<'a> WriteContext<'a> {
    /// Combines a user with the options of the request. The write calls no webhooks.
    pub fn new(user: &'a User, options: &'a WriteOptions) -> Self {
        Self {
            user,
            options,
            report: None,
            webhooks: None,
        }
    }

    /// Lets admission report, and call webhooks.
    pub(crate) fn with_admission(
        self,
        report: &'a AdmissionReport,
        webhooks: Option<WebhookContext<'a>>,
    ) -> Self {
        let report = Some(report);
        Self {
            report,
            webhooks,
            ..self
        }
    }

    /// Removes and returns the warnings of admission since the last call.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.report
            .map(AdmissionReport::take_warnings)
            .unwrap_or_default()
    }
}

/// A write of one object, apart from the object.
pub(super) struct Write<'a> {
    pub(super) target: &'a Target,
    /// Empty for the whole object.
    pub(super) subresource: &'a str,
    pub(super) context: WriteContext<'a>,
    /// The fields that the body sets to empty values.
    pub(super) empties: &'a ExplicitEmptyFields,
    pub(super) change: WriteChange<'a>,
}

/// What a write changes.
pub(super) enum WriteChange<'a> {
    /// The object is new.
    Create {
        /// A job without labels gets those of its template.
        labels_from_template: bool,
        /// The object is created by an update or an apply, which was authorized as such.
        is_by_update: bool,
        /// The resourceVersion of the body; a dry run returns it.
        sent_version: &'a str,
        /// The body may not have a resourceVersion.
        refuses_version: bool,
    },
    /// The object exists: `old` is its stored form, `before` the same in the version of the request.
    Update { old: &'a Arc<Object>, before: &'a Value },
}

/// What became of a write that was not refused.
pub(super) enum WriteOutcome {
    Written(WriteResult),
    /// Another write was faster.
    Conflict {
        /// Warnings for the client.
        warnings: Vec<String>,
    },
}

impl<'a> Write<'a> {
    /// The attributes for admission.
    fn attributes<'w>(&'w self, registry: &'w Registry, catalog: &'w Catalog) -> Attributes<'w> {
        let operation = match self.change {
            WriteChange::Create { .. } => Operation::Create,
            WriteChange::Update { before, .. } => Operation::Update { old: before },
        };
        registry.attributes(catalog, self.target, self.subresource, operation, self.context)
    }

    /// Whether kube-apiserver stores the object without defaults that reading it adds: the phase of a new claim, the labels that a new job
    /// gets from its template, the allocatable resources of a node whose empty map counts as set in the request.
    fn lacks_stored_defaults(&self, object: &Value) -> bool {
        let kind = &self.target.kind;
        let is_new = matches!(self.change, WriteChange::Create { .. });
        match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "PersistentVolumeClaim") => is_new,
            ("batch", "Job") => is_new && object["metadata"].get("labels").is_none(),
            ("", "Node") => self.empties.contains("status.allocatable"),
            _ => false,
        }
    }

    pub(super) fn before(&self) -> Option<&'a Value> {
        match self.change {
            WriteChange::Create { .. } => None,
            WriteChange::Update { before, .. } => Some(before),
        }
    }
}

impl Registry {
    /// The first part of a write: field managers and mutating admission. Adds the warnings of webhooks.
    pub(super) fn mutate(
        &self,
        write: &Write<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        // A replaced object was searched before; a patched one is searched only after admission.
        if write.before().is_none() && !write.context.options.applied {
            warnings.extend(metadata::remove_repeated_owners(object, false));
        }
        // Fields that the server sets from here on have no manager.
        if !write.context.options.applied && write.subresource != "scale" {
            self.track_fields(
                &write.target.kind,
                write.before(),
                object,
                write.subresource,
                write.context,
            );
        }
        let catalog = self.catalog();
        let attributes = write.attributes(self, &catalog);
        let mut found = vec![];
        let outcome = if attributes.webhooks.is_none() {
            admission::mutate(&self.admission, &attributes, object)
        } else {
            let tracked = object["metadata"]["managedFields"].clone();
            let outcome = admission::mutate(&self.admission, &attributes.for_plugins(), object);
            warnings.extend(restore_invalid_managers(object, &tracked));
            found.extend(write.context.take_warnings());
            outcome
        };
        if outcome.is_ok() && write.subresource != "scale" {
            found.extend(metadata::remove_repeated_owners(object, true));
        }
        // A write that is repeated finds the same again.
        for warning in found {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        outcome
    }

    /// The second part of a write: preparation, allocation, validation, validating admission, storage.
    pub(super) fn validate_and_store(
        &self,
        write: &Write<'_>,
        mut object: Value,
    ) -> Result<WriteOutcome, ApiError> {
        let (kind, subresource) = (&write.target.kind, write.subresource);
        let dry_run = write.context.options.dry_run;
        let mut warnings = prepare(write, &mut object);
        // kube-apiserver allocates addresses and ports only in writes of the whole object.
        let _reservation = if subresource.is_empty() {
            self.allocate(kind, &mut object, write.before(), dry_run)?
        } else {
            None
        };
        let mut causes = self.check_claim_access(write, &object);
        causes.extend(self::causes(write, &object));
        if causes.is_empty() {
            causes.extend(self.check_param_access(write, &object));
        }
        if !causes.is_empty() {
            let error = ApiError::invalid(kind, meta::name(&object), &causes);
            // The cause without a field says that rules were not checked.
            let checked_rules = causes.iter().all(|cause| cause.field != "<nil>");
            if let Some(before) = write.before().filter(|_| checked_rules) {
                warnings.extend(warnings::unchanged_violations(kind, &object, before));
            }
            return Err(error.with_warnings(&warnings));
        }
        if !dry_run {
            metadata::clear_self_link(&mut object);
        }
        warnings.extend(match write.before() {
            None => warnings::on_create(kind, &object),
            Some(before) => warnings::on_update(kind, subresource, &object, before),
        });
        let catalog = self.catalog();
        let attributes = write.attributes(self, &catalog);
        let admitted = self
            .require_creation(write)
            .and_then(|()| admission::validate(&self.admission, &attributes.for_plugins(), &object))
            .and_then(|()| self.validate_scale_by_webhooks(&attributes, &object));
        warnings.extend(write.context.take_warnings());
        let stored = admitted
            .and_then(|()| self.charge_quotas(&attributes, &object, dry_run))
            .and_then(|()| self.store(write, object))
            .map_err(|error| error.with_warnings(&warnings))?;
        Ok(match stored {
            Err(_) => WriteOutcome::Conflict { warnings },
            Ok(object) => WriteOutcome::Written(WriteResult {
                object,
                created: write.before().is_none(),
                warnings,
            }),
        })
    }

    /// Requires the permission to create an object for an update or an apply that creates it.
    fn require_creation(&self, write: &Write<'_>) -> Result<(), ApiError> {
        if !matches!(
            write.change,
            WriteChange::Create {
                is_by_update: true,
                ..
            }
        ) {
            return Ok(());
        }
        let Target {
            kind,
            namespace,
            name,
        } = write.target;
        let access = ResourceAttributes {
            verb: "create",
            group: &kind.group,
            resource: &kind.plural,
            subresource: write.subresource,
            namespace,
            name,
        };
        self.authorizer.require(&self.store, write.context.user, &access)
    }

    /// Stores the object of a write; a dry run only returns it.
    fn store(
        &self,
        write: &Write<'_>,
        mut object: Value,
    ) -> Result<Result<Arc<Object>, WriteConflict>, ApiError> {
        // The client has been told that the write failed.
        if let Some(hooks) = write.context.webhooks
            && hooks.deadline <= Instant::now()
        {
            return Err(timeout_error());
        }
        let kind = &write.target.kind;
        let target = Target::new(kind, &write.target.namespace, meta::name(&object));
        let dry_run = write.context.options.dry_run;
        match write.change {
            WriteChange::Create { sent_version, .. } if dry_run => {
                if self.find(&target).is_some() {
                    return Ok(Err(WriteConflict::Exists));
                }
                if !sent_version.is_empty() {
                    meta::metadata_mut(&mut object).insert("resourceVersion".into(), sent_version.into());
                }
            }
            WriteChange::Create {
                refuses_version: true,
                ..
            } => {
                let message = "resourceVersion should not be set on objects to be created";
                return Err(ApiError::new(500, "", message));
            }
            WriteChange::Update { old, before }
                if is_noop_update(&object, before)
                    && !convert::is_stored_differently(kind, old.value(), before)
                    && !old.is_incomplete() =>
            {
                let unchanged = self.convert_by_webhook(kind, vec![old.clone()])?;
                return Ok(Ok(unchanged.into_iter().next().unwrap_or_else(|| old.clone())));
            }
            _ => {}
        }
        if dry_run && kind.conversion_webhook().is_some() {
            // What cannot be stored is refused.
            self.convert_to_stored(kind, object.clone())?;
            return Ok(Ok(Arc::new(Object::never_stored(object))));
        }
        if dry_run {
            let object = convert::to_stored_version(kind, object);
            return Ok(Ok(Arc::new(Object::never_stored(object))));
        }
        let mut object = self.convert_to_stored(kind, object)?;
        if let Err(too_large) = check_size(&object) {
            if write.context.options.applied || write.subresource == "scale" {
                return Err(too_large);
            }
            // It may fit without its field managers.
            meta::metadata_mut(&mut object).remove("managedFields");
            check_size(&object)?;
        }
        let lacks_defaults = write.lacks_stored_defaults(&object);
        let (table, key) = (kind.table(), target.key());
        let is_update = matches!(write.change, WriteChange::Update { .. });
        // The update removed the last finalizer.
        let deletes = is_update && prepare::is_ready_to_delete(kind, &object);
        let stored = match write.change {
            WriteChange::Create { .. } => {
                self.store
                    .create(&table, &key, convert::to_storage(kind, object, write.empties))
            }
            // The response shows the object as the update requested it, in the version that it had.
            WriteChange::Update { old, .. } if deletes => {
                let removed = self.store.delete(&table, &key, old);
                removed.map(|_| {
                    let object = convert::to_stored_version(kind, object);
                    Arc::new(Object::new(object, old.revision))
                })
            }
            WriteChange::Update { old, .. } => self.store.update(
                &table,
                &key,
                old,
                convert::to_storage(kind, object, write.empties),
            ),
        };
        let stored = match stored {
            Ok(stored) => stored,
            conflict => return Ok(conflict),
        };
        if lacks_defaults {
            stored.mark_incomplete();
        }
        let old = match write.change {
            WriteChange::Create { .. } => None,
            WriteChange::Update { old, .. } => Some(old.value()),
        };
        let new = Some(stored.value()).filter(|_| !deletes);
        self.sync_service_addresses(kind, old, new);
        let shown = self.convert_by_webhook(kind, vec![stored.clone()])?;
        Ok(Ok(shown.into_iter().next().unwrap_or(stored)))
    }

    /// The attributes of an operation for admission.
    pub(super) fn attributes<'a>(
        &'a self,
        catalog: &'a Catalog,
        target: &'a Target,
        subresource: &'a str,
        operation: Operation<'a>,
        context: WriteContext<'a>,
    ) -> Attributes<'a> {
        Attributes {
            operation,
            kind: &target.kind,
            namespace: &target.namespace,
            name: &target.name,
            subresource,
            user: context.user,
            store: &self.store,
            catalog,
            authorizer: &self.authorizer,
            dry_run: context.options.dry_run,
            report: context.report,
            webhooks: context.webhooks,
        }
    }
}

/// Sets what the server owns and discards what the client cannot set; returns the warnings about what was sent.
fn prepare(write: &Write<'_>, object: &mut Value) -> Vec<String> {
    let kind = &write.target.kind;
    match write.change {
        WriteChange::Create {
            labels_from_template, ..
        } => {
            let warnings = warnings::before_create(kind, object);
            prepare::prepare_for_create(kind, object);
            if kind.kind == "CertificateSigningRequest" {
                strategy::set_requester(object, write.context.user);
            }
            if labels_from_template {
                strategy::default_job_labels(kind, object);
            }
            warnings
        }
        WriteChange::Update { old, before } => {
            let states = (before, old.value());
            prepare::prepare_for_update(kind, object, states, write.subresource, write.empties);
            vec![]
        }
    }
}

fn causes(write: &Write<'_>, object: &Value) -> Vec<Cause> {
    let kind = &write.target.kind;
    let Some(before) = write.before() else {
        let mut causes = metadata::validate_metadata_create(kind, object);
        causes.extend(validate(kind, object, None, write.empties));
        let lacks_metadata_rules = matches!(
            (kind.api_version().as_str(), kind.kind.as_str()),
            ("v1", "Event") | (_, "PodDisruptionBudget")
        );
        // Then the generic rules apply, but only to what is valid otherwise.
        let is_of_metadata = |cause: &Cause| cause.field.starts_with("metadata.");
        if lacks_metadata_rules && !causes.iter().all(is_of_metadata) {
            causes.retain(|cause| !is_of_metadata(cause));
        }
        return causes;
    };
    let mut causes = metadata::validate_metadata_update(object, before);
    let empties = write.empties;
    causes.extend(validate_subresource(
        kind,
        write.subresource,
        object,
        before,
        empties,
    ));
    metadata::insert_generate_name_errors(&mut causes, kind, write.subresource, object);
    causes
}
