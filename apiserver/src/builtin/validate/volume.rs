//! Volumes.

use super::{Check, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// The order in which sources are looked at.
const ORDER: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
];

/// Checks the volumes, and answers with the names of those that can be mounted.
pub(super) fn volumes<'a>(check: &mut Check, spec: &'a Value, path: &str) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::new();
    for (volume, path) in items(spec, "volumes", path) {
        let name = text(volume, "name");
        if check.required(&volume["name"], &format!("{path}.name")) {
            let messages = names::label(name);
            check.messages(&format!("{path}.name"), name, &messages);
            if messages.is_empty() && !known.insert(name) {
                check.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
        }
        let mut kinds: Vec<&str> = fields(volume)
            .map(|(name, _)| name.as_str())
            .filter(|name| *name != "name")
            .collect();
        // The real server looks at them in its own order; what it sees second is wrong.
        kinds.sort_by_key(|kind| ORDER.iter().position(|known| known == kind));
        for (index, kind) in kinds.into_iter().enumerate() {
            if index > 0 {
                check.push(FieldError::forbidden(
                    &format!("{path}.{kind}"),
                    "may not specify more than 1 volume type",
                ));
                continue;
            }
            let needs = match kind {
                "projected" => {
                    let has_account = !text(spec, "serviceAccountName").is_empty();
                    projected(check, &volume[kind], has_account, &format!("{path}.{kind}"));
                    continue;
                }
                "downwardAPI" => {
                    described(check, &volume[kind], &format!("{path}.{kind}"));
                    continue;
                }
                "configMap" => "name",
                "secret" => "secretName",
                "hostPath" => "path",
                "persistentVolumeClaim" => "claimName",
                "csi" => "driver",
                _ => continue,
            };
            check.required(&volume[kind][needs], &format!("{path}.{kind}.{needs}"));
            if matches!(kind, "configMap" | "secret") {
                paths(check, &volume[kind], &format!("{path}.{kind}"));
            }
        }
    }
    known
}

/// Which keys come as which files.
fn paths(check: &mut Check, source: &Value, path: &str) {
    for (item, path) in items(source, "items", path) {
        check.required(&item["key"], &format!("{path}.key"));
        file(check, &item["path"], &format!("{path}.path"));
        if let Some(mode) = item["mode"].as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
            let detail = "must be a number between 0 and 0777 (octal), both inclusive";
            check.push(FieldError::invalid(&format!("{path}.mode"), mode, detail));
        }
    }
}

/// Files that say something of the pod.
fn described(check: &mut Check, source: &Value, path: &str) {
    for (item, _) in items(source, "items", path) {
        file(check, &item["path"], &format!("{path}.path"));
    }
}

/// A file lies in its volume.
pub(super) fn file(check: &mut Check, name: &Value, path: &str) {
    if !check.required(name, path) {
        return;
    }
    let name = name.as_str().unwrap_or_default();
    let mut refuse = |detail: &str| check.push(FieldError::invalid(path, name, detail));
    if name.starts_with('/') {
        refuse("must be a relative path");
    }
    if name.split('/').any(|part| part == "..") {
        refuse("must not contain '..'");
    }
    if name.starts_with("..") && !name.starts_with("../") {
        refuse("must not start with '..'");
    }
}

/// Files of several sources.
fn projected(check: &mut Check, volume: &Value, has_account: bool, path: &str) {
    let mut taken = BTreeSet::new();
    for (source, at) in items(volume, "sources", path) {
        let kinds = fields(source).filter(|(_, source)| source.is_object());
        for (index, (kind, source)) in kinds.enumerate() {
            let here = format!("{at}.{kind}");
            match kind.as_str() {
                "configMap" | "secret" => {
                    check.required(&source["name"], &format!("{here}.name"));
                    paths(check, source, &here);
                }
                "downwardAPI" => described(check, source, &here),
                "serviceAccountToken" => token(check, source, has_account, &here, path),
                _ => {}
            }
            for (item, _) in items(source, "items", &here) {
                let file = text(item, "path");
                if !file.is_empty() && !taken.insert(file) {
                    let of = if kind == "downwardAPI" {
                        file
                    } else {
                        text(source, "name")
                    };
                    check.push(FieldError::invalid(path, of, "conflicting duplicate paths"));
                }
            }
            if index == 1 {
                let detail = "may not specify more than 1 volume type per source";
                check.push(FieldError::forbidden(&at, detail));
            }
        }
    }
}

fn token(check: &mut Check, source: &Value, has_account: bool, path: &str, volume: &str) {
    if !has_account {
        let detail = "must not be specified when serviceAccountName is not set";
        check.push(FieldError::forbidden(path, detail));
    }
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
