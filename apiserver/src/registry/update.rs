//! The update verb: writes to whole objects and to subresources, by replacement or by a patch.

use super::create::{RequestFacts, WriteContext, check_namespace};
use super::managed_fields::track_fields;
use super::object_size::check_size;
use super::retry::RetryDeadline;
use super::validate::validate_subresource;
use super::{Registry, Target, WriteResult, convert, prepare};
use crate::auth::ResourceAttributes;
use crate::kinds::Kind;
use crate::meta;
use crate::quote::quoted;
use crate::status::{ApiError, Cause};
use crate::store::{Object, WriteConflict};
use crate::strategy::warnings;
use crate::types::ExplicitEmptyFields;
use serde_json::{Value, json};
use std::sync::Arc;

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

/// Kinds with validation that does not repeat the check of metadata changes.
const METADATA_CHECKED_ONCE: &[(&str, &str)] = &[
    ("", "Event"),
    ("", "LimitRange"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("policy", "PodDisruptionBudget"),
];

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
        let warnings = self.decode(target, &mut object, context.options)?;
        let creates = target.kind.allows_create_on_update(subresource);
        let written = check_target(target, &mut object).and_then(|()| {
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
        mut change: impl FnMut(Option<&Value>) -> Result<UpdatedObject, ApiError>,
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
            let before = convert::to_request_version(kind, old.value());
            let before = before.as_ref().unwrap_or_else(|| old.value());
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
            self.check_rbac_escalation(target, Some(before), &new, context.user)?;
            check_identity(target, &mut new, before)?;
            check_resource_version(target, &mut new, before)?;
            // Fields that the server sets from here on have no manager.
            if !context.options.applied && subresource != "scale" {
                track_fields(kind, Some(before), &mut new, subresource, context);
            }
            prepare::prepare_for_update(kind, &mut new, (before, old.value()), subresource, &empties);
            let _allocation = self.lock_allocation(kind);
            if subresource.is_empty() {
                self.allocate(kind, &mut new, Some(before), context.options.dry_run)?;
                self.check_owner_references(target, Some(before), &new, context.user)?;
            }
            // The generic rules are applied once, and again by the validation of most kinds: their causes appear twice.
            let mut causes = meta::validate_metadata_update(&new, before);
            if !METADATA_CHECKED_ONCE.contains(&(kind.group.as_str(), kind.kind.as_str())) {
                causes.extend(causes.clone());
            }
            causes.extend(validate_subresource(kind, subresource, &new, before, &empties));
            if !causes.is_empty() {
                return Err(ApiError::invalid(kind, &target.name, &causes));
            }
            self.check_signer_permission(target, subresource, (before, &new), context.user)?;
            if !context.options.dry_run {
                meta::clear_self_link(&mut new);
            }
            let warnings = warnings::on_update(kind, subresource, &new, before);
            self.check_limit_ranges_on_update(kind, subresource, &new, before)
                .map_err(|error| error.with_warnings(&warnings))?;
            let written = |object| WriteResult {
                object,
                created: false,
                warnings: warnings.clone(),
            };
            if is_noop_update(&new, before) {
                return Ok(written(old));
            }
            if context.options.dry_run {
                return Ok(written(Arc::new(Object::never_stored(
                    convert::to_stored_version(kind, new),
                ))));
            }
            check_size(&new).map_err(|error| error.with_warnings(&warnings))?;
            if let Ok(object) = self.update_or_delete(target, &old, new, &empties) {
                return Ok(written(object));
            }
            deadline.check()?;
        }
    }

    /// Stores the new state, or deletes the object if the update removed the last finalizer.
    fn update_or_delete(
        &self,
        target: &Target,
        old: &Object,
        new: Value,
        empties: &ExplicitEmptyFields,
    ) -> Result<Arc<Object>, WriteConflict> {
        let (table, key) = (target.kind.table(), target.key());
        if prepare::is_ready_to_delete(&target.kind, &new) {
            let removed = self.store.delete(&table, &key, old)?;
            self.sync_service_addresses(&target.kind, Some(old.value()), None);
            // The response shows the object as the update requested it.
            let object = Object::new(convert::to_stored_version(&target.kind, new), removed.revision);
            return Ok(Arc::new(object));
        }
        let updated =
            self.store
                .update(&table, &key, old, convert::to_storage(&target.kind, new, empties))?;
        self.sync_service_addresses(&target.kind, Some(old.value()), Some(updated.value()));
        Ok(updated)
    }

    fn create_on_update(
        &self,
        target: &Target,
        subresource: &str,
        new: UpdatedObject,
        context: WriteContext<'_>,
    ) -> Result<WriteResult, ApiError> {
        let UpdatedObject { mut object, empties } = new;
        let kind = &target.kind;
        check_name(target, &object)?;
        check_namespace(target, &mut object)?;
        check_resource_version_syntax(&object)?;
        let access = ResourceAttributes {
            verb: "create",
            group: &kind.group,
            resource: &kind.plural,
            subresource,
            namespace: &target.namespace,
            name: &target.name,
        };
        self.authorizer.require(&self.store, context.user, &access)?;
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
fn check_uid(target: &Target, new: &Value, old: Option<&Value>, dry_run: bool) -> Result<(), ApiError> {
    let (uid, existing) = (meta::uid(new), old.map_or("", meta::uid));
    if !uid.is_empty() && uid != existing {
        // A dry run's storage in kube-apiserver has no key prefix.
        let root = if dry_run { "" } else { "/registry" };
        let key = format!("{root}/{}/{}", etcd_prefix(&target.kind), target.key());
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: {uid}, UID in object meta: {existing}"
        );
        return Err(ApiError::conflict(&target.kind, &target.name, why));
    }
    Ok(())
}

/// The key prefix under which kube-apiserver stores objects of a kind in etcd.
fn etcd_prefix(kind: &Kind) -> String {
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

/// Checks name and namespace, and carries over the metadata that the server owns.
fn check_identity(target: &Target, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    if meta::name(new).is_empty() {
        return Err(super::apply::name_required(target));
    }
    check_name(target, new)?;
    check_namespace(target, new)?;
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
        match &before[key] {
            Value::Null => metadata.remove(key),
            value => metadata.insert(key.to_owned(), value.clone()),
        };
    }
    Ok(())
}

fn check_resource_version_syntax(object: &Value) -> Result<(), ApiError> {
    let version = meta::resource_version(object);
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(version));
    Err(ApiError::new(500, "", message))
}

