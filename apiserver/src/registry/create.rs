//! Creation.

use super::managed::track_fields;
use super::size::check_size;
use super::validate::validate;
use super::{Registry, Target, WriteOptions, Written, convert, strategy};
use crate::auth::User;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::store::{Lost, Object};
use crate::strategy::warnings;
use crate::types::Empties;
use serde_json::Value;
use std::sync::Arc;

/// How often another name is tried when a generated one is taken.
const ATTEMPTS: usize = 8;

/// Who writes what, and how.
#[derive(Clone, Copy, Debug)]
pub struct Bodied<'a> {
    /// Who.
    pub user: &'a User,
    /// How.
    pub options: &'a WriteOptions,
}

impl<'a> Bodied<'a> {
    /// Somebody, somehow.
    pub fn new(user: &'a User, options: &'a WriteOptions) -> Self {
        Self { user, options }
    }
}

/// What reading forgets of an object.
pub(super) struct Sent<'a> {
    /// It was sent without labels.
    unlabelled: bool,
    /// What was sent empty.
    empties: Empties,
    /// It was sent to replace what is not there, or this part of it.
    by_update: Option<&'a str>,
}

impl<'a> Sent<'a> {
    pub(super) fn new(object: &Value, empties: Empties, by_update: Option<&'a str>) -> Self {
        let labels = object["metadata"]["labels"].as_object();
        Self {
            unlabelled: labels.is_none_or(serde_json::Map::is_empty),
            empties,
            by_update,
        }
    }

    fn part(&self) -> &'a str {
        self.by_update.unwrap_or_default()
    }
}

impl Registry {
    /// Keeps a new object.
    pub fn create(&self, target: &Target, object: Value, by: Bodied<'_>) -> Result<Written, ApiError> {
        let sent = Sent::new(&object, Empties::of(&object), None);
        self.create_sent(target, object, &sent, by)
    }

    /// The same, of which more is known.
    pub(super) fn create_sent(
        &self,
        target: &Target,
        mut object: Value,
        sent: &Sent<'_>,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        let warnings = self.decode(target, &mut object, by.options)?;
        Written::warned(self.create_decoded(target, object, sent, by), &warnings)
    }

    fn create_decoded(
        &self,
        target: &Target,
        mut object: Value,
        sent: &Sent<'_>,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        check_namespace(target, &mut object)?;
        admit_definition(target, &object)?;
        self.admit_namespace(target, &object)?;
        self.admit_grants(target, None, &object, by.user)?;
        self.admit_owners(target, None, &object, by.user)?;
        let kind = &target.kind;
        let named = !meta::name(&object).is_empty();
        let prefix = object["metadata"]["generateName"].as_str().map(str::to_owned);
        // What is no version counts as none here.
        let version = meta::resource_version(&object).to_owned();
        let versioned = !by.options.applied
            && sent.by_update.is_none()
            && version.parse::<u64>().is_ok_and(|version| version > 0);
        if sent.by_update.is_none() {
            meta::wipe_system_fields(&mut object);
        }
        if !by.options.dry_run {
            meta::clear_self_link(&mut object);
        }
        // What the server adds from here on belongs to nobody.
        if !by.options.applied {
            track_fields(kind, None, &mut object, sent.part(), by);
        }
        self.admit_class(kind, &mut object);
        meta::fill_system_fields(kind, &mut object);
        for _ in 0..if named { 1 } else { ATTEMPTS } {
            // Only another name is another attempt.
            let mut object = if named {
                std::mem::take(&mut object)
            } else {
                object.clone()
            };
            if let (false, Some(prefix)) = (named, &prefix) {
                let name = meta::generate_name(prefix);
                meta::metadata_mut(&mut object).insert("name".into(), name.into());
            }
            self.fill_limits(kind, &mut object);
            let early = warnings::before_create(kind, &object);
            strategy::prepare_create(kind, &mut object);
            // Where it makes up a name, the real server works on a copy, whose labels are its own.
            if sent.unlabelled && named {
                crate::strategy::share_labels(kind, &mut object);
            }
            self.admit_pod(kind, &mut object)?;
            // The real server allocates where the whole is written.
            if sent.part().is_empty() {
                self.allocate(kind, &mut object, None, by.options.dry_run)?;
            }
            let mut causes = meta::validate_metadata_create(kind, &object);
            causes.extend(validate(kind, &object, None, &sent.empties));
            if !causes.is_empty() {
                let error = ApiError::invalid(kind, meta::name(&object), &causes);
                return Err(error.with_warnings(&early));
            }
            let warnings = [early, warnings::on_create(kind, &object)].concat();
            self.admit_limits(kind, &object)
                .map_err(|error| error.with_warnings(&warnings))?;
            let written = |object| Written {
                object,
                created: true,
                warnings: warnings.clone(),
            };
            let target = Target::new(kind, &target.namespace, meta::name(&object));
            if by.options.dry_run {
                if self.find(&target).is_some() {
                    return Err(self.exists(&target).with_warnings(&warnings));
                }
                if !version.is_empty() {
                    // It comes back as it was sent.
                    meta::metadata_mut(&mut object).insert("resourceVersion".into(), version.into());
                }
                return Ok(written(Arc::new(Object::unsaved(convert::store(kind, object)))));
            }
            if versioned {
                let message = "resourceVersion should not be set on objects to be created";
                return Err(ApiError::new(500, "", message).with_warnings(&warnings));
            }
            check_size(&object).map_err(|error| error.with_warnings(&warnings))?;
            match self.store.create(
                &kind.table(),
                &target.key(),
                convert::keep(kind, object, &sent.empties),
            ) {
                Ok(object) => return Ok(written(object)),
                Err(_) if !named && prefix.is_some() => {}
                Err(Lost::Exists | Lost::Changed) => {
                    return Err(self.exists(&target).with_warnings(&warnings));
                }
            }
        }
        let name = prefix.unwrap_or_default();
        let mut error = ApiError::already_exists(kind, &name);
        error.message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for the object",
            kind.qualified()
        );
        Err(error.with_retry_after(1))
    }

    /// What is said of a name that is taken.
    fn exists(&self, target: &Target) -> ApiError {
        let mut error = ApiError::already_exists(&target.kind, &target.name);
        if self
            .find(target)
            .is_some_and(|found| meta::is_being_deleted(found.value()))
        {
            error.message = format!("object is being deleted: {}", error.message);
        }
        error
    }

    /// Nothing is created where there is no namespace, or in one that goes.
    fn admit_namespace(&self, target: &Target, object: &Value) -> Result<(), ApiError> {
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

/// Nothing is created whose definition goes.
fn admit_definition(target: &Target, object: &Value) -> Result<(), ApiError> {
    let definition = target.kind.definition.as_ref();
    if definition.is_none_or(|definition| !definition.terminating) {
        return Ok(());
    }
    let why = "create not allowed while custom resource definition is terminating";
    Err(ApiError::forbidden(&target.kind, meta::name(object), why))
}

/// The namespace of the path is the object's, if it says none; what lies in none has none, whatever it says.
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
