//! Updates: of whole objects and of their parts, by replacement or by a patch.

use super::create::{Bodied, Sent, check_namespace};
use super::managed::track_fields;
use super::size::check_size;
use super::validate::validate_part;
use super::{Registry, Target, Written, convert, strategy};
use crate::auth::Access;
use crate::kinds::Kind;
use crate::meta;
use crate::quote::quoted;
use crate::status::{ApiError, Cause};
use crate::store::{Lost, Object};
use crate::strategy::warnings;
use crate::types::Empties;
use serde_json::{Value, json};
use std::sync::Arc;

/// How often an update without a resource version is tried anew when somebody was faster.
const ATTEMPTS: usize = 100;

/// An object as it was read, and what was sent empty in it.
#[derive(Debug)]
pub struct Read {
    /// The object.
    pub object: Value,
    /// What was sent empty.
    pub empties: Empties,
}

impl From<Value> for Read {
    fn from(object: Value) -> Self {
        Self {
            object,
            empties: Empties::default(),
        }
    }
}

/// Kinds whose own rules do not look at how metadata changes.
const CHECKED_ONCE: &[(&str, &str)] = &[
    ("", "Event"),
    ("", "LimitRange"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("policy", "PodDisruptionBudget"),
];

impl Registry {
    /// Replaces an object, or a part of it.
    pub fn update(
        &self,
        target: &Target,
        part: &str,
        object: &Value,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        let mut object = object.clone();
        let empties = Empties::of(&object);
        let warnings = self.decode(target, &mut object, by.options)?;
        let creates = target.kind.creates_on_update(part);
        let written = check_target(target, &mut object).and_then(|()| {
            self.change(target, part, creates, by, |old| {
                check_uid(target, &object, old, by.options.dry_run)?;
                Ok(Read {
                    object: object.clone(),
                    empties: empties.clone(),
                })
            })
        });
        Written::warned(written, &warnings)
    }

    /// Changes an object, or a part of it: `change` gets it in the version of the request and gives what shall be; it may be asked
    /// several times. With `creates` it may be asked for what is not there.
    pub fn change(
        &self,
        target: &Target,
        part: &str,
        creates: bool,
        by: Bodied<'_>,
        mut change: impl FnMut(Option<&Value>) -> Result<Read, ApiError>,
    ) -> Result<Written, ApiError> {
        let kind = &target.kind;
        for _ in 0..ATTEMPTS {
            let Some(old) = self.find(target) else {
                if !creates {
                    return Err(ApiError::not_found(kind, &target.name));
                }
                return self.create_by_update(target, part, change(None)?, by);
            };
            let before = convert::present(kind, old.value());
            let before = before.as_ref().unwrap_or_else(|| old.value());
            let Read {
                object: mut new,
                mut empties,
            } = change(Some(before))?;
            // An apply that changes nothing leaves all as it is kept.
            if by.options.applied && kind.counts_empties() && is_same_but(&new, before, |_, _| true) {
                empties.or_bundles_of(old.value());
            }
            self.admit_grants(target, Some(before), &new, by.user)?;
            check_identity(target, &mut new, before)?;
            let conditional = check_version(target, &mut new, before)?;
            // What the server adds from here on belongs to nobody.
            if !by.options.applied && part != "scale" {
                track_fields(kind, Some(before), &mut new, part, by);
            }
            strategy::prepare_update(kind, &mut new, (before, old.value()), part, &empties);
            if part.is_empty() {
                self.allocate(kind, &mut new, Some(before), by.options.dry_run)?;
                self.admit_owners(target, Some(before), &new, by.user)?;
            }
            // The rules for all kinds are applied, and again by most kinds' own: a fault stands in the causes as often.
            let mut causes = meta::validate_metadata_update(&new, before);
            if !CHECKED_ONCE.contains(&(kind.group.as_str(), kind.kind.as_str())) {
                causes.extend(causes.clone());
            }
            causes.extend(validate_part(kind, part, &new, before, &empties));
            if !causes.is_empty() {
                return Err(ApiError::invalid(kind, &target.name, &causes));
            }
            if !by.options.dry_run {
                meta::clear_self_link(&mut new);
            }
            let warnings = warnings::on_update(kind, part, &new, before);
            self.admit_changed_limits(kind, part, &new, before)
                .map_err(|error| error.with_warnings(&warnings))?;
            let written = |object| Written {
                object,
                created: false,
                warnings: warnings.clone(),
            };
            if is_same(&new, before) {
                return Ok(written(old));
            }
            if by.options.dry_run {
                return Ok(written(Arc::new(Object::unsaved(convert::store(kind, new)))));
            }
            check_size(&new).map_err(|error| error.with_warnings(&warnings))?;
            match self.replace(target, &old, new, &empties) {
                Ok(object) => return Ok(written(object)),
                Err(_) if conditional => {
                    return Err(ApiError::modified(kind, &target.name).with_warnings(&warnings));
                }
                Err(_) => {}
            }
        }
        Err(ApiError::modified(kind, &target.name))
    }

    /// Keeps the new version; when it is the one that nothing holds any more, the object goes.
    fn replace(
        &self,
        target: &Target,
        old: &Object,
        new: Value,
        empties: &Empties,
    ) -> Result<Arc<Object>, Lost> {
        let (table, key) = (target.kind.table(), target.key());
        if strategy::is_finished(&target.kind, &new) {
            let gone = self.store.delete(&table, &key, old)?;
            // The answer shows the object as it was asked to be.
            let object = Object::new(convert::store(&target.kind, new), gone.revision);
            return Ok(Arc::new(object));
        }
        self.store
            .update(&table, &key, old, convert::keep(&target.kind, new, empties))
    }

    fn create_by_update(
        &self,
        target: &Target,
        part: &str,
        new: Read,
        by: Bodied<'_>,
    ) -> Result<Written, ApiError> {
        let Read { mut object, empties } = new;
        let kind = &target.kind;
        check_name(target, &object)?;
        check_namespace(target, &mut object)?;
        check_number(&object)?;
        let access = Access {
            verb: "create",
            group: &kind.group,
            resource: &kind.plural,
            subresource: part,
            namespace: &target.namespace,
            name: &target.name,
        };
        self.authorizer.require(&self.store, by.user, &access)?;
        meta::metadata_mut(&mut object).insert("name".into(), target.name.clone().into());
        let sent = Sent::new(&object, empties, Some(part));
        self.create_sent(target, object, &sent, by)
    }
}

/// What is sent is what the path names: it says its name.
pub(crate) fn check_target(target: &Target, object: &mut Value) -> Result<(), ApiError> {
    check_namespace(target, object)?;
    match meta::name(object) {
        "" => Err(super::apply::unnamed(target)),
        _ => check_name(target, object),
    }
}

/// What is sent is called what the path says, if anything.
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

/// Who says which object it replaces must mean the one that is there; where none is it means another.
fn check_uid(target: &Target, new: &Value, old: Option<&Value>, dry_run: bool) -> Result<(), ApiError> {
    let (uid, present) = (meta::uid(new), old.map_or("", meta::uid));
    if !uid.is_empty() && uid != present {
        // What keeps nothing does not know where it would be kept.
        let root = if dry_run { "" } else { "/registry" };
        let key = format!("{root}/{}/{}", place(&target.kind), target.key());
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: {uid}, UID in object meta: {present}"
        );
        return Err(ApiError::conflict(&target.kind, &target.name, why));
    }
    Ok(())
}

