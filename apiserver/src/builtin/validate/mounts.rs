//! Where containers see the volumes of their pod.

use super::{Check, items, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Volumes by name.
pub(super) type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

pub(super) fn mounts(check: &mut Check, container: &Value, path: &str, volumes: &Volumes<'_>) {
    let mut seen = BTreeSet::new();
    // What is said of some fields names no item: so the real server has it.
    let all = format!("{path}.volumeMounts");
    for (mount, path) in items(container, "volumeMounts", path) {
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        let (named, placed) = (format!("{path}.name"), format!("{path}.mountPath"));
        check.required(&mount["name"], &named);
        if !volumes.contains_key(name) {
            check.push(FieldError::not_found(&named, name));
        }
        check.required(&mount["mountPath"], &placed);
        if !seen.insert(place) {
            check.push(FieldError::invalid(&placed, place, "must be unique"));
        }
        not_among(
            check,
            &container["volumeDevices"],
            "volumeDevices",
            (&named, name),
            ("devicePath", &placed, place),
        );
        let (part, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        check.descending(part, &format!("{all}.subPath"));
        if !expression.is_empty() && !part.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            check.push(FieldError::invalid(
                &format!("{path}.subPathExpr"),
                expression,
                detail,
            ));
        }
        check.descending(expression, &format!("{all}.subPathExpr"));
        propagation(check, mount, container, &all);
    }
}

fn propagation(check: &mut Check, mount: &Value, container: &Value, path: &str) {
    let known = ["Bidirectional", "HostToContainer", "None"];
    check.one_of(mount, "mountPropagation", path, &known);
    let propagation = mount["mountPropagation"].as_str().unwrap_or("None");
    if propagation == known[0] && container["securityContext"]["privileged"] != true {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        check.push(FieldError::forbidden(&format!("{path}.mountPropagation"), detail));
    }
    let known = ["Disabled", "Enabled", "IfPossible"];
    check.one_of(mount, "recursiveReadOnly", path, &known);
    if known[1..].contains(&text(mount, "recursiveReadOnly")) {
        let field = format!("{path}.recursiveReadOnly");
        if mount["readOnly"] != true {
            let detail = "may only be specified when readOnly is true";
            check.push(FieldError::forbidden(&field, detail));
        }
        if propagation != "None" {
            let detail = "may only be specified when mountPropagation is None or not specified";
            check.push(FieldError::forbidden(&field, detail));
        }
    }
}

/// Volumes that a container sees as devices.
pub(super) fn devices(check: &mut Check, container: &Value, path: &str, volumes: &Volumes<'_>) {
    let (mut seen, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for (device, path) in items(container, "volumeDevices", path) {
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        let (named, placed) = (format!("{path}.name"), format!("{path}.devicePath"));
        if check.required(&device["name"], &named) && !seen.insert(name) {
            check.push(FieldError::invalid(&named, name, "must be unique"));
        }
        match volumes.get(name) {
            None => check.push(FieldError::not_found(&named, name)),
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                check.push(FieldError::invalid(&named, name, detail));
            }
            Some(_) => {}
        }
        check.required(&device["devicePath"], &placed);
        if taken.contains(place) {
            check.push(FieldError::invalid(&placed, place, "must be unique"));
        }
        if place.split('/').any(|part| part == "..") {
            let detail = "can not contain backsteps ('..')";
            check.push(FieldError::invalid(&placed, place, detail));
        } else {
            taken.insert(place);
        }
        not_among(
            check,
            &container["volumeMounts"],
            "volumeMounts",
            (&named, name),
            ("mountPath", &placed, place),
        );
    }
}

/// The same volume or path is not also in the other list.
fn not_among(
    check: &mut Check,
    others: &Value,
    list: &str,
    (named, name): (&str, &str),
    (path, placed, place): (&str, &str, &str),
) {
    let any = |field: &str, value: &str| {
        let mut others = others.as_array().into_iter().flatten();
        others.any(|other| text(other, field) == value)
    };
    if any("name", name) {
        let detail = format!("must not already exist in {list}");
        check.push(FieldError::invalid(named, name, detail));
    }
    if any(path, place) {
        let detail = format!("must not already exist as a path in {list}");
        check.push(FieldError::invalid(placed, place, detail));
    }
}
