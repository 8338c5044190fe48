//! Rules for metadata on create and update.

use crate::builtin;
use crate::kinds::Kind;
use crate::meta::{self, metadata_mut, name, names};
use crate::status::Cause;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Clears fields that a client cannot set on create.
pub(super) fn wipe_system_fields(object: &mut Value) {
    let metadata = metadata_mut(object);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(key);
    }
}

/// Clears `selfLink`, which is not stored: only the response of a dry run has it.
pub(super) fn clear_self_link(object: &mut Value) {
    metadata_mut(object).remove("selfLink");
}

/// Removes repeated owner references, and returns the warning about them. Mutating admission may have added them.
pub(super) fn remove_repeated_owners(object: &mut Value, is_admitted: bool) -> Option<String> {
    let owners = object
        .get_mut("metadata")?
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    let (mut kept, mut repeated, mut seen) = (vec![], vec![], BTreeSet::new());
    for owner in std::mem::take(owners) {
        let uid = meta::text(&owner, "uid").to_owned();
        // Most lists have no uid twice: their items are not compared.
        if seen.contains(&uid) && kept.contains(&owner) {
            repeated.push(uid);
        } else {
            seen.insert(uid);
            kept.push(owner);
        }
    }
    *owners = kept;
    let after = if is_admitted {
        " after mutating admission happens"
    } else {
        ""
    };
    (!repeated.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries{after}; API server dedups owner references in 1.20+, and may reject such \
             requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        )
    })
}

/// Sets the fields that the server owns on create: uid, creation timestamp and generation.
pub(super) fn fill_system_fields(kind: &Kind, object: &mut Value) {
    let metadata = metadata_mut(object);
    metadata.remove("resourceVersion");
    metadata.insert("uid".into(), meta::new_uid().into());
    metadata.insert("creationTimestamp".into(), meta::now().into());
    if kind.starts_at_generation_one() {
        metadata.insert("generation".into(), json!(1));
    }
}

/// Validates the metadata of a new object.
pub(super) fn validate_metadata_create(kind: &Kind, object: &Value) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let mut causes = validate_generate_name(kind, object);
    if name(object).is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        for why in name_errors(kind, name(object), false) {
            causes.push(Cause::invalid("metadata.name", &metadata["name"], why));
        }
    }
    causes.extend(
        builtin::validate_managed_fields(metadata, "metadata")
            .into_iter()
            .map(Cause::from),
    );
    causes
}

/// Validates `generateName` as the names of the kind.
fn validate_generate_name(kind: &Kind, object: &Value) -> Vec<Cause> {
    let prefix = meta::text(&object["metadata"], "generateName");
    let errors = name_errors(kind, prefix, true).into_iter();
    errors
        .filter(|_| !prefix.is_empty())
        .map(|why| generate_name_cause(prefix, why))
        .collect()
}

fn generate_name_cause(prefix: &str, why: &str) -> Cause {
    Cause::invalid("metadata.generateName", &json!(prefix), why)
}

/// Adds what kinds that validate `generateName` in updates report behind the other errors of metadata.
pub(super) fn insert_generate_name_errors(
    causes: &mut Vec<Cause>,
    kind: &Kind,
    subresource: &str,
    object: &Value,
) {
    let of_status = kind.kind == "VolumeAttachment" && subresource == "status";
    if kind.validates_generate_name_in_updates() && (subresource.is_empty() || of_status) {
        let is_other = |cause: &Cause| !cause.field.starts_with("metadata.");
        let at = causes.iter().position(is_other).unwrap_or(causes.len());
        causes.splice(at..at, validate_generate_name(kind, object));
    }
}

/// Validates the metadata of an update against the stored object.
pub(super) fn validate_metadata_update(object: &Value, old: &Value) -> Vec<Cause> {
    let (new, before) = (&object["metadata"], &old["metadata"]);
    let prefix = meta::text(new, "generateName");
    let errors = names::path_segment_errors(prefix).into_iter();
    let mut causes: Vec<Cause> = errors.map(|why| generate_name_cause(prefix, why)).collect();
    for key in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if new[key] != before[key] {
            causes.push(Cause::invalid(
                format!("metadata.{key}"),
                &new[key],
                "field is immutable",
            ));
        }
    }
    if meta::is_being_deleted(old) {
        let held = meta::finalizers(old);
        let added: Vec<&str> = meta::finalizers(object)
            .into_iter()
            .filter(|finalizer| !held.contains(finalizer))
            .collect();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", why));
        }
    }
    causes.extend(
        builtin::validate_managed_fields(new, "metadata")
            .into_iter()
            .map(Cause::from),
    );
    causes
}

/// Validates the name of an object of a kind. With `prefix`, the name is a `generateName`, which may end with a dash.
fn name_errors(kind: &Kind, name: &str, prefix: bool) -> Vec<&'static str> {
    let shortened = match name.strip_suffix('-') {
        Some(rest) if prefix => format!("{rest}a"),
        _ => name.to_owned(),
    };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io" | "certificates.k8s.io", _)
        | ("networking.k8s.io", "IPAddress") => names::path_segment_errors(name),
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => names::label_errors(&shortened),
        // The real server does not validate the names of core events and of disruption budgets.
        ("", "Event") | ("policy", "PodDisruptionBudget") => vec![],
        _ => names::subdomain_errors(&shortened),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_owners_are_removed() {
        let owner =
            |uid: &str, name: &str| json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid });
        let mut object = json!({ "metadata": {} });
        assert_eq!(remove_repeated_owners(&mut object, false), None);
        assert_eq!(object, json!({ "metadata": {} }));
        let owners = [owner("1", "a"), owner("1", "b"), owner("2", "a")];
        let mut sent = owners.to_vec();
        sent.extend([owners[2].clone(), owners[0].clone()]);
        object["metadata"]["ownerReferences"] = sent.into();
        let warning = remove_repeated_owners(&mut object, true).unwrap();
        assert!(
            warning.contains("entries after mutating admission happens; API server")
                && warning.ends_with("observed: 2, 1"),
            "{warning}"
        );
        assert_eq!(object["metadata"]["ownerReferences"], json!(owners));
        assert_eq!(remove_repeated_owners(&mut object, false), None);
    }

    #[test]
    fn finalizers_cannot_be_added_to_an_object_being_deleted() {
        let old = json!({ "metadata": { "name": "a", "deletionTimestamp": "x", "finalizers": ["a/b"] } });
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
        let causes = validate_metadata_update(&new, &old);
        assert_eq!(causes.len(), 1);
        assert!(
            causes[0]
                .message
                .ends_with(r#"found new finalizers []string{"c/d"}"#)
        );
        new["metadata"]["finalizers"] = json!([]);
        assert_eq!(validate_metadata_update(&new, &old), []);
    }
}
