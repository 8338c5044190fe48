//! The update verb: writes to whole objects and to subresources, by replacement or by a patch.

use super::create::{RequestFacts, check_namespace};
use super::retry::RetryDeadline;
use super::unchanged::differs_only_in_managed_fields;
use super::write::{Write, WriteChange, WriteContext, WriteOutcome};
use super::{Registry, Target, WriteResult, metadata};
use crate::auth::User;
use crate::kinds::{Kind, convert};
use crate::meta;
use crate::request::{WriteOptions, parse_uint};
use crate::status::{ApiError, Cause};
use crate::types::ExplicitEmptyFields;
use serde_json::{Value, json};

/// The new state of an object, and the fields that the request set to empty values.
#[derive(Debug)]
pub struct UpdatedObject {
    /// The object.
    pub object: Value,
    /// The fields that were sent empty.
    pub empties: ExplicitEmptyFields,
}

impl From<Value> for UpdatedObject {
    fn from(object: Value) -> Self {
        Self {
            object,
            empties: ExplicitEmptyFields::default(),
        }
    }
}

impl Registry {
    /// Replaces an object, or a subresource of it.
    pub fn update(
        &self,
        target: &Target,
        subresource: &str,
        object: &Value,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let mut object = object.clone();
        let empties = ExplicitEmptyFields::of(&object);
        let mut warnings = self.decode(target, &mut object, context.options)?;
        let creates = target.kind.allows_create_on_update(subresource);
        let written = check_target(target, &mut object).and_then(|()| {
            warnings.extend(metadata::remove_repeated_owners(&mut object, false));
            self.guaranteed_update(target, subresource, creates, context, |old| {
                check_uid(target, &object, old, context.options.dry_run)?;
                Ok(UpdatedObject {
                    object: object.clone(),
                    empties: empties.clone(),
                })
            })
        });
        WriteResult::with_decode_warnings(written, &warnings)
    }

    /// Updates an object, or a subresource of it: `change` gets the current state in the version of the request and returns the new state.
    /// With `creates`, an object that does not exist is passed as None and created.
    ///
    /// After a write conflict, `change` is called again with the new state, as by kube-apiserver's GuaranteedUpdate. A conflict is an error
    /// only if `change` returns an object with the resource version of an older state.
    pub fn guaranteed_update(
        &self,
        target: &Target,
        subresource: &str,
        creates: bool,
        context: WriteContext<'_>,
        change: impl FnMut(Option<&Value>) -> Result<UpdatedObject, ApiError>,
    ) -> Result<WriteResult, ApiError> {
        let mut warnings = vec![];
        let updated = self.update_with_warnings(target, subresource, creates, context, change, &mut warnings);
        WriteResult::with_decode_warnings(updated, &warnings)
    }

    /// Updates an object that exists, or a subresource of it, as a part of the server with this field manager; retries after write conflicts.
    pub(crate) fn update_as_manager(
        &self,
        target: &Target,
        subresource: &str,
        manager: &str,
        mut change: impl FnMut(&mut Value) -> Result<(), ApiError>,
    ) -> Result<WriteResult, ApiError> {
        let (user, options) = (User::system(), WriteOptions::of_manager(manager));
        let context = WriteContext::new(&user, &options);
        self.guaranteed_update(target, subresource, false, context, |old| {
            let mut object = old.cloned().unwrap_or_default();
            change(&mut object)?;
            Ok(object.into())
        })
    }

    /// Updates the object, and adds the warnings of mutating webhooks.
    fn update_with_warnings(
        &self,
        target: &Target,
        subresource: &str,
        creates: bool,
        context: WriteContext<'_>,
        mut change: impl FnMut(Option<&Value>) -> Result<UpdatedObject, ApiError>,
        warnings: &mut Vec<String>,
    ) -> Result<WriteResult, ApiError> {
        let kind = &target.kind;
        let deadline = RetryDeadline::start();
        loop {
            let Some(old) = self.find(target) else {
                if !creates {
                    return Err(ApiError::not_found(kind, &target.name));
                }
                match self.create_on_update(target, subresource, change(None)?, context) {
                    // Another request created the object first: it is updated instead.
                    Err(error) if error.reason == "AlreadyExists" => deadline.check()?,
                    outcome => return outcome,
                }
                continue;
            };
            let shown = self.convert_by_webhook(kind, vec![old.clone()])?;
            let shown = shown.first().unwrap_or(&old);
            let before = convert::to_request_version(kind, shown.value());
            let before = before.as_ref().unwrap_or_else(|| shown.value());
            let UpdatedObject {
                object: mut new,
                mut empties,
            } = change(Some(before))?;
            // An apply without changes keeps the stored form of empty fields.
            if context.options.applied
                && kind.counts_explicit_empty_fields()
                && differs_only_in_managed_fields(&new, before, |_, _| true)
            {
                empties.inherit_ca_bundles(old.value());
            }
            if meta::name(&new).is_empty() {
                return Err(super::apply::name_required(target));
            }
            check_name(target, &new)?;
            check_namespace(target, &mut new)?;
            let write = Write {
                target,
                subresource,
                context,
                empties: &empties,
                change: WriteChange::Update { old: &old, before },
            };
            self.mutate(&write, &mut new, warnings)?;
            self.check_rbac_escalation(target, Some(before), &new, context.user)?;
            check_namespace(target, &mut new)?;
            keep_identity(&mut new, before);
            check_resource_version(target, &mut new, before)?;
            if let WriteOutcome::Written(written) = self.validate_and_store(&write, new)? {
                return Ok(written);
            }
            deadline.check()?;
        }
    }

