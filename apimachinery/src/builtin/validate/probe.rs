//! Validation of probes and lifecycle hooks.

use super::{Check, Constraint, FieldRule, items, names, text};
use serde_json::Value;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

#[rustfmt::skip]
const PROBE: &[FieldRule] = &[
    ("initialDelaySeconds", Constraint::NonNegative),
    ("timeoutSeconds", Constraint::NonNegative),
    ("periodSeconds", Constraint::NonNegative),
    ("successThreshold", Constraint::NonNegative),
    ("failureThreshold", Constraint::NonNegative),
    (GRACE_PERIOD, Constraint::Within(1, i64::MAX, "must be greater than 0")),
];
const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";
const HTTP_GET: &[FieldRule] = &[
    ("path", Constraint::Required("")),
    ("port", Constraint::PortOrName),
    ("scheme", Constraint::OneOf(&["HTTP", "HTTPS"])),
];

/// Validates the probes and hooks of a container or sidecar.
pub(super) fn validate_probes(check: &mut Check, container: &Value, path: &str, grace: Option<i64>) {
    for name in ["postStart", "preStop"] {
        let hook = &container["lifecycle"][name];
        if hook.is_object() {
            let kinds = ["exec", "httpGet", "tcpSocket", "sleep"];
            validate_handler(check, hook, &format!("{path}.lifecycle.{name}"), &kinds, grace);
        }
    }
    for name in PROBES {
        if container[name].is_object() {
            let succeeds_once = name != "readinessProbe";
            let path = format!("{path}.{name}");
            validate_probe(check, &container[name], &path, succeeds_once, grace);
        }
    }
}

/// Rejects probes and hooks of init containers that are not sidecars.
pub(super) fn reject_probes(check: &mut Check, container: &Value, path: &str) {
    for name in ["lifecycle"].iter().chain(&PROBES) {
        if container[*name].is_object() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            check.forbidden(&format!("{path}.{name}"), detail);
        }
    }
}

fn validate_probe(check: &mut Check, probe: &Value, path: &str, succeeds_once: bool, grace: Option<i64>) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc"];
    validate_handler(check, probe, path, &kinds, grace);
    check.apply(PROBE, probe, None, path);
    let mut reject = |name: &str, detail: &str| {
        check.invalid(&format!("{path}.{name}"), probe[name].clone(), detail);
    };
    let times = probe["successThreshold"].as_i64();
    if succeeds_once && times.is_some_and(|times| times != 1) {
        reject("successThreshold", "must be 1");
    }
    if !succeeds_once && probe[GRACE_PERIOD].is_number() {
        reject(GRACE_PERIOD, "must not be set for readinessProbes");
    }
}

fn validate_http_get(check: &mut Check, action: &Value, path: &str) {
    check.apply(HTTP_GET, action, None, path);
    for (header, _) in items(action, "httpHeaders", path) {
        let name = text(header, "name");
        let field = format!("{path}.httpHeaders");
        check.validate_format(&field, name, names::http_header_errors);
    }
}

fn validate_handler(check: &mut Check, holder: &Value, path: &str, kinds: &[&str], grace: Option<i64>) {
    let mut count = 0;
    for kind in kinds {
        let action = &holder[*kind];
        if !action.is_object() {
            continue;
        }
        count += 1;
        let handler_path = format!("{path}.{kind}");
        if count > 1 {
            check.forbidden(&handler_path, "may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" => drop(check.require(&action["command"], &format!("{handler_path}.command"))),
            "httpGet" => validate_http_get(check, action, &handler_path),
            "sleep" => {
                let seconds = action["seconds"].as_i64().unwrap_or_default();
                if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
                    let detail =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    check.invalid(&handler_path, seconds, detail);
                }
            }
            "tcpSocket" | "grpc" => {
                check.validate_port_or_name(&action["port"], &format!("{handler_path}.port"));
            }
            _ => {}
        }
    }
    if count == 0 {
        check.required(path, "must specify a handler type");
    }
}
