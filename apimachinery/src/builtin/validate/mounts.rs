//! Validation of volume mounts and volume devices of containers.

use super::{Check, array, items, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The volumes of a pod by name.
pub(super) type VolumesByName<'a> = BTreeMap<&'a str, &'a Value>;

pub(super) fn validate_volume_mounts(
    check: &mut Check,
    container: &Value,
    path: &str,
    volumes: &VolumesByName<'_>,
) {
    let mut seen = BTreeSet::new();
    // kube-apiserver's paths of some fields lack the index.
    let list_path = format!("{path}.volumeMounts");
    for (mount, path) in items(container, "volumeMounts", path) {
        let (name, target_path) = (text(mount, "name"), text(mount, "mountPath"));
        let (name_field, path_field) = (format!("{path}.name"), format!("{path}.mountPath"));
        check.require(&mount["name"], &name_field);
        if !volumes.contains_key(name) {
            check.not_found(&name_field, name);
        }
        check.require(&mount["mountPath"], &path_field);
        if !seen.insert(target_path) {
            check.invalid(&path_field, target_path, "must be unique");
        }
        reject_in_other_list(
            check,
            &container["volumeDevices"],
            "volumeDevices",
            (&name_field, name),
            ("devicePath", &path_field, target_path),
        );
        let (sub_path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        check.validate_local_path(sub_path, &format!("{list_path}.subPath"));
        if !expression.is_empty() && !sub_path.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            check.invalid(&format!("{path}.subPathExpr"), expression, detail);
        }
        check.validate_local_path(expression, &format!("{list_path}.subPathExpr"));
        validate_mount_propagation(check, mount, container, &list_path);
    }
}

fn validate_mount_propagation(check: &mut Check, mount: &Value, container: &Value, path: &str) {
    let known = ["Bidirectional", "HostToContainer", "None"];
    check.require_supported(mount, "mountPropagation", path, &known);
    let mount_propagation = mount["mountPropagation"].as_str().unwrap_or("None");
    if mount_propagation == known[0] && container["securityContext"]["privileged"] != true {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        check.forbidden(&format!("{path}.mountPropagation"), detail);
    }
    let known = ["Disabled", "Enabled", "IfPossible"];
    check.require_supported(mount, "recursiveReadOnly", path, &known);
    if known[1..].contains(&text(mount, "recursiveReadOnly")) {
        let field = format!("{path}.recursiveReadOnly");
        if mount["readOnly"] != true {
            check.forbidden(&field, "may only be specified when readOnly is true");
        }
        if mount_propagation != "None" {
            let detail = "may only be specified when mountPropagation is None or not specified";
            check.forbidden(&field, detail);
        }
    }
}

/// Validates the block devices of a container.
pub(super) fn validate_volume_devices(
    check: &mut Check,
    container: &Value,
    path: &str,
    volumes: &VolumesByName<'_>,
) {
    let (mut seen, mut seen_paths) = (BTreeSet::new(), BTreeSet::new());
    for (device, path) in items(container, "volumeDevices", path) {
        let (name, target_path) = (text(device, "name"), text(device, "devicePath"));
        let (name_field, path_field) = (format!("{path}.name"), format!("{path}.devicePath"));
        if check.require(&device["name"], &name_field) && !seen.insert(name) {
            check.invalid(&name_field, name, "must be unique");
        }
        match volumes.get(name) {
            None => check.not_found(&name_field, name),
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                check.invalid(&name_field, name, detail);
            }
            Some(_) => {}
        }
        check.require(&device["devicePath"], &path_field);
        if seen_paths.contains(target_path) {
            check.invalid(&path_field, target_path, "must be unique");
        }
        if target_path.split('/').any(|part| part == "..") {
            check.invalid(&path_field, target_path, "can not contain backsteps ('..')");
        } else {
            seen_paths.insert(target_path);
        }
        reject_in_other_list(
            check,
            &container["volumeMounts"],
            "volumeMounts",
            (&name_field, name),
            ("mountPath", &path_field, target_path),
        );
    }
}

/// Rejects a volume or path that is also in the container's other list.
fn reject_in_other_list(
    check: &mut Check,
    others: &Value,
    list: &str,
    (name_field, name): (&str, &str),
    (path, path_field, target_path): (&str, &str, &str),
) {
    let contains = |field: &str, value: &str| {
        let mut others = array(others).iter();
        others.any(|other| text(other, field) == value)
    };
    if contains("name", name) {
        let detail = format!("must not already exist in {list}");
        check.invalid(name_field, name, detail);
    }
    if contains(path, target_path) {
        let detail = format!("must not already exist as a path in {list}");
        check.invalid(path_field, target_path, detail);
    }
}