    fn create_on_update(
        &self,
        target: &Target,
        subresource: &str,
        new: UpdatedObject,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let UpdatedObject { mut object, empties } = new;
        check_name(target, &object)?;
        check_namespace(target, &mut object)?;
        parse_resource_version(&object)?;
        meta::metadata_mut(&mut object).insert("name".into(), target.name.clone().into());
        let facts = RequestFacts::new(&object, empties, Some(subresource));
        self.create_with_facts(target, object, &facts, context)
    }
}

/// Checks that the name and namespace of the body match the path. The name is required.
pub(crate) fn check_target(target: &Target, object: &mut Value) -> Result<(), ApiError> {
    check_namespace(target, object)?;
    match meta::name(object) {
        "" => Err(super::apply::name_required(target)),
        _ => check_name(target, object),
    }
}

/// Checks that the name of the body, if set, matches the path.
fn check_name(target: &Target, object: &Value) -> Result<(), ApiError> {
    let name = meta::name(object);
    if name.is_empty() || name == target.name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        target.name
    )))
}

/// Checks the uid precondition of the body against the existing object; without an object any uid is refused.
pub(super) fn check_uid(
    target: &Target,
    new: &Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<(), ApiError> {
    let (uid, existing) = (meta::uid(new), old.map_or("", meta::uid));
    if !uid.is_empty() && uid != existing {
        // A dry run's storage in kube-apiserver has no key prefix.
        let root = if dry_run { "" } else { "/registry" };
        return Err(failed_precondition(target, root, "UID", uid, existing));
    }
    Ok(())
}

/// The 409 of the storage for a precondition that the stored object does not meet; `root` is the prefix of its keys.
pub(super) fn failed_precondition(
    target: &Target,
    root: &str,
    what: &str,
    expected: &str,
    actual: &str,
) -> ApiError {
    let key = format!("{root}/{}/{}", etcd_prefix(&target.kind), target.key());
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what} in \
         precondition: {expected}, {what} in object meta: {actual}"
    );
    ApiError::conflict(&target.kind, &target.name, why)
}

/// The key prefix under which kube-apiserver stores objects of a kind in etcd.
pub(super) fn etcd_prefix(kind: &Kind) -> String {
    let prefix = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") => "services/specs",
        ("", "endpoints") => "services/endpoints",
        ("", "nodes") => "minions",
        ("", "replicationcontrollers") => "controllers",
        ("networking.k8s.io", "ingresses") => "ingress",
        (group, plural) if kind.definition.is_some() || group == "apiextensions.k8s.io" => {
            return format!("{group}/{plural}");
        }
        (_, plural) => plural,
    };
    prefix.to_owned()
}

/// Carries over the metadata that the server owns.
fn keep_identity(new: &mut Value, old: &Value) {
    let before = &old["metadata"];
    let metadata = meta::metadata_mut(new);
    // The server owns these, whatever the body contains.
    if metadata.get("uid").is_none() {
        metadata.insert("uid".into(), before["uid"].clone());
    }
    // deletionTimestamp cannot be removed by an update. Setting it is refused later, by validation.
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if !before[key].is_null() && (key == "deletionTimestamp" || metadata.get(key).is_none()) {
            metadata.insert(key.to_owned(), before[key].clone());
        }
    }
    for key in ["creationTimestamp", "generation"] {
        meta::set_or_remove(metadata, key, &before[key]);
    }
}

/// Returns the resourceVersion of an object, 0 without one.
fn parse_resource_version(object: &Value) -> Result<u64, ApiError> {
    match meta::resource_version(object) {
        "" => Ok(0),
        version => parse_uint(version).map_err(|why| ApiError::new(500, "", why)),
    }
}

/// Checks the resourceVersion precondition.
fn check_resource_version(target: &Target, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    let version = parse_resource_version(new)?;
    let conditional = version != 0;
    if !conditional && !target.kind.allows_unconditional_update() {
        let cause = Cause::invalid(
            "metadata.resourceVersion",
            &json!(0),
            "must be specified for an update",
        );
        let kind = &target.kind;
        return Err(ApiError::invalid_of(
            &kind.group,
            &kind.plural,
            &target.name,
            &[cause],
        ));
    }
    if conditional && version != parse_resource_version(old)? {
        return Err(ApiError::modified(&target.kind, &target.name));
    }
    meta::metadata_mut(new).insert(
        "resourceVersion".into(),
        old["metadata"]["resourceVersion"].clone(),
    );
    Ok(())
}
