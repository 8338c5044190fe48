//! Validation of projected and downward API volumes, and of paths within volumes.

use super::volume::{validate_file_mode, validate_key_to_paths};
use super::{Check, env, items, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// Validates a downward API volume.
pub(super) fn validate_downward_api(check: &mut Check, source: &Value, path: &str) {
    validate_file_mode(check, &source["defaultMode"], &format!("{path}.defaultMode"));
    // kube-apiserver's paths lack the index of the item.
    for (item, _) in items(source, "items", path) {
        validate_file_path(check, &item["path"], &format!("{path}.path"));
        let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
        if field.is_object() {
            env::validate_volume_field_ref(check, field, &format!("{path}.fieldRef"));
            if resource.is_object() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                check.push(FieldError::invalid(path, "resource", detail));
            }
        } else if resource.is_object() {
            env::validate_resource_ref(check, resource, &format!("{path}.resourceFieldRef"), true);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            check.push(FieldError::required(path, detail));
        }
        validate_file_mode(check, &item["mode"], &format!("{path}.mode"));
    }
}

/// The sources of a projected volume in the order of validation.
const SOURCE_KINDS: [&str; 4] = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];

/// Validates a projected volume.
pub(super) fn validate_projected(check: &mut Check, volume: &Value, path: &str) {
    validate_file_mode(check, &volume["defaultMode"], &format!("{path}.defaultMode"));
    let mut seen_paths = BTreeSet::new();
    for (source, at) in items(volume, "sources", path) {
        let kinds = SOURCE_KINDS.iter().filter(|kind| source[**kind].is_object());
        for kind in kinds.clone() {
            let (source, source_path) = (&source[*kind], format!("{at}.{kind}"));
            match *kind {
                "configMap" | "secret" => {
                    check.require(&source["name"], &format!("{source_path}.name"));
                    validate_key_to_paths(check, source, &source_path);
                }
                "downwardAPI" => validate_downward_api(check, source, &source_path),
                _ => validate_service_account_token(check, source, &source_path, path),
            }
            for (item, _) in items(source, "items", &source_path) {
                let file = text(item, "path");
                if !file.is_empty() && !seen_paths.insert(file) {
                    let value = if *kind == "downwardAPI" {
                        file
                    } else {
                        text(source, "name")
                    };
                    check.push(FieldError::invalid(path, value, "conflicting duplicate paths"));
                }
            }
        }
        if kinds.count() > 1 {
            let detail = "may not specify more than 1 volume type per source";
            check.push(FieldError::forbidden(&at, detail));
        }
    }
}

/// Rejects service account tokens in a pod without a service account.
pub(super) fn reject_tokens_without_account(check: &mut Check, spec: &Value, path: &str) {
    for (volume, path) in items(spec, "volumes", path) {
        for (source, path) in items(&volume["projected"], "sources", &format!("{path}.projected")) {
            if source["serviceAccountToken"].is_object() {
                let detail = "must not be specified when serviceAccountName is not set";
                check.push(FieldError::forbidden(
                    &format!("{path}.serviceAccountToken"),
                    detail,
                ));
            }
        }
    }
}

fn validate_service_account_token(check: &mut Check, source: &Value, path: &str, volume: &str) {
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(3600);
    let mut reject = |detail: &str| {
        check.push(FieldError::invalid(
            &format!("{path}.expirationSeconds"),
            seconds,
            detail,
        ));
    };
    if seconds < 600 {
        reject("may not specify a duration less than 10 minutes");
    } else if seconds > 1 << 32 {
        reject("may not specify a duration larger than 2^32 seconds");
    }
    // kube-apiserver reports this at the path of the volume.
    validate_file_path(check, &source["path"], &format!("{volume}.path"));
}

/// Validates the path of a file within a volume.
pub(super) fn validate_file_path(check: &mut Check, name: &Value, path: &str) {
    check.require(name, path);
    check.validate_local_non_reserved_path(name.as_str().unwrap_or_default(), path);
}

impl Check {
    /// Requires a relative path that stays inside and does not start with `..`, which is reserved.
    pub(super) fn validate_local_non_reserved_path(&mut self, name: &str, path: &str) {
        self.validate_local_path(name, path);
        if name.starts_with("..") && !name.starts_with("../") {
            self.push(FieldError::invalid(path, name, "must not start with '..'"));
        }
    }

    /// Requires a relative path that stays inside.
    pub(super) fn validate_local_path(&mut self, name: &str, path: &str) {
        if name.starts_with('/') {
            self.push(FieldError::invalid(path, name, "must be a relative path"));
        }
        self.reject_backsteps(name, path);
    }

    pub(super) fn reject_backsteps(&mut self, name: &str, path: &str) {
        if name.split('/').any(|part| part == "..") {
            self.push(FieldError::invalid(path, name, "must not contain '..'"));
        }
    }
}
