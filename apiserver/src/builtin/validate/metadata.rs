//! Metadata: labels, annotations, owners, finalizers.

use super::{Check, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;

/// The most that annotations may have, keys and values together.
const MOST_ANNOTATIONS: usize = 256 << 10;
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

impl Check {
    /// With `standard`, finalizers without a prefix must be among those that built-in kinds know.
    pub(super) fn metadata(&mut self, metadata: &Value, path: &str, standard: bool) {
        self.not_negative(metadata, &["generation"], path);
        self.labels_and_annotations(metadata, path);
        self.owners(&metadata["ownerReferences"], &format!("{path}.ownerReferences"));
        self.finalizers(&metadata["finalizers"], &format!("{path}.finalizers"));
        if !standard {
            return;
        }
        for (finalizer, path) in items(metadata, "finalizers", path) {
            let name = finalizer.as_str().unwrap_or_default();
            if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&name) {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                self.push(FieldError::invalid(&path, name, detail));
            }
        }
    }

    pub(super) fn labels_and_annotations(&mut self, metadata: &Value, path: &str) {
        self.labels(&metadata["labels"], &format!("{path}.labels"));
        self.annotations(&metadata["annotations"], &format!("{path}.annotations"));
    }

    fn annotations(&mut self, annotations: &Value, path: &str) {
        let mut size = 0;
        for (key, value) in fields(annotations) {
            self.messages(path, key, &names::qualified(&key.to_lowercase()));
            size += key.len() + value.as_str().map_or(0, str::len);
        }
        if size > MOST_ANNOTATIONS {
            self.push(FieldError::too_long(path, MOST_ANNOTATIONS as u64));
        }
    }

    fn owners(&mut self, owners: &Value, path: &str) {
        let mut controller: Option<String> = None;
        for owner in owners.as_array().into_iter().flatten() {
            for (name, detail) in [
                ("apiVersion", "version must not be empty"),
                ("kind", "must not be empty"),
                ("name", "must not be empty"),
                ("uid", "must not be empty"),
            ] {
                if text(owner, name).is_empty() {
                    self.push(FieldError::invalid(&format!("{path}.{name}"), "", detail));
                }
            }
            if (text(owner, "apiVersion"), text(owner, "kind")) == ("v1", "Event") {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                self.push(FieldError::invalid(path, "", detail).showing(shown(owner)));
            }
            if owner["controller"] != true {
                continue;
            }
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                None => controller = Some(name),
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    );
                    let all: Vec<String> = owners.as_array().into_iter().flatten().map(shown).collect();
                    let all = format!("[{}]", all.join(","));
                    self.push(FieldError::invalid(path, "", detail).showing(all));
                }
            }
        }
    }

    fn finalizers(&mut self, finalizers: &Value, path: &str) {
        let names: Vec<&str> = finalizers
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| name.as_str().unwrap_or_default())
            .collect();
        for name in &names {
            self.messages(path, name, &names::qualified(name));
        }
        if names.contains(&ORPHAN) && names.contains(&FOREGROUND) {
            let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
            self.push(FieldError::invalid(path, finalizers.clone(), detail));
        }
    }

    pub(super) fn labels(&mut self, labels: &Value, path: &str) {
        for (key, value) in fields(labels) {
            self.messages(path, key, &names::qualified(key));
            let value = value.as_str().unwrap_or_default();
            self.messages(path, value, &names::label_value(value));
        }
    }
}

/// An owner with its fields in the order in which the real server writes them.
fn shown(owner: &Value) -> String {
    let known = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let parts: Vec<String> = known
        .iter()
        .filter_map(|name| Some(format!("\"{name}\":{}", owner.get(*name)?)))
        .collect();
    format!("{{{}}}", parts.join(","))
}
