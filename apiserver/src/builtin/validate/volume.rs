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
        let at = format!("{path}.path");
        if check.required(&item["path"], &at) {
            let file = text(item, "path");
            let mut refuse = |detail: &str| check.push(FieldError::invalid(&at, file, detail));
            if file.starts_with('/') {
                refuse("must be a relative path");
            }
            if file.split('/').any(|part| part == "..") {
                refuse("must not contain '..'");
            }
            if file.starts_with("..") && !file.starts_with("../") {
                refuse("must not start with '..'");
            }
        }
        if let Some(mode) = item["mode"].as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
            let detail = "must be a number between 0 and 0777 (octal), both inclusive";
            check.push(FieldError::invalid(&format!("{path}.mode"), mode, detail));
        }
    }
}
