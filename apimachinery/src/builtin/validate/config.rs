//! Validation of ConfigMaps, Secrets, Leases and ControllerRevisions.

use super::{Check, Constraint, FieldRule, fields, names, text};
use crate::types;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// Maximum total size of the data of a ConfigMap or Secret, in bytes.
const MAX_DATA_BYTES: usize = 1 << 20;

pub(super) fn validate_config_map(check: &mut Check, map: &Value) {
    let mut size = 0;
    for list in ["data", "binaryData"] {
        for (key, value) in fields(&map[list]) {
            let path = format!("{list}[{key}]");
            check.validate_format(&path, key, names::config_key_errors);
            if list == "data" && map["binaryData"].get(key).is_some() {
                check.invalid(&path, key.as_str(), "duplicate of key present in binaryData");
            }
            size += value.as_str().map_or(0, str::len);
        }
    }
    if size > MAX_DATA_BYTES {
        // The path of Go's error has no name.
        check.too_long("[]", MAX_DATA_BYTES);
    }
}

/// Validates a secret after `stringData` was merged into `data`. Of the contents, only registry credentials are checked.
pub(super) fn validate_secret(check: &mut Check, secret: &Value, old: Option<&Value>) {
    let mut size = 0;
    for (key, value) in fields(&secret["data"]) {
        check.validate_format(&format!("data[{key}]"), key, names::config_key_errors);
        let encoded = value.as_str().unwrap_or_default();
        size += encoded.trim_end_matches('=').len() * 3 / 4;
    }
    if size > MAX_DATA_BYTES {
        check.too_long("data", MAX_DATA_BYTES);
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
        let path = format!("data[{key}]");
        match secret["data"].get(*key).and_then(Value::as_str) {
            None => check.required(&path, ""),
            Some("") if *key == "ssh-privatekey" => check.required(&path, ""),
            Some(data) if key.starts_with(".docker") => {
                if let Err(reason) = check_registry_credentials(data) {
                    check.invalid(&path, "<secret contents redacted>", reason);
                }
            }
            Some(_) => {}
        }
    }
    let account = "kubernetes.io/service-account.name";
    if ty == "kubernetes.io/service-account-token"
        && text(&secret["metadata"]["annotations"], account).is_empty()
    {
        check.required(&format!("metadata.annotations[{account}]"), "");
    }
    check.apply(&[("type", Constraint::Immutable)], secret, old, "");
}

/// Checks that registry credentials, as base64, are a JSON object.
fn check_registry_credentials(data: &str) -> Result<(), String> {
    let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
    match types::decode(&bytes)?.value {
        Value::Object(_) | Value::Null => Ok(()),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            types::json_kind(&other)
        )),
    }
}

pub(super) fn validate_lease(check: &mut Check, spec: &Value) {
    const LEASE: &[FieldRule] = &[
        (
            "leaseDurationSeconds",
            Constraint::Within(1, i64::MAX, "must be greater than 0"),
        ),
        ("leaseTransitions", Constraint::NonNegative),
    ];
    check.apply(LEASE, spec, None, "spec");
}

pub(super) fn validate_revision(check: &mut Check, revision: &Value, old: Option<&Value>) {
    check.require_non_negative(revision, &["revision"], "");
    if old.is_none() && !revision["data"].is_object() {
        let detail = if revision["data"].is_null() {
            "data is mandatory"
        } else {
            "data must be a valid JSON object"
        };
        check.required("data", detail);
    }
}
