//! Validation of volume sources beyond their required fields, for pods' volumes and PersistentVolumes.

use super::{Check, Constraint, FieldRule, array, fields, names, text};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

const INVALID_INITIATOR: &str = "must be valid format";
const PORTAL_TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
const MANAGED_DISK_FORMAT: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_FORMAT: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

/// The prefixes of iSCSI initiator names with their formats.
static INITIATOR_FORMATS: LazyLock<[(&str, Option<Regex>); 3]> = LazyLock::new(|| {
    [
        (
            "iqn",
            r"iqn\.[0-9]{4}-[0-9]{2}\.[[:alnum:].-]+:[^,;*&$|\t\n\f\r ]+$",
        ),
        ("eui", "^eui.[[:alnum:]]{16}$"),
        ("naa", "^naa.[[:alnum:]]{32}$"),
    ]
    .map(|(start, format)| (start, Regex::new(format).ok()))
});

const LUN: &[FieldRule] = &[(
    "lun",
    Constraint::Within(0, 255, "must be between 0 and 255, inclusive"),
)];
const DISK: &[FieldRule] = &[(
    "partition",
    Constraint::Within(0, 255, "must be between 1 and 255, inclusive"),
)];
const STORAGE_OS: &[FieldRule] = &[
    ("volumeName", Constraint::Named(names::label_errors)),
    ("volumeNamespace", Constraint::OptionalName(names::label_errors)),
];
#[rustfmt::skip]
const AZURE_DISK: &[FieldRule] = &[
    ("cachingMode", Constraint::OneOf(&["None", "ReadOnly", "ReadWrite"])),
    ("kind", Constraint::OneOf(&["Dedicated", "Managed", "Shared"])),
];

/// Validates a source. `persistent` is the name of the PersistentVolume: its secret references require a namespace. It is `None` for
/// a pod's volume.
pub(super) fn validate_source(
    check: &mut Check,
    kind: &str,
    source: &Value,
    persistent: Option<&str>,
    path: &str,
) {
    let at = |name: &str| format!("{path}.{name}");
    match kind {
        "nfs" if !text(source, "path").starts_with('/') => {
            check.invalid(&at("path"), text(source, "path"), "must be an absolute path");
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => check.apply(DISK, source, None, path),
        "iscsi" => validate_iscsi(check, source, persistent, path),
        "fc" => validate_fibre_channel(check, source, path),
        "glusterfs" => {
            if let (Some(_), Some(namespace)) = (persistent, source["endpointsNamespace"].as_str()) {
                let messages = if namespace.is_empty() {
                    vec!["if the endpointnamespace is set, it must be a valid namespace name"]
                } else {
                    names::label_errors(namespace)
                };
                check.push_messages(&at("endpointsNamespace"), namespace, &messages);
            }
        }
        "flocker" => validate_flocker(check, source, path),
        "quobyte" => validate_quobyte(check, source, path),
        "cinder" => validate_secret_reference(check, &source["secretRef"], persistent, &at("secretRef")),
        "storageos" => {
            check.apply(STORAGE_OS, source, None, path);
            validate_secret_reference(check, &source["secretRef"], persistent, &at("secretRef"));
        }
        "flexVolume" => {
            for (key, _) in fields(&source["options"]) {
                let namespace = key.split_once('/').map_or(&**key, |(namespace, _)| namespace);
                let namespace = format!(".{}", namespace.to_lowercase());
                if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
                    let detail = "kubernetes.io and k8s.io namespaces are reserved";
                    let field = format!("{path}.options[{key}]");
                    check.invalid(&field, key.as_str(), detail);
                }
            }
        }
        "azureFile" if persistent.is_some() && source["secretNamespace"] == "" => {
            check.required(&at("secretNamespace"), "");
        }
        "azureDisk" => validate_azure_disk(check, source, path),
        _ => {}
    }
}

/// Validates the length of an iSCSI portal, which includes the name of the volume.
pub(super) fn validate_iscsi_portal(check: &mut Check, name: &str, source: &Value, value: &str, path: &str) {
    if source["initiatorName"].is_string() && name.len() + 1 + text(source, "targetPortal").len() > 64 {
        check.invalid(path, value, PORTAL_TOO_LONG);
    }
}

