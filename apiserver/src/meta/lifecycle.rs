//! Rules for metadata on create and update.

use super::{metadata_mut, name, names, now};
use crate::kinds::Kind;
use crate::status::Cause;
use rand::RngExt as _;
use serde_json::{Value, json};

/// Characters of generated names: no vowels, so that they do not spell words.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_CHARS: usize = 5;
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_CHARS;

/// Generates a name from a prefix and a random suffix. A long prefix is cut.
pub fn generate_name(prefix: &str) -> String {
    let mut end = prefix.len().min(MAX_PREFIX_BYTES);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut random = rand::rng();
    let suffix =
        (0..SUFFIX_CHARS).map(|_| char::from(SUFFIX_ALPHABET[random.random_range(0..SUFFIX_ALPHABET.len())]));
    prefix[..end].chars().chain(suffix).collect()
}

/// Clears fields that a client cannot set on create.
pub fn wipe_system_fields(object: &mut Value) {
    let metadata = metadata_mut(object);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(key);
    }
}

/// Clears `selfLink`, which is not stored: only the response of a dry run has it.
pub fn clear_self_link(object: &mut Value) {
    metadata_mut(object).remove("selfLink");
}

/// Sets the fields that the server owns on create: uid, creation timestamp and generation.
pub fn fill_system_fields(kind: &Kind, object: &mut Value) {
    let metadata = metadata_mut(object);
    metadata.remove("resourceVersion");
    metadata.insert("uid".into(), new_uid().into());
    metadata.insert("creationTimestamp".into(), now().into());
    if kind.starts_at_generation_one() {
        metadata.insert("generation".into(), json!(1));
    }
}

/// Generates a uid: a random UUID, version 4.
pub fn new_uid() -> String {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Validates the metadata of a new object.
pub fn validate_metadata_create(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    let metadata = &object["metadata"];
    if let Some(prefix) = metadata["generateName"].as_str() {
        for why in names::object_name(kind, prefix, true) {
            causes.push(Cause::invalid(
                "metadata.generateName",
                &metadata["generateName"],
                why,
            ));
        }
    }
    if name(object).is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        for why in names::object_name(kind, name(object), false) {
            causes.push(Cause::invalid("metadata.name", &metadata["name"], why));
        }
    }
    causes
}

/// Validates the metadata of an update against the stored object.
pub fn validate_metadata_update(object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    let (new, before) = (&object["metadata"], &old["metadata"]);
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
    if super::is_being_deleted(old) {
        let held = super::finalizers(old);
        let added: Vec<&str> = super::finalizers(object)
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
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_unique_and_at_most_63_bytes() {
        let name = generate_name(&"é".repeat(100));
        assert!(name.len() <= 63 && name.starts_with('é'));
        assert_ne!(generate_name("a-"), generate_name("a-"));
    }

    #[test]
    fn uids_are_version_4_uuids() {
        let uid = new_uid();
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
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
