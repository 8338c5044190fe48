//! The create verb.

use super::managed_fields::track_fields;
use super::object_size::check_size;
use super::validate::validate;
use super::{Registry, Target, WriteOptions, WriteResult, convert, prepare};
use crate::auth::User;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::store::{Object, WriteConflict};
use crate::strategy::warnings;
use crate::types::ExplicitEmptyFields;
use serde_json::Value;
use std::sync::Arc;

/// How many generated names are tried before the create fails with a conflict.
const MAX_NAME_ATTEMPTS: usize = 8;

/// The user and the options of a write.
#[derive(Clone, Copy, Debug)]
pub struct WriteContext<'a> {
    /// The user that the write is attributed to.
    pub user: &'a User,
    /// The options of the request.
    pub options: &'a WriteOptions,
}

impl<'a> WriteContext<'a> {
    /// Combines a user with the options of the request.
    pub fn new(user: &'a User, options: &'a WriteOptions) -> Self {
        Self { user, options }
    }
}

/// Facts about the request body that decoding does not preserve.
pub(super) struct RequestFacts<'a> {
    /// The body has no labels.
    unlabelled: bool,
    /// The fields that the body sets to empty values.
    empties: ExplicitEmptyFields,
    /// The subresource of an update that creates the object (empty for the whole object); None for a create.
    updated_subresource: Option<&'a str>,
}

impl<'a> RequestFacts<'a> {
    pub(super) fn new(
        object: &Value,
        empties: ExplicitEmptyFields,
        updated_subresource: Option<&'a str>,
    ) -> Self {
        let labels = object["metadata"]["labels"].as_object();
        Self {
            unlabelled: labels.is_none_or(serde_json::Map::is_empty),
            empties,
            updated_subresource,
        }
    }

    fn subresource(&self) -> &'a str {
        self.updated_subresource.unwrap_or_default()
    }
}

impl Registry {
    /// Creates an object.
    pub fn create(
        &self,
        target: &Target,
        object: Value,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let facts = RequestFacts::new(&object, ExplicitEmptyFields::of(&object), None);
        self.create_with_facts(target, object, &facts, context)
    }

    /// Creates an object from a body with known facts.
    pub(super) fn create_with_facts(
        &self,
        target: &Target,
        mut object: Value,
        facts: &RequestFacts<'_>,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let warnings = self.decode(target, &mut object, context.options)?;
        WriteResult::with_decode_warnings(self.create_decoded(target, object, facts, context), &warnings)
    }

