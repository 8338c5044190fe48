//! Server-side apply: field sets, merging by the kind's type, conflicts, and `managedFields`.
//!
//! [`apply`] does an apply request, [`track`] the bookkeeping of every other write. Both work on the object in the version of the
//! request; what other versions' managers own is compared in the types of their versions, without conversion, which is right for
//! custom resources with conversion `None`.

mod atom;
mod compare;
mod element;
mod error;
mod last_applied;
mod managed;
mod ownership;
mod scale;
mod set;
mod validate;
mod walk;

pub use element::PathElement;
pub use error::{ApplyError, ConflictCause};
pub use scale::{parent_record, scale_record};
pub use set::FieldSet;

use crate::types::Type;
use managed::{Manager, Managers};
use ownership::Scope;
use serde_json::Value;

/// A write: who, to what, and what its kind is.
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
    /// Now, in RFC 3339 to the second.
    pub time: &'a str,
    /// The type of the kind in a version; none where the version does not exist.
    pub types: &'a dyn Fn(&str) -> Option<&'t Type>,
    /// The fields that such a request cannot change, whatever it sends: `status` for an object whose status is a subresource; `spec` and
    /// `metadata` for the status of a custom resource. Nobody comes to own them by it.
    pub reset: &'a FieldSet,
}

impl<'a, 't> Write<'a, 't> {
    fn scope(self) -> Scope<'a, 't> {
        Scope {
            api_version: self.api_version,
            types: self.types,
            reset: self.reset,
        }
    }

    fn empty(self) -> Value {
        let mut empty = (self.types)(self.api_version).map_or(Value::Null, crate::types::zero_value);
        empty["apiVersion"] = self.api_version.into();
        empty["kind"] = self.kind.into();
        empty
    }
}

/// Records who changed what in `metadata.managedFields` of the new object; for create, update and all patches but apply. `live` is none
/// for a create. A client may clear the record by sending a list with one
/// empty entry (or with none, unless the object is a custom resource), and replace it, but not through a subresource.
pub fn track(live: Option<&Value>, new: &mut Value, write: Write<'_, '_>) {
    let empty;
    let live = if let Some(live) = live {
        live
    } else {
        empty = write.empty();
        &empty
    };
    let sent = take_managed_fields(new);
    let of_live = || managed::decode(&live["metadata"]["managedFields"]).unwrap_or_default();
    let mut managers = match sent {
        Some(sent) if write.subresource.is_empty() => {
            if is_reset(&sent, write.custom) {
                Managers::new()
            } else {
                managed::decode(&sent)
                    .ok()
                    .filter(|managers| !managers.is_empty())
                    .unwrap_or_else(of_live)
            }
        }
        _ => of_live(),
    };
    // An object without a record gets none, unless it is new.
    if managers.is_empty() && live["metadata"]["uid"].is_string() {
        return;
    }
    // Of what fits no type it cannot be said who owns what: such a write drops the record.
    let typed = (write.types)(write.api_version);
    if typed.is_some_and(|ty| !validate::fits(new, ty) || !validate::fits(live, ty)) {
        return;
    }
    let manager = Manager::new(write.manager, false, write.api_version, write.subresource);
    let scope = write.scope();
    scope.update(live, new, &mut managers, &manager, write.time);
    managed::cap(&mut managers);
    put_managed_fields(new, &managers);
}

/// Applies a configuration to the live object, none to create it, and answers with the new object and its record. It may be the live
/// object. Defaults, validation and everything else are the caller's.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    force: bool,
    write: Write<'_, '_>,
) -> Result<Value, ApplyError> {
    let sent_version = config["apiVersion"].as_str().unwrap_or_default();
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
    let mut managers = managed::decode(&entries)
        .map_err(|message| ApplyError::Internal(format!("failed to decode managed fields: {message}")))?;
    if let Some(Err(message)) = (write.types)(write.api_version).map(|ty| validate::validate(config, ty)) {
        let name = |name: &str| config["metadata"][name].as_str().unwrap_or_default();
        return Err(ApplyError::Internal(format!(
            "failed to create typed patch object ({}/{}; {}): {message}",
            name("namespace"),
            name("name"),
            gvk(sent_version, sent_kind)
        )));
    }
    let scope = write.scope();
    if managers.is_empty() {
        // What was there before anybody applied belongs to somebody.
        let before = Manager::new("before-first-apply", false, write.api_version, write.subresource);
        scope.update(&write.empty(), &live, &mut managers, &before, write.time);
        managed::cap(&mut managers);
    }
    let manager = Manager::new(write.manager, true, write.api_version, write.subresource);
    let (outcome, mut managers) = attempt(&scope, &live, config, &managers, &manager, force);
    let outcome = match outcome {
        Err(conflict @ ApplyError::Conflict { .. }) if write.manager == "kubectl" => {
            let retried = last_applied::allows(&live, config, write, &managers, &manager, &conflict)?;
            managers = retried.1;
            Ok(retried.0)
        }
        other => other,
    };
    let mut object = match outcome? {
        Some(object) => {
            if let Some(owned) = managers.get_mut(&manager) {
                owned.time = Some(write.time.to_owned());
            }
            object
        }
        None => live,
    };
    if write.manager == "kubectl" {
        last_applied::renew(&mut object, config);
    }
    put_managed_fields(&mut object, &managers);
    Ok(object)
}

fn attempt(
    scope: &Scope<'_, '_>,
    live: &Value,
    config: &Value,
    managers: &Managers,
    manager: &Manager,
    force: bool,
) -> (Result<Option<Value>, ApplyError>, Managers) {
    let mut after = managers.clone();
    match scope.apply(live, config, &mut after, manager, force) {
        Ok(object) => (Ok(object), after),
        Err(error) => (Err(error), managers.clone()),
    }
}

/// With the times of the old record, when nothing but times differs: such a write changes nothing. Call it with what is about to be
/// stored.
pub fn keep_times(old: &Value, new: &mut Value) {
    let without_times = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for entry in metadata
                .get_mut("managedFields")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                entry["time"] = Value::Null;
            }
            metadata.remove("resourceVersion");
        }
        object
    };
    let (before, after) = (
        &old["metadata"]["managedFields"],
        &new["metadata"]["managedFields"],
    );
    if before != after && before.is_array() && without_times(old) == without_times(new) {
        let before = before.clone();
        if let Some(after) = new.pointer_mut("/metadata/managedFields") {
            *after = before;
        }
    }
}

/// Whether `metadata.managedFields` can be read; a write that sends others is stored with the old ones.
pub fn check_managed_fields(entries: &Value) -> Result<(), String> {
    managed::decode(entries).map(drop)
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
    let (Some(entries), Some(object)) = (managed::encode(managers), object.as_object_mut()) else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Group, version and kind as the real server writes them.
pub(crate) fn gvk(api_version: &str, kind: &str) -> String {
    let version = if api_version.contains('/') {
        api_version.to_owned()
    } else {
        format!("/{api_version}")
    };
    format!("{version}, Kind={kind}")
}

#[cfg(test)]
mod tests;
