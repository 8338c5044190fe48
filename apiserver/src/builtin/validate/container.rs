//! Containers.

use super::{Check, fields, items, names, security, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

/// The containers of a list. Names and volumes are those of the pod so far.
pub(super) fn containers(
    check: &mut Check,
    spec: &Value,
    list: &str,
    path: &str,
    names: &mut BTreeSet<String>,
    volumes: &BTreeSet<&str>,
) {
    for (container, path) in items(spec, list, path) {
        let name = text(container, "name");
        if check.required(&container["name"], &format!("{path}.name")) {
            check.messages(&format!("{path}.name"), name, &names::label(name));
            if !names.insert(name.to_owned()) {
                check.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
        }
        let image = text(container, "image");
        if check.required(&container["image"], &format!("{path}.image")) && image.trim() != image {
            check.push(FieldError::invalid(
                &format!("{path}.image"),
                image,
                "must not have leading or trailing whitespace",
            ));
        }
        check.one_of(
            container,
            "imagePullPolicy",
            &path,
            &["Always", "IfNotPresent", "Never"],
        );
        check.one_of(
            container,
            "terminationMessagePolicy",
            &path,
            &["File", "FallbackToLogsOnError"],
        );
        ports(check, container, &path);
        env(check, container, &path);
        env_from(check, container, &path);
        privileges(
            check,
            &container["securityContext"],
            &format!("{path}.securityContext"),
        );
        mounts(check, container, &path, volumes);
        resources(check, &container["resources"], &format!("{path}.resources"));
        for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let below = format!("{path}.{name}");
            if list == "initContainers"
                && container[name].is_object()
                && container["restartPolicy"] != "Always"
            {
                check.push(FieldError::forbidden(
                    &below,
                    "may not be set for init containers without restartPolicy=Always",
                ));
            } else if container[name].is_object() {
                probe(check, &container[name], &below, name != "readinessProbe");
            }
        }
        for name in ["postStart", "preStop"] {
            let hook = &container["lifecycle"][name];
            if hook.is_object() {
                handler(
                    check,
                    hook,
                    &format!("{path}.lifecycle.{name}"),
                    &["exec", "httpGet", "tcpSocket", "sleep"],
                );
            }
        }
    }
}

fn ports(check: &mut Check, container: &Value, path: &str) {
    let mut seen = BTreeSet::new();
    for (port, path) in items(container, "ports", path) {
        let name = text(port, "name");
        if !name.is_empty() {
            let messages = names::port_name(name);
            check.messages(&format!("{path}.name"), name, &messages);
            if messages.is_empty() && !seen.insert(name) {
                check.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
        }
        let number = &port["containerPort"];
        if number.as_i64().unwrap_or_default() == 0 {
            check.push(FieldError::required(&format!("{path}.containerPort"), ""));
        } else {
            check.port(number, &format!("{path}.containerPort"));
        }
        check.port(&port["hostPort"], &format!("{path}.hostPort"));
        check.one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"]);
    }
}

const VARIABLE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

fn env(check: &mut Check, container: &Value, path: &str) {
    const SOURCES: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    for (variable, path) in items(container, "env", path) {
        let name = text(variable, "name");
        if check.required(&variable["name"], &format!("{path}.name")) && !is_variable(name) {
            check.push(FieldError::invalid(&format!("{path}.name"), name, VARIABLE));
        }
        let source = &variable["valueFrom"];
        let Some(kinds) = source.as_object() else { continue };
        let below = format!("{path}.valueFrom");
        if kinds.is_empty() {
            check.push(FieldError::invalid(&below, "", SOURCES));
        } else if !text(variable, "value").is_empty() {
            check.push(FieldError::invalid(
                &below,
                "",
                "may not be specified when `value` is not empty",
            ));
        } else if kinds.len() > 1 {
            check.push(FieldError::invalid(
                &below,
                "",
                "may not have more than one field specified at a time",
            ));
        }
        if let Some(field) = source["fieldRef"].as_object() {
            field_path(
                check,
                field.get("fieldPath").and_then(Value::as_str).unwrap_or_default(),
                &format!("{below}.fieldRef.fieldPath"),
            );
        }
        for name in ["configMapKeyRef", "secretKeyRef"] {
            if source[name].is_object()
                && check.required(&source[name]["key"], &format!("{below}.{name}.key"))
            {
                let key = text(&source[name], "key");
                check.messages(&format!("{below}.{name}.key"), key, &names::config_key(key));
            }
        }
    }
}

/// Variables from whole maps.
fn env_from(check: &mut Check, container: &Value, path: &str) {
    let all = format!("{path}.envFrom");
    for (source, path) in items(container, "envFrom", path) {
        let prefix = text(source, "prefix");
        if !is_variable(prefix) {
            check.push(FieldError::invalid(&format!("{path}.prefix"), prefix, VARIABLE));
        }
        let kinds: Vec<&str> = ["configMapRef", "secretRef"]
            .into_iter()
            .filter(|kind| source[*kind].is_object())
            .collect();
        for kind in &kinds {
            check.required(&source[*kind]["name"], &format!("{path}.{kind}.name"));
        }
        match kinds.len() {
            0 => {
                let detail = "must specify one of: `configMapRef` or `secretRef`";
                check.push(FieldError::invalid(&all, "", detail));
            }
            1 => {}
            _ => {
                let detail = "may not have more than one field specified at a time";
                check.push(FieldError::invalid(&all, "", detail));
            }
        }
    }
}

fn is_variable(name: &str) -> bool {
    name.bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
}

fn privileges(check: &mut Check, context: &Value, path: &str) {
    security::context(check, context, path);
    if context["allowPrivilegeEscalation"] == false && context["privileged"] == true {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        let shown = check.shown(context, path, "core.SecurityContext");
        check.push(FieldError::invalid(path, "", detail).showing(shown));
    }
}

fn field_path(check: &mut Check, field: &str, path: &str) {
    const KNOWN: [&str; 9] = [
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
    let in_brackets = ["metadata.labels['", "metadata.annotations['"]
        .iter()
        .any(|prefix| field.starts_with(prefix) && field.ends_with("']"));
    if field.is_empty() {
        check.push(FieldError::required(path, ""));
    } else if !KNOWN.contains(&field) && !in_brackets {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        check.push(FieldError::invalid(path, field, detail));
    }
}

fn mounts(check: &mut Check, container: &Value, path: &str, volumes: &BTreeSet<&str>) {
    let mut seen = BTreeSet::new();
    for (mount, path) in items(container, "volumeMounts", path) {
        let name = text(mount, "name");
        if check.required(&mount["name"], &format!("{path}.name")) && !volumes.contains(name) {
            check.push(FieldError::not_found(&format!("{path}.name"), name));
        }
        let place = text(mount, "mountPath");
        if check.required(&mount["mountPath"], &format!("{path}.mountPath")) && !seen.insert(place) {
            check.push(FieldError::invalid(
                &format!("{path}.mountPath"),
                place,
                "must be unique",
            ));
        }
    }
}

fn resources(check: &mut Check, resources: &Value, path: &str) {
    for list in ["limits", "requests"] {
        for (name, quantity) in fields(&resources[list]) {
            let below = format!("{path}.{list}[{name}]");
            resource_name(check, name, &below);
            if amount(quantity).is_some_and(|amount| amount < 0.0) {
                check.push(FieldError::invalid(
                    &below,
                    quantity.clone(),
                    "must be greater than or equal to 0",
                ));
            }
        }
    }
    for (name, request) in fields(&resources["requests"]) {
        let Some(limit) = resources["limits"].get(name) else {
            continue;
        };
        if let (Some(asked), Some(allowed)) = (amount(request), amount(limit))
            && asked > allowed
        {
            let shown = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
            let detail = format!("must be less than or equal to {name} limit of {shown}");
            check.push(FieldError::invalid(
                &format!("{path}.requests"),
                request.clone(),
                detail,
            ));
        }
    }
}

/// Refuses a resource that containers cannot have.
pub(super) fn resource_name(check: &mut Check, name: &str, path: &str) {
    const STANDARD: [&str; 11] = [
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "storage",
    ];
    let of_containers = STANDARD[..3].contains(&name) || name.starts_with("hugepages-");
    if of_containers || name.contains('/') {
        return;
    }
    if !STANDARD.contains(&name) {
        let detail = "must be a standard resource type or fully qualified";
        check.push(FieldError::invalid(path, name, detail));
    }
    check.push(FieldError::invalid(
        path,
        name,
        "must be a standard resource for containers",
    ));
}

const UNITS: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// A quantity's amount, as far as a floating-point number holds it.
pub(crate) fn amount(quantity: &Value) -> Option<f64> {
    if let Some(number) = quantity.as_f64() {
        return Some(number);
    }
    let text = quantity.as_str()?;
    for (unit, factor) in UNITS {
        if let Some(number) = text.strip_suffix(unit) {
            return number.parse::<f64>().ok().map(|number| number * factor);
        }
    }
    text.parse().ok()
}

fn probe(check: &mut Check, probe: &Value, path: &str, succeeds_once: bool) {
    handler(check, probe, path, &HANDLERS);
    check.not_negative(
        probe,
        &[
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ],
        path,
    );
    if let Some(times) = probe["successThreshold"]
        .as_i64()
        .filter(|times| succeeds_once && *times > 1)
    {
        check.push(FieldError::invalid(
            &format!("{path}.successThreshold"),
            times,
            "must be 1",
        ));
    }
}

fn handler(check: &mut Check, holder: &Value, path: &str, kinds: &[&str]) {
    let mut found = 0;
    for kind in kinds {
        let action = &holder[*kind];
        if !action.is_object() {
            continue;
        }
        found += 1;
        let below = format!("{path}.{kind}");
        if found > 1 {
            check.push(FieldError::forbidden(
                &below,
                "may not specify more than 1 handler type",
            ));
            continue;
        }
        match *kind {
            "exec" => drop(check.required(&action["command"], &format!("{below}.command"))),
            "httpGet" | "tcpSocket" | "grpc" => check.port_or_name(&action["port"], &format!("{below}.port")),
            _ => {}
        }
    }
    if found == 0 {
        check.push(FieldError::required(path, "must specify a handler type"));
    }
}
