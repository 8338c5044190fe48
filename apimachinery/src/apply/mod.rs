//! Server-side apply: field sets, merging by type, conflicts, and `managedFields`.
//!
//! [`apply`] handles apply requests; [`track`] updates `managedFields` for every other write. Both work on the object in the request's API
//! version. Sets of managers that wrote in other versions are compared with those versions' types; the objects are only converted for kinds
//! whose versions have different fields.

mod atom;
mod compare;
mod configuration;
mod error;
mod field_set;
mod last_applied;
mod managed_fields;
mod ownership;
mod path_element;
mod scale;
mod typed_value;
mod validate;

pub use configuration::merge_configuration;
pub use error::{ApplyError, ConflictCause};
pub use field_set::FieldSet;
pub use path_element::PathElement;
pub use scale::{ReplicasPath, parent_managed_fields, scale_managed_fields};

use crate::meta;
use crate::types::Type;
use managed_fields::{Manager, Managers};
use serde_json::Value;

/// Converts an object of the kind to an API version; none if it has the same fields in both, or if managers of the version are dropped. An
/// error refuses an apply; other writes drop the managed fields.
pub type Convert<'a> = &'a dyn Fn(&Value, &str) -> Result<Option<Value>, String>;

/// One write: its field manager, its target's kind, and the rules for that kind.
#[derive(Clone, Copy)]
pub struct Write<'a, 't> {
    /// The field manager: the parameter `fieldManager`, else the user agent up to its first slash.
    pub manager: &'a str,
    /// The API version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The object is a custom resource: an empty list does not clear its record.
    pub custom: bool,
    /// The subresource, or the empty string.
    pub subresource: &'a str,
    /// The time of the write, in RFC 3339 to the second.
    pub time: &'a str,
    /// Returns the type of the kind in an API version; none for a version that is not served.
    pub types: &'a dyn Fn(&str) -> Option<&'t Type>,
    /// Converts an object to an API version.
    pub convert: Convert<'a>,
    /// The fields that this request cannot change (upstream's reset fields): `status` on the main resource of a kind with a status
    /// subresource; `spec` and `metadata` on the status subresource of a custom resource. Writing them gives no ownership.
    pub reset: &'a FieldSet,
    /// Whether managers that wrote in an API version keep these fields. The version of the request is one of them.
    pub resets_in: &'a dyn Fn(&str) -> bool,
}

impl Write<'_, '_> {
    fn empty(self) -> Value {
        let mut empty = (self.types)(self.api_version).map_or(Value::Null, crate::types::zero_value);
        empty["apiVersion"] = self.api_version.into();
        empty["kind"] = self.kind.into();
        empty
    }
}

/// Updates `metadata.managedFields` of `new` after a create, an update or a non-apply patch. `live` is none for a create.
///
/// A client may reset the managed fields by sending a list with one empty entry (or an empty list, unless the object is a custom resource),
/// or replace them, but not through a subresource. They are dropped if an object cannot be converted to the version of a manager.
pub fn track(live: Option<&Value>, new: &mut Value, write: Write<'_, '_>) {
    let empty;
    let live = if let Some(live) = live {
        live
    } else {
        empty = write.empty();
        &empty
    };
    let sent = take_managed_fields(new);
    let live_managers = || managed_fields::decode(&live["metadata"]["managedFields"]).unwrap_or_default();
    let mut managers = match sent {
        Some(sent) if write.subresource.is_empty() => {
            if is_reset(&sent, write.custom) {
                Managers::new()
            } else {
                managed_fields::decode(&sent)
                    .ok()
                    .filter(|managers| !managers.is_empty())
                    .unwrap_or_else(live_managers)
            }
        }
        _ => live_managers(),
    };
    // An existing object without managed fields does not get any.
    if managers.is_empty() && live["metadata"]["uid"].is_string() {
        return;
    }
    // Ownership cannot be computed for an object that does not match its type: such a write drops the managed fields.
    let ty = (write.types)(write.api_version);
    let conforms = |object: &Value| ty.is_none_or(|ty| validate::validate_live(object, ty).is_ok());
    if !conforms(new) || !conforms(live) {
        return;
    }
    let manager = Manager::new(write.manager, false, write.api_version, write.subresource);
    if write
        .update(live, new, &mut managers, &manager, write.time)
        .is_err()
    {
        return;
    }
    managed_fields::cap_update_managers(&mut managers);
    put_managed_fields(new, &managers);
}

