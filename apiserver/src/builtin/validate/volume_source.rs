//! What sources of volumes may say, beyond what they need: rules for pods' volumes and for persistent ones.

use super::{Check, fields, names, text};
use crate::field::FieldError;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

const INITIATOR: &str = "must be valid format";
const PORTAL: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
const MANAGED_DISK: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

/// How the names of initiators begin, and what they are then.
static INITIATORS: LazyLock<[(&str, Option<Regex>); 3]> = LazyLock::new(|| {
    [
        (
            "iqn",
            r"iqn\.[0-9]{4}-[0-9]{2}\.[[:alnum:].-]+:[^,;*&$|\t\n\f\r ]+$",
        ),
        ("eui", "^eui.[[:alnum:]]{16}$"),
        ("naa", "^naa.[[:alnum:]]{32}$"),
    ]
    .map(|(start, form)| (start, Regex::new(form).ok()))
});

/// `persistent` is the name of a persistent volume: its secrets say in which namespace they are.
pub(super) fn source(check: &mut Check, kind: &str, source: &Value, persistent: Option<&str>, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    match kind {
        "nfs" if !text(source, "path").starts_with('/') => {
            let detail = "must be an absolute path";
            check.push(FieldError::invalid(&at("path"), text(source, "path"), detail));
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let detail = "must be between 1 and 255, inclusive";
            byte(check, &source["partition"], &at("partition"), detail);
        }
        "iscsi" => iscsi(check, source, persistent, path),
        "fc" => fibre_channel(check, source, path),
        "glusterfs" => {
            if let (Some(_), Some(space)) = (persistent, source["endpointsNamespace"].as_str()) {
                let messages = if space.is_empty() {
                    vec!["if the endpointnamespace is set, it must be a valid namespace name"]
                } else {
                    names::label(space)
                };
                check.messages(&at("endpointsNamespace"), space, &messages);
            }
        }
        "flocker" => flocker(check, source, path),
        "quobyte" => quobyte(check, source, path),
        "cinder" => secret(check, &source["secretRef"], persistent, &at("secretRef")),
        "storageos" => {
            check.required(&source["volumeName"], &at("volumeName"));
            for name in ["volumeName", "volumeNamespace"] {
                let value = text(source, name);
                if !value.is_empty() {
                    check.messages(&at(name), value, &names::label(value));
                }
            }
            secret(check, &source["secretRef"], persistent, &at("secretRef"));
        }
        "flexVolume" => {
            for (key, _) in fields(&source["options"]) {
                let space = key.split_once('/').map_or(&**key, |(space, _)| space);
                let space = format!(".{}", space.to_lowercase());
                if space.ends_with(".kubernetes.io") || space.ends_with(".k8s.io") {
                    let detail = "kubernetes.io and k8s.io namespaces are reserved";
                    let field = format!("{path}.options[{key}]");
                    check.push(FieldError::invalid(&field, key.as_str(), detail));
                }
            }
        }
        "azureFile" if persistent.is_some() && source["secretNamespace"] == "" => {
            check.push(FieldError::required(&at("secretNamespace"), ""));
        }
        "azureDisk" => azure_disk(check, source, path),
        _ => {}
    }
}

/// Of a pod's volume, its own name stands before the portal.
pub(super) fn portal(check: &mut Check, name: &str, source: &Value, value: &str, path: &str) {
    if source["initiatorName"].is_string() && name.len() + 1 + text(source, "targetPortal").len() > 64 {
        check.push(FieldError::invalid(path, value, PORTAL));
    }
}

fn byte(check: &mut Check, number: &Value, path: &str, detail: &str) {
    if let Some(number) = number.as_i64().filter(|number| !(0..=255).contains(number)) {
        check.push(FieldError::invalid(path, number, detail));
    }
}

fn lun(check: &mut Check, source: &Value, path: &str) {
    let detail = "must be between 0 and 255, inclusive";
    byte(check, &source["lun"], &format!("{path}.lun"), detail);
}

/// A secret that is given has a name, and one of a persistent volume a namespace.
fn secret(check: &mut Check, secret: &Value, persistent: Option<&str>, path: &str) {
    if secret.is_object() {
        check.required(&secret["name"], &format!("{path}.name"));
        if persistent.is_some() {
            check.required(&secret["namespace"], &format!("{path}.namespace"));
        }
    }
}

