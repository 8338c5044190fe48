//! The create verb.

use super::write::{Write, WriteChange, WriteContext, WriteOutcome};
use super::{Registry, Target, WriteResult, metadata};
use crate::kinds::Kind;
use crate::meta;
use crate::request::parse_uint;
use crate::status::ApiError;
use crate::types::ExplicitEmptyFields;
use serde_json::Value;

/// How many generated names are tried before the create fails with a conflict.
const MAX_NAME_ATTEMPTS: usize = 8;

/// Facts about the request body that decoding does not preserve.
pub(super) struct RequestFacts<'a> {
    /// The body has no labels, but its template has some.
    labels_from_template: bool,
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
        let is_unlabelled = labels.is_none_or(serde_json::Map::is_empty);
        Self {
            labels_from_template: is_unlabelled
                && !object["spec"]["template"]["metadata"]["labels"].is_null(),
            empties,
            updated_subresource,
        }
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
        let decode_warnings = self.decode(target, &mut object, context.options)?;
        let mut warnings = vec![];
        let created = self.create_with_warnings(target, object, facts, context, &mut warnings);
        let created = WriteResult::with_decode_warnings(created, &warnings);
        WriteResult::with_decode_warnings(created, &decode_warnings)
    }

    /// Creates the object, and adds the warnings of mutating webhooks.
    fn create_with_warnings(
        &self,
        target: &Target,
        mut object: Value,
        facts: &RequestFacts<'_>,
        context: WriteContext<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<WriteResult, ApiError> {
        check_namespace(target, &mut object)?;
        check_definition_lifecycle(target, &object)?;
        let kind = &target.kind;
        let named = !meta::name(&object).is_empty();
        // A non-numeric resourceVersion counts as unset here.
        let version = meta::resource_version(&object).to_owned();
        let is_update = facts.updated_subresource.is_some();
        let mut write = Write {
            target,
            subresource: facts.updated_subresource.unwrap_or_default(),
            context,
            empties: &facts.empties,
            change: WriteChange::Create {
                // For a generated name, kube-apiserver works on a copy: label defaulting does not reach it.
                labels_from_template: facts.labels_from_template && named,
                is_by_update: is_update,
                sent_version: &version,
                refuses_version: !context.options.applied
                    && !is_update
                    && parse_uint(&version).is_ok_and(|version| version > 0),
            },
        };
        if !is_update {
            metadata::wipe_system_fields(&mut object);
        }
        if !context.options.dry_run {
            metadata::clear_self_link(&mut object);
        }
        let sent_spec = (kind.kind == "Job").then(|| object["spec"].clone());
        self.mutate(&write, &mut object, warnings)?;
        if let WriteChange::Create {
            labels_from_template, ..
        } = &mut write.change
        {
            // Admission that changes a job replaces it by a copy, too.
            *labels_from_template &= sent_spec.is_none_or(|sent| sent == object["spec"]);
        }
        check_namespace(target, &mut object)?;
        self.check_rbac_escalation(target, None, &object, context.user)?;
        metadata::fill_system_fields(kind, &mut object);
        let prefix = meta::text(&object["metadata"], "generateName").to_owned();
        if named {
            let name = meta::name(&object).to_owned();
            return match self.validate_and_store(&write, object)? {
                WriteOutcome::Written(written) => Ok(written),
                WriteOutcome::Conflict { warnings } => {
                    let taken = Target::new(kind, &target.namespace, &name);
                    Err(self.already_exists(&taken, &prefix).with_warnings(&warnings))
                }
            };
        }
        for _ in 0..MAX_NAME_ATTEMPTS {
            let mut object = object.clone();
            if !prefix.is_empty() {
                let name = meta::generate_name(&prefix);
                meta::metadata_mut(&mut object).insert("name".into(), name.into());
            }
            if let WriteOutcome::Written(written) = self.validate_and_store(&write, object)? {
                return Ok(written);
            }
        }
        Err(no_unique_name(kind, &prefix))
    }

    /// The 409 for a name that is taken; it mentions if the existing object is being deleted. With a `generateName` beside the name, the error
    /// is that of generated names.
    fn already_exists(&self, target: &Target, prefix: &str) -> ApiError {
        let mut error = if prefix.is_empty() {
            ApiError::already_exists(&target.kind, &target.name)
        } else {
            no_unique_name(&target.kind, &target.name)
        };
        if self
            .find(target)
            .is_some_and(|found| meta::is_being_deleted(found.value()))
        {
            error.message = format!("object is being deleted: {}", error.message);
        }
        error
    }
}

/// The 409 for a generated name that is taken.
fn no_unique_name(kind: &Kind, name: &str) -> ApiError {
    let mut error = ApiError::already_exists(kind, name);
    error.message = format!(
        "{} {name:?} already exists, the server was not able to generate a unique name for the object",
        kind.group_resource()
    );
    error.with_retry_after(1)
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