    fn create_decoded(
        &self,
        target: &Target,
        mut object: Value,
        facts: &RequestFacts<'_>,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        check_namespace(target, &mut object)?;
        check_definition_lifecycle(target, &object)?;
        self.check_namespace_lifecycle(target, &object)?;
        self.check_rbac_escalation(target, None, &object, context.user)?;
        self.check_owner_references(target, None, &object, context.user)?;
        let kind = &target.kind;
        let named = !meta::name(&object).is_empty();
        let prefix = object["metadata"]["generateName"].as_str().map(str::to_owned);
        // A non-numeric resourceVersion counts as unset here.
        let version = meta::resource_version(&object).to_owned();
        let versioned = !context.options.applied
            && facts.updated_subresource.is_none()
            && version.parse::<u64>().is_ok_and(|version| version > 0);
        if facts.updated_subresource.is_none() {
            meta::wipe_system_fields(&mut object);
        }
        if !context.options.dry_run {
            meta::clear_self_link(&mut object);
        }
        // Fields that the server sets from here on have no manager.
        if !context.options.applied {
            track_fields(kind, None, &mut object, facts.subresource(), context);
        }
        self.set_default_class(kind, &mut object);
        meta::fill_system_fields(kind, &mut object);
        for _ in 0..if named { 1 } else { MAX_NAME_ATTEMPTS } {
            // A generated name that is taken is retried with another name.
            let mut object = if named {
                std::mem::take(&mut object)
            } else {
                object.clone()
            };
            if let (false, Some(prefix)) = (named, &prefix) {
                let name = meta::generate_name(prefix);
                meta::metadata_mut(&mut object).insert("name".into(), name.into());
            }
            self.set_limit_range_defaults(kind, &mut object);
            let early_warnings = warnings::before_create(kind, &object);
            prepare::prepare_for_create(kind, &mut object);
            if kind.kind == "CertificateSigningRequest" {
                crate::strategy::set_requester(&mut object, context.user);
            }
            // For a generated name, kube-apiserver works on a copy: label defaulting does not reach it.
            if facts.unlabelled && named {
                crate::strategy::default_job_labels(kind, &mut object);
            }
            self.admit_pod(kind, &mut object)?;
            let _allocation = self.lock_allocation(kind);
            // kube-apiserver allocates addresses and ports only in writes of the whole object.
            if facts.subresource().is_empty() {
                self.allocate(kind, &mut object, None, context.options.dry_run)?;
            }
            let mut causes = meta::validate_metadata_create(kind, &object);
            causes.extend(validate(kind, &object, None, &facts.empties));
            if !causes.is_empty() {
                let error = ApiError::invalid(kind, meta::name(&object), &causes);
                return Err(error.with_warnings(&early_warnings));
            }
            let warnings = [early_warnings, warnings::on_create(kind, &object)].concat();
            self.check_limit_ranges(kind, &object)
                .map_err(|error| error.with_warnings(&warnings))?;
            let written = |object| WriteResult {
                object,
                created: true,
                warnings: warnings.clone(),
            };
            let target = Target::new(kind, &target.namespace, meta::name(&object));
            if context.options.dry_run {
                if self.find(&target).is_some() {
                    return Err(self.already_exists(&target).with_warnings(&warnings));
                }
                if !version.is_empty() {
                    // A dry run returns the resourceVersion as it was sent.
                    meta::metadata_mut(&mut object).insert("resourceVersion".into(), version.into());
                }
                return Ok(written(Arc::new(Object::never_stored(
                    convert::to_stored_version(kind, object),
                ))));
            }
            if versioned {
                let message = "resourceVersion should not be set on objects to be created";
                return Err(ApiError::new(500, "", message).with_warnings(&warnings));
            }
            check_size(&object).map_err(|error| error.with_warnings(&warnings))?;
            match self.store.create(
                &kind.table(),
                &target.key(),
                convert::to_storage(kind, object, &facts.empties),
            ) {
                Ok(object) => {
                    self.sync_service_addresses(kind, None, Some(object.value()));
                    return Ok(written(object));
                }
                Err(_) if !named && prefix.is_some() => {}
                Err(WriteConflict::Exists | WriteConflict::Changed) => {
                    return Err(self.already_exists(&target).with_warnings(&warnings));
                }
            }
        }
        let name = prefix.unwrap_or_default();
        let mut error = ApiError::already_exists(kind, &name);
        error.message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for the object",
            kind.group_resource()
        );
        Err(error.with_retry_after(1))
    }

    /// The 409 for a name that is taken; it mentions if the existing object is being deleted.
    fn already_exists(&self, target: &Target) -> ApiError {
        let mut error = ApiError::already_exists(&target.kind, &target.name);
        if self
            .find(target)
            .is_some_and(|found| meta::is_being_deleted(found.value()))
        {
            error.message = format!("object is being deleted: {}", error.message);
        }
        error
    }

    /// Refuses creation in a namespace that does not exist or is terminating (admission plugin NamespaceLifecycle).
    fn check_namespace_lifecycle(&self, target: &Target, object: &Value) -> Result<(), ApiError> {
        if !target.kind.namespaced {
            return Ok(());
        }
        let namespace = &target.namespace;
        let namespaces = self.resource("", "namespaces")?;
        let Some(found) = self.store.get(&namespaces.table(), namespace) else {
            return Err(ApiError::not_found(&namespaces, namespace));
        };
        if found.value()["status"]["phase"] != "Terminating" && !meta::is_being_deleted(found.value()) {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let message = format!("namespace {namespace} is being terminated");
        let cause = Cause::new("NamespaceTerminating", "metadata.namespace", message);
        Err(ApiError::forbidden(&target.kind, meta::name(object), why).with_cause(&cause))
    }
}

/// Refuses creation of custom resources of a terminating definition.
fn check_definition_lifecycle(target: &Target, object: &Value) -> Result<(), ApiError> {
    let definition = target.kind.definition.as_ref();
    if definition.is_none_or(|definition| !definition.terminating) {
        return Ok(());
    }
    let why = "create not allowed while custom resource definition is terminating";
    Err(ApiError::forbidden(&target.kind, meta::name(object), why))
}

/// Defaults the object's namespace to that of the path and refuses another one; clears it for cluster-scoped resources.
pub(super) fn check_namespace(target: &Target, object: &mut Value) -> Result<(), ApiError> {
    let namespace = meta::namespace(object);
    if !target.kind.namespaced {
        if !namespace.is_empty() {
            meta::metadata_mut(object).remove("namespace");
        }
        return Ok(());
    }
    if namespace.is_empty() {
        let namespace = target.namespace.clone();
        meta::metadata_mut(object).insert("namespace".into(), namespace.into());
        return Ok(());
    }
    if namespace != target.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}
