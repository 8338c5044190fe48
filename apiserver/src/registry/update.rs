//! Updates: of whole objects and of their parts, by replacement or by a patch.

use super::create::{Bodied, check_namespace};
use super::managed::track_fields;
use super::validate::validate;
use super::{Registry, Target, Written, convert, strategy};
use crate::auth::Access;
use crate::meta;
use crate::status::{ApiError, Cause};
use crate::store::{Lost, Object};
use serde_json::{Value, json};
use std::sync::Arc;

/// How often an update without a resource version is tried anew when somebody was faster.
const ATTEMPTS: usize = 100;

impl Registry {
    /// Replaces an object, or a part of it.
    pub fn update(
        &self,
        target: &Target,
        part: &str,
        object: &Value,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        check_name(target, object)?;
        let creates = target.kind.creates_on_update() && part.is_empty();
        let mut warnings = vec![];
        let mut written = self.change(target, part, creates, by, |_| {
            let mut object = object.clone();
            warnings = self.decode(target, &mut object, by.options)?;
            Ok(object)
        })?;
        written.warnings = warnings;
        Ok(written)
    }

    /// Changes an object, or a part of it: `change` gets it in the version of the request and gives what shall be; it may be asked
    /// several times. With `creates` it may be asked for what is not there.
    pub fn change(
        &self,
        target: &Target,
        part: &str,
        creates: bool,
        by: Bodied<'_>,
        mut change: impl FnMut(Option<&Value>) -> Result<Value, ApiError>,
    ) -> Result<Written, ApiError> {
        let kind = &target.kind;
        for _ in 0..ATTEMPTS {
            let Some(old) = self.find(target) else {
                if !creates {
                    return Err(ApiError::not_found(kind, &target.name));
                }
                let new = change(None)?;
                return self.create_by_update(target, new, by);
            };
            let before = convert::present(kind, old.value());
            let before = before.as_ref().unwrap_or_else(|| old.value());
            let mut new = change(Some(before))?;
            check_identity(target, &mut new, before)?;
            let conditional = check_version(target, &mut new, before)?;
            // What the server adds from here on belongs to nobody.
            if !by.options.applied && part != "scale" {
                track_fields(kind, Some(before), &mut new, part, by);
            }
            strategy::prepare_update(kind, &mut new, before, part);
            self.allocate(kind, &mut new)?;
            if part.is_empty() {
                self.admit_owners(target, Some(before), &new, by.user)?;
            }
            let mut causes = meta::check_update(&new, before);
            causes.extend(validate(kind, &new, Some(before)));
            if !causes.is_empty() {
                return Err(ApiError::invalid(kind, &target.name, &causes));
            }
            if is_same(&new, before) {
                return Ok(written(old));
            }
            if by.options.dry_run {
                return Ok(written(Arc::new(Object::unsaved(convert::store(kind, new)))));
            }
            match self.replace(target, &old, new) {
                Ok(object) => return Ok(written(object)),
                Err(_) if conditional => return Err(ApiError::modified(kind, &target.name)),
                Err(_) => {}
            }
        }
        Err(ApiError::modified(kind, &target.name))
    }

    /// Keeps the new version; when it is the one that nothing holds any more, the object goes.
    fn replace(&self, target: &Target, old: &Object, new: Value) -> Result<Arc<Object>, Lost> {
        let (table, key) = (target.kind.table(), target.key());
        if strategy::is_finished(&target.kind, &new) {
            let gone = self.store.delete(&table, &key, old)?;
            // The answer shows the object as it was asked to be.
            let object = Object::new(convert::store(&target.kind, new), gone.revision);
            return Ok(Arc::new(object));
        }
        self.store
            .update(&table, &key, old, convert::store(&target.kind, new))
    }

    fn create_by_update(
        &self,
        target: &Target,
        mut object: Value,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        let kind = &target.kind;
        check_name(target, &object)?;
        check_namespace(target, &mut object)?;
        if !meta::uid(&object).is_empty() || !meta::resource_version(&object).is_empty() {
            return Err(ApiError::not_found(kind, &target.name));
        }
        let access = Access {
            verb: "create",
            group: &kind.group,
            resource: &kind.plural,
            subresource: "",
            namespace: &target.namespace,
            name: &target.name,
        };
        self.authorizer.require(&self.store, by.user, &access)?;
        meta::metadata_mut(&mut object).insert("name".into(), target.name.clone().into());
        self.create(target, object, by)
    }
}

fn written(object: Arc<Object>) -> Written {
    Written {
        object,
        created: false,
        warnings: vec![],
    }
}

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

/// Name, namespace and uid are those of the object; what is not said is taken over.
fn check_identity(target: &Target, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    if meta::name(new).is_empty() {
        return Err(super::apply::unnamed(target));
    }
    check_name(target, new)?;
    check_namespace(target, new)?;
    let uid = meta::uid(new);
    if !uid.is_empty() && uid != meta::uid(old) {
        let group = match target.kind.group.as_str() {
            "" => String::new(),
            group => format!("{group}/"),
        };
        let key = format!("/registry/{group}{}/{}", target.kind.plural, target.key());
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: {uid}, UID in object meta: {}",
            meta::uid(old)
        );
        return Err(ApiError::conflict(&target.kind, &target.name, why));
    }
    let before = &old["metadata"];
    let metadata = meta::metadata_mut(new);
    // Whatever was sent, these are the server's.
    for key in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
    ] {
        match &before[key] {
            Value::Null => metadata.remove(key),
            value => metadata.insert(key.to_owned(), value.clone()),
        };
    }
    Ok(())
}

/// True when the update holds only for the version that it names.
fn check_version(target: &Target, new: &mut Value, old: &Value) -> Result<bool, ApiError> {
    let version = meta::resource_version(new);
    let conditional = !matches!(version, "" | "0");
    if !conditional && !target.kind.updates_unconditionally() {
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
    Ok(conditional)
}

/// Whether nothing changed but the times of managed fields.
fn is_same(new: &Value, old: &Value) -> bool {
    let without = |value: &Value| {
        let mut value = value.clone();
        let entries = value["metadata"]["managedFields"].as_array_mut();
        for entry in entries.into_iter().flatten() {
            if let Value::Object(entry) = entry {
                entry.remove("time");
            }
        }
        if value["metadata"]["managedFields"].is_null() {
            meta::metadata_mut(&mut value).remove("managedFields");
        }
        value
    };
    new == old || without(new) == without(old)
}