/// Validates a secret reference: name, and for a PersistentVolume the namespace.
fn validate_secret_reference(check: &mut Check, secret: &Value, persistent: Option<&str>, path: &str) {
    if secret.is_object() {
        check.require(&secret["name"], &format!("{path}.name"));
        if persistent.is_some() {
            check.require(&secret["namespace"], &format!("{path}.namespace"));
        }
    }
}

fn validate_iscsi(check: &mut Check, source: &Value, persistent: Option<&str>, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    let unknown_prefix = match persistent {
        Some(_) => INVALID_INITIATOR,
        None => "must be valid format starting with iqn, eui, or naa",
    };
    let initiator_name = |check: &mut Check, name: &str, path: &str| {
        let known = INITIATOR_FORMATS
            .iter()
            .find(|(start, _)| name.starts_with(start));
        let reason = match known {
            None => unknown_prefix,
            Some((_, format)) if format.as_ref().is_some_and(|format| format.is_match(name)) => return,
            Some(_) => INVALID_INITIATOR,
        };
        check.invalid(path, name, reason);
    };
    check.require(&source["targetPortal"], &at("targetPortal"));
    if let Some(volume) = persistent {
        let shown = text(source, "targetPortal");
        validate_iscsi_portal(check, volume, source, shown, &at("targetportal"));
    }
    if check.require(&source["iqn"], &at("iqn")) {
        initiator_name(check, text(source, "iqn"), &at("iqn"));
    }
    check.apply(LUN, source, None, path);
    let secret = &source["secretRef"];
    if (source["chapAuthDiscovery"] == true || source["chapAuthSession"] == true) && !secret.is_object() {
        check.required(&at("secretRef"), "");
    }
    if persistent.is_some() && secret.is_object() {
        check.require(&secret["name"], &at("secretRef.name"));
    }
    if let Some(initiator) = source["initiatorName"].as_str() {
        initiator_name(check, initiator, &at("initiatorname"));
    }
}

fn validate_fibre_channel(check: &mut Check, source: &Value, path: &str) {
    let has = |name: &str| !array(&source[name]).is_empty();
    let (targets, ids) = (has("targetWWNs"), has("wwids"));
    let field = format!("{path}.targetWWNs");
    if !targets && !ids {
        check.required(&field, "must specify either targetWWNs or wwids, but not both");
    }
    if targets && ids {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        check.invalid(&field, source["targetWWNs"].clone(), detail);
    }
    if targets && source["lun"].is_null() {
        let detail = "lun is required if targetWWNs is specified";
        check.required(&format!("{path}.lun"), detail);
    } else if targets {
        check.apply(LUN, source, None, path);
    }
}

fn validate_flocker(check: &mut Check, source: &Value, path: &str) {
    let (name, id) = (text(source, "datasetName"), text(source, "datasetUUID"));
    if name.is_empty() && id.is_empty() {
        check.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !id.is_empty() {
        let detail = "datasetName and datasetUUID can not be specified simultaneously";
        check.invalid(path, "resource", detail);
    }
    if name.contains('/') {
        check.invalid(&format!("{path}.datasetName"), name, "must not contain '/'");
    }
}

fn validate_quobyte(check: &mut Check, source: &Value, path: &str) {
    let (registry, field) = (text(source, "registry"), format!("{path}.registry"));
    let pairs = "must be a host:port pair or multiple pairs separated by commas";
    if registry.is_empty() {
        check.required(&field, pairs);
    } else if text(source, "tenant").len() > 64 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        check.required(&format!("{path}.tenant"), detail);
    } else if !registry.split(',').all(is_host_and_port) {
        check.invalid(&field, registry, pairs);
    }
    check.require(&source["volume"], &format!("{path}.volume"));
}

/// Whether a text is `host:port`, where a host with colons is in brackets.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else {
        return false;
    };
    let unbracketed = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']'),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    unbracketed.is_some_and(|host| ![host, port].iter().any(|part| part.contains(['[', ']'])))
}

fn validate_azure_disk(check: &mut Check, source: &Value, path: &str) {
    check.apply(AZURE_DISK, source, None, path);
    let (start, format) = if source["kind"] == "Managed" {
        ("/subscriptions/", MANAGED_DISK_FORMAT)
    } else {
        ("https://", BLOB_FORMAT)
    };
    let disk = text(source, "diskURI");
    if !disk.starts_with(start) {
        check.not_supported(&format!("{path}.diskURI"), disk, [format]);
    }
}