/// Applies a configuration to the live object (none to create it) and returns the new object with its managed fields; if nothing changed,
/// that is the live object. Defaulting, validation and storage are up to the caller.
///
/// # Errors
///
/// 400 for a configuration of another kind or with managed fields, 409 for conflicts, 500 for invalid managed fields, a configuration or a
/// live object that does not match its type, and failed conversions; each with kube-apiserver's message.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    force: bool,
    write: Write<'_, '_>,
) -> Result<Value, ApplyError> {
    let sent_version = meta::without_empty_group(config["apiVersion"].as_str().unwrap_or_default());
    let sent_kind = config["kind"].as_str().unwrap_or_default();
    if (sent_version, sent_kind) != (write.api_version, write.kind) {
        return Err(ApplyError::BadRequest(format!(
            "invalid object type: {}",
            gvk(sent_version, sent_kind)
        )));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    let mut live = live.cloned().unwrap_or_else(|| write.empty());
    let entries = take_managed_fields(&mut live).unwrap_or_default();
    let mut managers = managed_fields::decode(&entries)
        .map_err(|message| ApplyError::Internal(format!("failed to decode managed fields: {message}")))?;
    if let Some(ty) = (write.types)(write.api_version) {
        check_types(&live, config, ty, managers.is_empty())?;
    }
    if managers.is_empty() {
        // Fields that existed before the first apply get an owner.
        let before = Manager::new("before-first-apply", false, write.api_version, write.subresource);
        write.update(&write.empty(), &live, &mut managers, &before, write.time)?;
        managed_fields::cap_update_managers(&mut managers);
    }
    let manager = Manager::new(write.manager, true, write.api_version, write.subresource);
    let (changed, mut managers) = match write.apply(&live, config, &managers, &manager, force) {
        Err(conflict @ ApplyError::Conflict { .. }) if write.manager == "kubectl" => {
            last_applied::retry_with_force(&live, config, write, &managers, &manager, &conflict)?
        }
        other => other?,
    };
    let mut object = match changed {
        Some(object) => {
            if let Some(owned) = managers.get_mut(&manager) {
                owned.time = Some(write.time.to_owned());
            }
            object
        }
        None => live,
    };
    if write.manager == "kubectl" {
        last_applied::update_annotation(&mut object, config);
    }
    put_managed_fields(&mut object, &managers);
    Ok(object)
}

/// Checks that the configuration matches the type, and that the live object still does.
fn check_types(live: &Value, config: &Value, ty: &Type, unmanaged: bool) -> Result<(), ApplyError> {
    let refuse = |what: &str, object: &Value, why: &str| {
        let metadata = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        let kind = gvk(
            object["apiVersion"].as_str().unwrap_or_default(),
            object["kind"].as_str().unwrap_or_default(),
        );
        let named = format!("{}/{}; {kind}", metadata("namespace"), metadata("name"));
        ApplyError::Internal(format!("{what} ({named}){why}"))
    };
    let live_error = validate::validate_live(live, ty).err();
    if let (true, Some(why)) = (unmanaged, &live_error) {
        let what = "failed to create manager for existing fields: failed to convert new object";
        return Err(refuse(what, live, &format!(" to smd typed: {why}")));
    }
    if let Err(why) = validate::validate(config, ty) {
        return Err(refuse(
            "failed to create typed patch object",
            config,
            &format!(": {why}"),
        ));
    }
    match live_error {
        Some(why) => Err(refuse(
            "failed to create typed live object",
            live,
            &format!(": {why}"),
        )),
        None => Ok(()),
    }
}

fn is_reset(entries: &Value, custom: bool) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => !custom,
        Some([only]) => only
            .as_object()
            .is_some_and(|entry| entry.values().all(|value| value.is_null() || value == "")),
        _ => false,
    }
}

fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

fn put_managed_fields(object: &mut Value, managers: &Managers) {
    take_managed_fields(object);
    let (Some(entries), Some(object)) = (managed_fields::encode(managers), object.as_object_mut()) else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Returns how a value does not match its type, in which sets and map lists have no duplicate items; none if it matches.
pub fn type_error(value: &Value, ty: &Type) -> Option<String> {
    validate::validate(value, ty).err()
}

/// Returns why a list of `managedFields` is invalid; none if it is valid.
pub fn managed_fields_error(entries: &Value) -> Option<String> {
    managed_fields::decode(entries).err()
}

/// Formats group, version and kind as the real server does.
pub fn gvk(api_version: &str, kind: &str) -> String {
    let version = if api_version.contains('/') {
        api_version.to_owned()
    } else {
        format!("/{api_version}")
    };
    format!("{version}, Kind={kind}")
}

#[cfg(test)]
mod tests;