fn iscsi(check: &mut Check, source: &Value, persistent: Option<&str>, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    let otherwise = match persistent {
        Some(_) => INITIATOR,
        None => "must be valid format starting with iqn, eui, or naa",
    };
    let named = |check: &mut Check, name: &str, path: &str| {
        let known = INITIATORS.iter().find(|(start, _)| name.starts_with(start));
        let why = match known {
            None => otherwise,
            Some((_, form)) if form.as_ref().is_some_and(|form| form.is_match(name)) => return,
            Some(_) => INITIATOR,
        };
        check.push(FieldError::invalid(path, name, why));
    };
    check.required(&source["targetPortal"], &at("targetPortal"));
    if let Some(volume) = persistent {
        let shown = text(source, "targetPortal");
        portal(check, volume, source, shown, &at("targetportal"));
    }
    if check.required(&source["iqn"], &at("iqn")) {
        named(check, text(source, "iqn"), &at("iqn"));
    }
    lun(check, source, path);
    let secret = &source["secretRef"];
    if (source["chapAuthDiscovery"] == true || source["chapAuthSession"] == true) && !secret.is_object() {
        check.push(FieldError::required(&at("secretRef"), ""));
    }
    if persistent.is_some() && secret.is_object() {
        check.required(&secret["name"], &at("secretRef.name"));
    }
    if let Some(initiator) = source["initiatorName"].as_str() {
        named(check, initiator, &at("initiatorname"));
    }
}

fn fibre_channel(check: &mut Check, source: &Value, path: &str) {
    let has = |name: &str| source[name].as_array().is_some_and(|list| !list.is_empty());
    let (targets, ids) = (has("targetWWNs"), has("wwids"));
    let field = format!("{path}.targetWWNs");
    if !targets && !ids {
        let detail = "must specify either targetWWNs or wwids, but not both";
        check.push(FieldError::required(&field, detail));
    }
    if targets && ids {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        check.push(FieldError::invalid(&field, source["targetWWNs"].clone(), detail));
    }
    if targets && source["lun"].is_null() {
        let detail = "lun is required if targetWWNs is specified";
        check.push(FieldError::required(&format!("{path}.lun"), detail));
    } else if targets {
        lun(check, source, path);
    }
}

fn flocker(check: &mut Check, source: &Value, path: &str) {
    let (name, id) = (text(source, "datasetName"), text(source, "datasetUUID"));
    if name.is_empty() && id.is_empty() {
        let detail = "one of datasetName and datasetUUID is required";
        check.push(FieldError::required(path, detail));
    }
    if !name.is_empty() && !id.is_empty() {
        let detail = "datasetName and datasetUUID can not be specified simultaneously";
        check.push(FieldError::invalid(path, "resource", detail));
    }
    if name.contains('/') {
        check.push(FieldError::invalid(
            &format!("{path}.datasetName"),
            name,
            "must not contain '/'",
        ));
    }
}

fn quobyte(check: &mut Check, source: &Value, path: &str) {
    let (registry, field) = (text(source, "registry"), format!("{path}.registry"));
    let pairs = "must be a host:port pair or multiple pairs separated by commas";
    if registry.is_empty() {
        check.push(FieldError::required(&field, pairs));
    } else if text(source, "tenant").len() > 64 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        check.push(FieldError::required(&format!("{path}.tenant"), detail));
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            check.push(FieldError::invalid(&field, registry, pairs));
        }
    }
    check.required(&source["volume"], &format!("{path}.volume"));
}

/// A host with colons stands in brackets; nothing else has any.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else {
        return false;
    };
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']'),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    bare.is_some_and(|host| ![host, port].iter().any(|part| part.contains(['[', ']'])))
}

fn azure_disk(check: &mut Check, source: &Value, path: &str) {
    check.one_of(source, "cachingMode", path, &["None", "ReadOnly", "ReadWrite"]);
    check.one_of(source, "kind", path, &["Dedicated", "Managed", "Shared"]);
    let (start, form) = if source["kind"] == "Managed" {
        ("/subscriptions/", MANAGED_DISK)
    } else {
        ("https://", BLOB)
    };
    let disk = text(source, "diskURI");
    if !disk.starts_with(start) {
        check.push(FieldError::not_supported(
            &format!("{path}.diskURI"),
            disk,
            [form],
        ));
    }
}
