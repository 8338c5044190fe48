//! Validation of environment variables of containers.

use super::{Check, Constraint, FieldRule, items, names, text};
use serde_json::Value;

const INVALID_VARIABLE_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

/// Pod fields that environment variables support.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Pod fields that only downward API volumes support.
const VOLUME_ONLY_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
    "spec.host",
];
const CONTAINER_RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

#[rustfmt::skip]
const SOURCE: &[FieldRule] = &[
    ("fieldRef?", Constraint::Checked(|check, reference, path| validate_field_ref(check, reference, path, ENV_FIELDS))),
    ("resourceFieldRef?", Constraint::Checked(|check, reference, path| validate_resource_ref(check, reference, path, false))),
    ("configMapKeyRef?", Constraint::Rules(KEY_REFERENCE)),
    ("secretKeyRef?", Constraint::Rules(KEY_REFERENCE)),
    ("fileKeyRef?.key", Constraint::Named(variable_name_errors)),
    ("fileKeyRef?.volumeName", Constraint::Named(names::label_errors)),
    ("fileKeyRef?.path", Constraint::Required("")),
    ("fileKeyRef?.path", Constraint::Checked(|check, path, field| check.reject_backsteps(path.as_str().unwrap_or_default(), field))),
];
const KEY_REFERENCE: &[FieldRule] = &[
    ("name", Constraint::Text(names::subdomain_errors)),
    ("key", Constraint::Named(names::config_key_errors)),
];
#[rustfmt::skip]
const ENV_FROM: &[FieldRule] = &[
    ("prefix", Constraint::Text(variable_name_errors)),
    ("configMapRef?.name", Constraint::Named(names::prefix_errors)),
    ("secretRef?.name", Constraint::Named(names::prefix_errors)),
];

pub(super) fn validate_env(check: &mut Check, container: &Value, path: &str) {
    const SOURCES: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    for (variable, path) in items(container, "env", path) {
        check.apply(
            &[("name", Constraint::Named(variable_name_errors))],
            variable,
            None,
            &path,
        );
        let source = &variable["valueFrom"];
        let Some(kinds) = source.as_object() else { continue };
        let source_path = format!("{path}.valueFrom");
        check.apply(SOURCE, source, None, &source_path);
        if kinds.is_empty() {
            check.invalid(&source_path, "", SOURCES);
        } else if !text(variable, "value").is_empty() {
            check.invalid(&source_path, "", "may not be specified when `value` is not empty");
        } else if kinds.len() > 1 {
            let detail = "may not have more than one field specified at a time";
            check.invalid(&source_path, "", detail);
        }
    }
}

/// Validates `envFrom`.
pub(super) fn validate_env_from(check: &mut Check, container: &Value, path: &str) {
    let list_path = format!("{path}.envFrom");
    for (source, path) in items(container, "envFrom", path) {
        check.apply(ENV_FROM, source, None, &path);
        let kinds = ["configMapRef", "secretRef"].into_iter();
        let detail = match kinds.filter(|kind| source[*kind].is_object()).count() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        check.invalid(&list_path, "", detail);
    }
}

fn variable_name_errors(name: &str) -> Vec<&'static str> {
    let is_allowed = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    if name.bytes().all(is_allowed) {
        vec![]
    } else {
        vec![INVALID_VARIABLE_NAME]
    }
}

/// Validates a reference to a pod field in a downward API volume.
pub(super) fn validate_volume_field_ref(check: &mut Check, reference: &Value, path: &str) {
    const VOLUME_FIELDS: &[&str] = &[
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
    ];
    validate_field_ref(check, reference, path, VOLUME_FIELDS);
}

fn validate_field_ref(check: &mut Check, reference: &Value, path: &str, known: &[&str]) {
    let (version, field) = (text(reference, "apiVersion"), text(reference, "fieldPath"));
    let at = format!("{path}.fieldPath");
    if !check.require(&reference["apiVersion"], &format!("{path}.apiVersion"))
        || !check.require(&reference["fieldPath"], &at)
    {
        return;
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    let reason = match subscript {
        _ if version != "v1" => format!("unsupported pod version: {version}"),
        Some(("metadata.annotations", key)) => {
            return check.push_messages(path, key, &names::qualified_name_errors(&key.to_lowercase()));
        }
        Some(("metadata.labels", key)) => {
            return check.validate_format(path, key, names::qualified_name_errors);
        }
        Some((start, _)) if !start.is_empty() => format!("field label does not support subscript: {field}"),
        _ if known.contains(&field) => return,
        _ if ENV_FIELDS.contains(&field) || VOLUME_ONLY_FIELDS.contains(&field) => {
            // `spec.host` is an old name of `spec.nodeName`.
            let field = field.replace("spec.host", "spec.nodeName");
            if !known.contains(&&*field) {
                check.not_supported(&at, field, known);
            }
            return;
        }
        _ => format!("field label not supported: {field}"),
    };
    let detail = format!("error converting fieldPath: {reason}");
    check.invalid(&at, field, detail);
}

/// Validates a reference to a resource of a container. In a downward API volume, it must name the container.
pub(super) fn validate_resource_ref(check: &mut Check, reference: &Value, path: &str, in_volume: bool) {
    let resource = text(reference, "resource");
    let is_huge_page =
        resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    let at = format!("{path}.resource");
    if (!in_volume || check.require(&reference["containerName"], &format!("{path}.containerName")))
        && check.require(&reference["resource"], &at)
        && !CONTAINER_RESOURCES.contains(&resource)
        && !is_huge_page
    {
        check.not_supported(&at, resource, CONTAINER_RESOURCES);
    }
    let divisor = reference["divisor"].as_str().unwrap_or("0");
    let kind = resource
        .split_once('.')
        .filter(|_| is_huge_page || CONTAINER_RESOURCES.contains(&resource));
    let (resource_name, known) = match kind.map(|(_, kind)| kind) {
        Some("cpu") => ("cpu", None),
        Some("memory") => ("memory", Some("memory resource")),
        Some("ephemeral-storage") => ("ephemeral-storage", Some("local ephemeral storage resource")),
        _ if is_huge_page => ("hugepages", Some("hugepages resource")),
        _ => return,
    };
    let unit = divisor.strip_prefix('1').unwrap_or("none");
    let detail = match known {
        _ if divisor == "0" => return,
        None if !matches!(unit, "" | "m") => {
            format!("only divisor's values 1m and 1 are supported with the {resource_name} resource")
        }
        Some(resource_kind) if !DIVISOR_UNITS.contains(&unit) => format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {resource_kind}"
        ),
        _ => return,
    };
    // kube-apiserver shows the resource here.
    check.invalid(&format!("{path}.divisor"), resource, detail);
}

const DIVISOR_UNITS: [&str; 13] = [
    "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];
