//! Validation of object metadata: labels, annotations, owner references and finalizers.

use super::{Check, array, fields, items, names, text};
use crate::meta;
use crate::quote::is_printable;
use serde_json::Value;

/// Maximum total size of the keys and values of annotations, in bytes.
const MAX_ANNOTATIONS_BYTES: usize = 256 << 10;
/// Maximum lengths in managed fields, in bytes.
const MAX_MANAGER_BYTES: usize = 128;
const MAX_SUBRESOURCE_BYTES: usize = 256;
const ORPHAN_FINALIZER: &str = "orphan";
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

impl Check {
    /// Validates metadata. With `standard`, finalizers without a prefix must be standard ones.
    pub(super) fn validate_metadata(&mut self, metadata: &Value, path: &str, standard: bool) {
        self.require_non_negative(metadata, &["generation"], path);
        self.validate_labels_and_annotations(metadata, path);
        self.validate_owner_references(&metadata["ownerReferences"], &format!("{path}.ownerReferences"));
        self.validate_finalizers(&metadata["finalizers"], &format!("{path}.finalizers"));
        if !standard {
            return;
        }
        for (finalizer, path) in items(metadata, "finalizers", path) {
            self.require_standard_finalizer(finalizer.as_str().unwrap_or_default(), &path);
        }
    }

    /// Requires the name of a finalizer to have a prefix or to be a standard one.
    fn require_standard_finalizer(&mut self, name: &str, path: &str) {
        if !name.contains('/') && !["kubernetes", ORPHAN_FINALIZER, FOREGROUND_FINALIZER].contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            self.invalid(path, name, detail);
        }
    }

    /// Validates the finalizers in the spec of a namespace. Errors of a new one name the list.
    pub(super) fn validate_namespace_finalizers(&mut self, spec: &Value, is_new: bool) {
        for (name, path) in items(spec, "finalizers", "spec") {
            let path = if is_new { "spec.finalizers" } else { &path };
            let name = name.as_str().unwrap_or_default();
            self.validate_format(path, name, names::qualified_name_errors);
            self.require_standard_finalizer(name, path);
        }
    }

    pub(super) fn validate_labels_and_annotations(&mut self, metadata: &Value, path: &str) {
        self.validate_labels(&metadata["labels"], &format!("{path}.labels"));
        self.validate_annotations(&metadata["annotations"], &format!("{path}.annotations"));
    }

    fn validate_annotations(&mut self, annotations: &Value, path: &str) {
        let mut size = 0;
        for (key, value) in fields(annotations) {
            self.push_messages(path, key, &names::qualified_name_errors(&key.to_lowercase()));
            size += key.len() + value.as_str().map_or(0, str::len);
        }
        if size > MAX_ANNOTATIONS_BYTES {
            self.too_long(path, MAX_ANNOTATIONS_BYTES);
        }
    }

    pub(super) fn validate_managed_fields(&mut self, metadata: &Value, path: &str) {
        for (entry, path) in items(metadata, "managedFields", path) {
            let operation = text(entry, "operation");
            if !["Apply", "Update"].contains(&operation) {
                self.invalid(
                    &format!("{path}.operation"),
                    operation,
                    "must be `Apply` or `Update`",
                );
            }
            let fields_type = text(entry, "fieldsType");
            if !["", "FieldsV1"].contains(&fields_type) {
                self.invalid(&format!("{path}.fieldsType"), fields_type, "must be `FieldsV1`");
            }
            self.validate_field_manager(text(entry, "manager"), &format!("{path}.manager"));
            let field = format!("{path}.subresource");
            self.limit_bytes(text(entry, "subresource"), MAX_SUBRESOURCE_BYTES, &field);
        }
    }

    /// Validates the name of a field manager.
    pub(super) fn validate_field_manager(&mut self, manager: &str, path: &str) {
        self.limit_bytes(manager, MAX_MANAGER_BYTES, path);
        // Each error repeats the name: of one that is too long, a few are enough.
        let is_too_long = manager.len() > MAX_MANAGER_BYTES;
        let max_errors = if is_too_long { 10 } else { usize::MAX };
        let invalid = manager
            .char_indices()
            .filter(|(_, character)| !is_printable(*character));
        for (at, character) in invalid.take(max_errors) {
            let code = u32::from(character);
            let detail = format!("invalid character U+{code:04X} (at position {at})");
            self.invalid(path, manager, detail);
        }
    }

    fn validate_owner_references(&mut self, owner_references: &Value, path: &str) {
        let mut controller: Option<String> = None;
        for owner in array(owner_references) {
            let api_version = text(owner, "apiVersion");
            let (group, version) = meta::split_api_version(api_version);
            if version.is_empty() {
                let at = format!("{path}.apiVersion");
                self.invalid(&at, api_version, "version must not be empty");
            }
            for name in ["kind", "name", "uid"] {
                if text(owner, name).is_empty() {
                    self.invalid(&format!("{path}.{name}"), "", "must not be empty");
                }
            }
            if (group, version, text(owner, "kind")) == ("", "v1", "Event") {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                self.invalid(path, owner.clone(), detail);
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
                    self.invalid(path, owner_references.clone(), detail);
                }
            }
        }
    }

    fn validate_finalizers(&mut self, finalizers: &Value, path: &str) {
        let names: Vec<&str> = array(finalizers)
            .iter()
            .map(|name| name.as_str().unwrap_or_default())
            .collect();
        for name in &names {
            self.validate_format(path, name, names::qualified_name_errors);
        }
        if names.contains(&ORPHAN_FINALIZER) && names.contains(&FOREGROUND_FINALIZER) {
            let detail =
                format!("finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set");
            self.invalid(path, finalizers.clone(), detail);
        }
    }

    pub(super) fn validate_labels(&mut self, labels: &Value, path: &str) {
        for (key, value) in fields(labels) {
            self.validate_format(path, key, names::qualified_name_errors);
            let value = value.as_str().unwrap_or_default();
            self.validate_format(path, value, names::label_value_errors);
        }
    }
}
