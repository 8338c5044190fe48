//! Validation of projected and downward API volumes, and of paths within volumes.

use super::volume::{FILE_MODE, KEYS_TO_PATHS};
use super::{Check, Constraint, FieldRule, env, items, text};
use serde_json::Value;
use std::collections::BTreeSet;

const DOWNWARD_API_FILE: &[FieldRule] = &[
    ("path", Constraint::Checked(validate_file_path)),
    ("mode", FILE_MODE),
];

/// The lifetime of a service account token.
#[rustfmt::skip]
pub(super) const TOKEN_EXPIRATION: &[FieldRule] = &[
    ("expirationSeconds", Constraint::Within(600, i64::MAX, "may not specify a duration less than 10 minutes")),
    ("expirationSeconds", Constraint::Within(i64::MIN, 1 << 32, "may not specify a duration larger than 2^32 seconds")),
];

/// Validates a downward API volume.
pub(super) fn validate_downward_api(check: &mut Check, source: &Value, path: &str) {
    check.apply(&[("defaultMode", FILE_MODE)], source, None, path);
    // kube-apiserver's paths lack the index of the item.
    for (item, _) in items(source, "items", path) {
        check.apply(DOWNWARD_API_FILE, item, None, path);
        let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
        if field.is_object() {
            env::validate_volume_field_ref(check, field, &format!("{path}.fieldRef"));
            if resource.is_object() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                check.invalid(path, "resource", detail);
            }
        } else if resource.is_object() {
            env::validate_resource_ref(check, resource, &format!("{path}.resourceFieldRef"), true);
        } else {
            check.required(path, "one of fieldRef and resourceFieldRef is required");
        }
    }
}

/// The sources of a projected volume in the order of validation.
const SOURCE_KINDS: [&str; 4] = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];

/// Validates a projected volume.
pub(super) fn validate_projected(check: &mut Check, volume: &Value, path: &str) {
    check.apply(&[("defaultMode", FILE_MODE)], volume, None, path);
    let mut seen_paths = BTreeSet::new();
    for (source, at) in items(volume, "sources", path) {
        let kinds = SOURCE_KINDS.iter().filter(|kind| source[**kind].is_object());
        for kind in kinds.clone() {
            let (source, source_path) = (&source[*kind], format!("{at}.{kind}"));
            match *kind {
                "configMap" | "secret" => {
                    check.require(&source["name"], &format!("{source_path}.name"));
                    check.apply(KEYS_TO_PATHS, source, None, &source_path);
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
                    check.invalid(path, value, "conflicting duplicate paths");
                }
            }
        }
        if kinds.count() > 1 {
            check.forbidden(&at, "may not specify more than 1 volume type per source");
        }
    }
}

/// Rejects service account tokens in a pod without a service account.
pub(super) fn reject_tokens_without_account(check: &mut Check, spec: &Value, path: &str) {
    for (volume, path) in items(spec, "volumes", path) {
        for (source, path) in items(&volume["projected"], "sources", &format!("{path}.projected")) {
            if source["serviceAccountToken"].is_object() {
                let detail = "must not be specified when serviceAccountName is not set";
                check.forbidden(&format!("{path}.serviceAccountToken"), detail);
            }
        }
    }
}

fn validate_service_account_token(check: &mut Check, source: &Value, path: &str, volume: &str) {
    check.apply(TOKEN_EXPIRATION, source, None, path);
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
            self.invalid(path, name, "must not start with '..'");
        }
    }

    /// Requires a relative path that stays inside.
    pub(super) fn validate_local_path(&mut self, name: &str, path: &str) {
        if name.starts_with('/') {
            self.invalid(path, name, "must be a relative path");
        }
        self.reject_backsteps(name, path);
    }

    pub(super) fn reject_backsteps(&mut self, name: &str, path: &str) {
        if name.split('/').any(|part| part == "..") {
            self.invalid(path, name, "must not contain '..'");
        }
    }
}
