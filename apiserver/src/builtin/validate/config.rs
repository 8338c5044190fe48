//! Config maps, secrets, claims and leases.

use super::{Check, container, fields, names, storage, text};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;

/// The data of a config map or a secret together may not be longer.
const MAX_DATA: usize = 1 << 20;

pub(super) fn config_map(check: &mut Check, map: &Value) {
    let mut size = 0;
    for list in ["data", "binaryData"] {
        for (key, value) in fields(&map[list]) {
            let path = format!("{list}[{key}]");
            check.messages(&path, key, &names::config_key(key));
            if list == "data" && map["binaryData"].get(key).is_some() {
                check.push(FieldError::invalid(
                    &path,
                    key.as_str(),
                    "duplicate of key present in binaryData",
                ));
            }
            size += value.as_str().map_or(0, str::len);
        }
    }
    if size > MAX_DATA {
        check.push(FieldError::too_long("", MAX_DATA as u64));
    }
}

/// A secret whose `stringData` has been merged into its data. What stands in the data is not looked at.
pub(super) fn secret(check: &mut Check, secret: &Value, old: Option<&Value>) {
    for (key, _) in fields(&secret["data"]) {
        check.messages(&format!("data[{key}]"), key, &names::config_key(key));
    }
    let ty = text(secret, "type");
    let required: &[&str] = match ty {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth"
            if secret["data"].get("username").is_none() && secret["data"].get("password").is_none() =>
        {
            &["username", "password"]
        }
        _ => &[],
    };
    for key in required {
        if secret["data"].get(*key).is_none() {
            check.push(FieldError::required(&format!("data[{key}]"), ""));
        }
    }
    let account = "kubernetes.io/service-account.name";
    if ty == "kubernetes.io/service-account-token"
        && text(&secret["metadata"]["annotations"], account).is_empty()
    {
        check.push(FieldError::required(
            &format!("metadata.annotations[{account}]"),
            "",
        ));
    }
    if old.is_some_and(|old| old["type"] != secret["type"]) {
        check.push(FieldError::invalid("type", ty, "field is immutable"));
    }
}

pub(super) fn claim(check: &mut Check, spec: &Value, old: Option<&Value>) {
    claimed(check, spec, "spec");
    if let Some(old) = old {
        claim_update(check, spec, old);
    }
}

/// What a claim claims, or a template of claims at a path.
pub(super) fn claimed(check: &mut Check, spec: &Value, path: &str) {
    storage::modes(check, spec, path, "at least 1 access mode is required");
    check.selector(&spec["selector"], &format!("{path}.selector"));
    let requested = format!("{path}.resources[storage]");
    match spec["resources"]["requests"].get("storage") {
        None => check.push(FieldError::required(&requested, "")),
        Some(size) => {
            if container::amount(size).is_some_and(|size| size <= 0.0) {
                let why = "must be greater than zero";
                check.push(FieldError::invalid(&requested, size.clone(), why));
            }
        }
    }
    if let Some(class) = spec["storageClassName"]
        .as_str()
        .filter(|class| !class.is_empty())
    {
        check.messages(
            &format!("{path}.storageClassName"),
            class,
            &names::subdomain(class),
        );
    }
    check.one_of(spec, "volumeMode", path, &["Block", "Filesystem"]);
}

/// A claim is what it was; one that is bound may ask for more.
fn claim_update(check: &mut Check, spec: &Value, old: &Value) {
    const DETAIL: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    let bound = old["status"]["phase"] == "Bound";
    let before = &old["spec"];
    let mut munged = spec.clone();
    let mut kept: Vec<&str> = vec![];
    // A volume and a class may be given once.
    kept.extend(
        ["volumeName", "storageClassName"]
            .into_iter()
            .filter(|name| before.get(*name).is_none()),
    );
    if bound && spec.get("volumeAttributesClassName").is_some() {
        kept.push("volumeAttributesClassName");
    }
    if let Some(fields) = munged.as_object_mut() {
        for name in kept {
            match before.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
    }
    // One that is bound may ask for another size.
    if bound && munged["resources"]["requests"].is_object() {
        munged["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"].clone();
    }
    if munged != *before {
        let munged = check.empties.restored(&munged, "spec");
        let difference = types::difference(before, &munged, "core.PersistentVolumeClaimSpec");
        check.push(FieldError::forbidden("spec", format!("{DETAIL}\n{difference}")));
    }
    let size = |size: &Value| container::amount(size).unwrap_or(0.0);
    let wanted = size(&spec["resources"]["requests"]["storage"]);
    let capacity = size(&old["status"]["capacity"]["storage"]);
    if wanted < size(&before["resources"]["requests"]["storage"]) && wanted <= capacity {
        let detail = "field can not be less than status.capacity";
        check.push(FieldError::forbidden("spec.resources.requests.storage", detail));
    }
    if spec["volumeMode"] != old["spec"]["volumeMode"] {
        check.push(FieldError::invalid(
            "volumeMode",
            spec["volumeMode"].clone(),
            "field is immutable",
        ));
    }
}

pub(super) fn lease(check: &mut Check, spec: &Value) {
    if let Some(seconds) = spec["leaseDurationSeconds"]
        .as_i64()
        .filter(|seconds| *seconds <= 0)
    {
        check.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            seconds,
            "must be greater than 0",
        ));
    }
    check.not_negative(spec, &["leaseTransitions"], "spec");
}
