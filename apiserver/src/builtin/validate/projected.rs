//! Files of volumes: those of several sources, and those that say something of the pod; and their paths.

use super::volume::{mode, paths};
use super::{Check, env, items, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// Files that say something of the pod.
pub(super) fn described(check: &mut Check, source: &Value, path: &str) {
    mode(check, &source["defaultMode"], &format!("{path}.defaultMode"));
    // Without their indices: so the real server says it.
    for (item, _) in items(source, "items", path) {
        file(check, &item["path"], &format!("{path}.path"));
        let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
        if field.is_object() {
            env::field_in_file(check, field, &format!("{path}.fieldRef"));
            if resource.is_object() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                check.push(FieldError::invalid(path, "resource", detail));
            }
        } else if resource.is_object() {
            env::resource_ref(check, resource, &format!("{path}.resourceFieldRef"), true);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            check.push(FieldError::required(path, detail));
        }
        mode(check, &item["mode"], &format!("{path}.mode"));
    }
}

/// The order in which a file's sources are looked at.
const ORDER: [&str; 4] = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];

/// Files of several sources.
pub(super) fn projected(check: &mut Check, volume: &Value, path: &str) {
    mode(check, &volume["defaultMode"], &format!("{path}.defaultMode"));
    let mut taken = BTreeSet::new();
    for (source, at) in items(volume, "sources", path) {
        let kinds = ORDER.iter().filter(|kind| source[**kind].is_object());
        for kind in kinds.clone() {
            let (source, here) = (&source[*kind], format!("{at}.{kind}"));
            match *kind {
                "configMap" | "secret" => {
                    check.required(&source["name"], &format!("{here}.name"));
                    paths(check, source, &here);
                }
                "downwardAPI" => described(check, source, &here),
                _ => token(check, source, &here, path),
            }
            for (item, _) in items(source, "items", &here) {
                let file = text(item, "path");
                if !file.is_empty() && !taken.insert(file) {
                    let of = if *kind == "downwardAPI" {
                        file
                    } else {
                        text(source, "name")
                    };
                    check.push(FieldError::invalid(path, of, "conflicting duplicate paths"));
                }
            }
        }
        if kinds.count() > 1 {
            let detail = "may not specify more than 1 volume type per source";
            check.push(FieldError::forbidden(&at, detail));
        }
    }
}

/// Of a pod without an account, no volume has its token.
pub(super) fn tokens_without_account(check: &mut Check, spec: &Value, path: &str) {
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

fn token(check: &mut Check, source: &Value, path: &str, volume: &str) {
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(3600);
    let mut refuse = |detail: &str| {
        check.push(FieldError::invalid(
            &format!("{path}.expirationSeconds"),
            seconds,
            detail,
        ));
    };
    if seconds < 600 {
        refuse("may not specify a duration less than 10 minutes");
    } else if seconds > 1 << 32 {
        refuse("may not specify a duration larger than 2^32 seconds");
    }
    // So the real server names it.
    file(check, &source["path"], &format!("{volume}.path"));
}

/// A file lies in its volume.
pub(super) fn file(check: &mut Check, name: &Value, path: &str) {
    check.required(name, path);
    check.inside(name.as_str().unwrap_or_default(), path);
}

impl Check {
    /// A path lies below another, and has no name that is kept for what writes it.
    pub(super) fn inside(&mut self, name: &str, path: &str) {
        self.descending(name, path);
        if name.starts_with("..") && !name.starts_with("../") {
            self.push(FieldError::invalid(path, name, "must not start with '..'"));
        }
    }

    /// A path lies below another.
    pub(super) fn descending(&mut self, name: &str, path: &str) {
        if name.starts_with('/') {
            self.push(FieldError::invalid(path, name, "must be a relative path"));
        }
        self.no_backsteps(name, path);
    }

    pub(super) fn no_backsteps(&mut self, name: &str, path: &str) {
        if name.split('/').any(|part| part == "..") {
            self.push(FieldError::invalid(path, name, "must not contain '..'"));
        }
    }
}