/// Checks the resourceVersion precondition.
fn check_resource_version(target: &Target, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    check_resource_version_syntax(new)?;
    let version = meta::resource_version(new);
    let conditional = !matches!(version, "" | "0");
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
    if conditional && version != meta::resource_version(old) {
        return Err(ApiError::modified(&target.kind, &target.name));
    }
    meta::metadata_mut(new).insert(
        "resourceVersion".into(),
        old["metadata"]["resourceVersion"].clone(),
    );
    Ok(())
}

/// True if nothing changed except the timestamps in managedFields.
fn is_noop_update(new: &Value, old: &Value) -> bool {
    differs_only_in_managed_fields(new, old, same_entries_ignoring_time)
}

/// True if nothing changed except managedFields, where `may` accepts the change.
fn differs_only_in_managed_fields(new: &Value, old: &Value, may: impl Fn(&Value, &Value) -> bool) -> bool {
    differing_fields(new, old).all(|key| {
        key == "metadata"
            && differing_fields(&new[key], &old[key])
                .all(|key| key == "managedFields" && may(&new["metadata"][key], &old["metadata"][key]))
    })
}

/// True if two lists of managedFields differ at most in their timestamps.
fn same_entries_ignoring_time(new: &Value, old: &Value) -> bool {
    match (new.as_array(), old.as_array()) {
        (Some(new), Some(old)) => {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len()
                && pairs.all(|(new, old)| differing_fields(new, old).all(|key| key == "time"))
        }
        // An absent list equals null.
        _ => new == old,
    }
}

/// Returns the names of the fields in which two objects differ; a single empty name if they differ and one of them is not an object.
fn differing_fields<'a>(new: &'a Value, old: &'a Value) -> impl Iterator<Item = &'a str> {
    let root = (!(new.is_object() && old.is_object()) && new != old).then_some("");
    let fields = |value: &'a Value| value.as_object().into_iter().flatten();
    let changed = fields(new).filter(|(key, value)| old.get(key.as_str()) != Some(*value));
    let removed = fields(old).filter(|(key, _)| new.get(key.as_str()).is_none());
    root.into_iter()
        .chain(changed.chain(removed).map(|(key, _)| key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_that_changes_only_managed_field_times_is_noop() {
        let object = |time: &str, manager: &str, data: Value| {
            let entries = json!([{ "manager": manager, "time": time }]);
            json!({ "metadata": { "name": "a", "managedFields": entries }, "data": data })
        };
        let old = object("1", "m", json!({ "k": "v" }));
        assert!(is_noop_update(&old, &old) && is_noop_update(&object("2", "m", json!({ "k": "v" })), &old));
        assert!(!is_noop_update(&object("1", "n", json!({ "k": "v" })), &old));
        assert!(!is_noop_update(&object("1", "m", json!({ "k": "w" })), &old));
        assert!(!is_noop_update(
            &object("1", "m", json!({ "k": "v", "l": "w" })),
            &old
        ));
        assert!(
            !is_noop_update(&object("1", "m", json!({})), &old)
                && !is_noop_update(&old, &object("1", "m", json!({})))
        );
        let (mut none, mut null) = (old.clone(), old.clone());
        none["metadata"].as_object_mut().unwrap().remove("managedFields");
        null["metadata"]["managedFields"] = Value::Null;
        assert!(is_noop_update(&none, &null) && is_noop_update(&null, &none));
        assert!(!is_noop_update(&none, &old) && !is_noop_update(&old, &none));
        null["metadata"]["name"] = json!("b");
        assert!(!is_noop_update(&null, &none));
    }
}