/// Where the real server keeps objects of a kind.
fn place(kind: &Kind) -> String {
    let place = match (kind.group.as_str(), kind.plural.as_str()) {
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
    place.to_owned()
}

/// Name, namespace and uid are those of the object; what is not said is taken over.
fn check_identity(target: &Target, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    if meta::name(new).is_empty() {
        return Err(super::apply::unnamed(target));
    }
    check_name(target, new)?;
    check_namespace(target, new)?;
    let before = &old["metadata"];
    let metadata = meta::metadata_mut(new);
    // Whatever was sent, these are the server's.
    if metadata.get("uid").is_none() {
        metadata.insert("uid".into(), before["uid"].clone());
    }
    // An object that goes goes on; what is not asked to go cannot be made to by an update, which is refused later.
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

fn check_number(object: &Value) -> Result<(), ApiError> {
    let version = meta::resource_version(object);
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    let message = format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(version));
    Err(ApiError::new(500, "", message))
}

/// True when the update holds only for the version that it names.
fn check_version(target: &Target, new: &mut Value, old: &Value) -> Result<bool, ApiError> {
    check_number(new)?;
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
    is_same_but(new, old, is_same_record)
}

/// Whether nothing changed but who owns what, as far as that may.
fn is_same_but(new: &Value, old: &Value, may: impl Fn(&Value, &Value) -> bool) -> bool {
    fields_differing(new, old).all(|key| {
        key == "metadata"
            && fields_differing(&new[key], &old[key])
                .all(|key| key == "managedFields" && may(&new["metadata"][key], &old["metadata"][key]))
    })
}

/// Whether records of who owns what differ in times at most.
fn is_same_record(new: &Value, old: &Value) -> bool {
    match (new.as_array(), old.as_array()) {
        (Some(new), Some(old)) => {
            let mut pairs = new.iter().zip(old);
            new.len() == old.len()
                && pairs.all(|(new, old)| fields_differing(new, old).all(|key| key == "time"))
        }
        // None is like null.
        _ => new == old,
    }
}

/// The fields of two objects that are not the same; of something else than objects, a nameless one.
fn fields_differing<'a>(new: &'a Value, old: &'a Value) -> impl Iterator<Item = &'a str> {
    let whole = (!(new.is_object() && old.is_object()) && new != old).then_some("");
    let fields = |value: &'a Value| value.as_object().into_iter().flatten();
    let changed = fields(new).filter(|(key, value)| old.get(key.as_str()) != Some(*value));
    let gone = fields(old).filter(|(key, _)| new.get(key.as_str()).is_none());
    whole
        .into_iter()
        .chain(changed.chain(gone).map(|(key, _)| key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_times_of_records_do_not_count() {
        let object = |time: &str, manager: &str, data: Value| {
            let entries = json!([{ "manager": manager, "time": time }]);
            json!({ "metadata": { "name": "a", "managedFields": entries }, "data": data })
        };
        let old = object("1", "m", json!({ "k": "v" }));
        assert!(is_same(&old, &old) && is_same(&object("2", "m", json!({ "k": "v" })), &old));
        assert!(!is_same(&object("1", "n", json!({ "k": "v" })), &old));
        assert!(!is_same(&object("1", "m", json!({ "k": "w" })), &old));
        assert!(!is_same(&object("1", "m", json!({ "k": "v", "l": "w" })), &old));
        assert!(!is_same(&object("1", "m", json!({})), &old) && !is_same(&old, &object("1", "m", json!({}))));
        let (mut none, mut null) = (old.clone(), old.clone());
        none["metadata"].as_object_mut().unwrap().remove("managedFields");
        null["metadata"]["managedFields"] = Value::Null;
        assert!(is_same(&none, &null) && is_same(&null, &none));
        assert!(!is_same(&none, &old) && !is_same(&old, &none));
        null["metadata"]["name"] = json!("b");
        assert!(!is_same(&null, &none));
    }
}
