//! Validation of Ingresses and IngressClasses.

use super::{Check, Constraint, FieldRule, addresses, array, job, names, text};
use serde_json::Value;
use std::net::IpAddr;

const INVALID_WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case \
                        alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for \
                        validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[rustfmt::skip]
const INGRESS: &[FieldRule] = &[
    ("defaultBackend?", Constraint::Checked(validate_backend)),
    ("rules[].host", Constraint::Checked(validate_host)),
    ("rules[].http?.paths", Constraint::Required("")),
    ("rules[].http.paths[]", Constraint::Checked(validate_http_path)),
    ("tls[].hosts[]", Constraint::Checked(validate_wildcard_domain)),
    ("tls[].secretName", Constraint::OptionalName(names::subdomain_errors)),
    ("ingressClassName", Constraint::Format(names::subdomain_errors)),
];
#[rustfmt::skip]
const LOAD_BALANCER: &[FieldRule] = &[
    ("ingress[].ip", Constraint::OptionalName(addresses::ip_errors)),
    ("ingress[].hostname", Constraint::OptionalName(names::subdomain_errors)),
    ("ingress[].hostname", Constraint::Checked(reject_ip_address)),
];
const SERVICE_BACKEND: &[FieldRule] = &[("name", Constraint::Named(names::label_errors))];
const RESOURCE_BACKEND: &[FieldRule] = &[
    ("apiGroup", Constraint::Format(names::subdomain_errors)),
    ("kind", Constraint::Named(names::path_segment_errors)),
    ("name", Constraint::Named(names::path_segment_errors)),
];

pub(super) fn validate_ingress(check: &mut Check, ingress: &Value, old: Option<&Value>) {
    validate_load_balancer_status(check, &ingress["status"]["loadBalancer"]);
    let spec = &ingress["spec"];
    let has_rules = !array(&spec["rules"]).is_empty();
    if !has_rules && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        check.invalid("spec", spec["rules"].clone(), detail);
    }
    check.apply(INGRESS, spec, None, "spec");
    let class = spec["ingressClassName"].as_str();
    let annotation = "kubernetes.io/ingress.class";
    let annotated = ingress["metadata"]["annotations"][annotation].as_str();
    if let (None, Some(class), Some(annotated)) = (old, class, annotated)
        && class != annotated
    {
        let detail = "must match `ingressClassName` when both are specified";
        check.invalid(&format!("annotations.{annotation}"), annotated, detail);
    }
}

fn validate_host(check: &mut Check, host: &Value, path: &str) {
    reject_ip_address(check, host, path);
    if host.as_str().is_some_and(|host| !host.is_empty()) {
        validate_wildcard_domain(check, host, path);
    }
}

fn reject_ip_address(check: &mut Check, host: &Value, path: &str) {
    if let Some(host) = host.as_str().filter(|host| host.parse::<IpAddr>().is_ok()) {
        check.invalid(path, host, "must be a DNS name, not an IP address");
    }
}

/// Validates a subdomain, which may start with a wildcard label.
fn validate_wildcard_domain(check: &mut Check, name: &Value, path: &str) {
    let name = name.as_str().unwrap_or_default();
    if !name.contains('*') {
        check.validate_format(path, name, names::subdomain_errors);
    } else if !name.strip_prefix("*.").is_some_and(names::is_subdomain) {
        check.invalid(path, name, INVALID_WILDCARD);
    }
}

fn validate_http_path(check: &mut Check, http_path: &Value, path: &str) {
    let Some(ty) = http_path["pathType"].as_str() else {
        check.required(&format!("{path}.pathType"), "pathType must be specified");
        return;
    };
    let (route_path, field) = (text(http_path, "path"), format!("{path}.path"));
    match ty {
        "Exact" | "Prefix" => {
            if !route_path.starts_with('/') {
                check.invalid(&field, route_path, "must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if route_path.contains(part) {
                    check.invalid(&field, route_path, format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if route_path.ends_with(end) {
                    check.invalid(&field, route_path, format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !route_path.is_empty() && !route_path.starts_with('/') {
                check.invalid(&field, route_path, "must be an absolute path");
            }
        }
        _ => check.require_supported(
            http_path,
            "pathType",
            path,
            &["Exact", "ImplementationSpecific", "Prefix"],
        ),
    }
    validate_backend(check, &http_path["backend"], &format!("{path}.backend"));
}

fn validate_backend(check: &mut Check, backend: &Value, path: &str) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (resource.is_object(), service.is_object()) {
        (true, true) => {
            check.invalid(path, "", "cannot set both resource and service backends");
        }
        (false, false) => check.invalid(path, "", "resource or service backend is required"),
        (true, false) => check.apply(RESOURCE_BACKEND, resource, None, &format!("{path}.resource")),
        (false, true) => {
            let service_path = format!("{path}.service");
            check.apply(SERVICE_BACKEND, service, None, &service_path);
            let (name, number) = (
                text(&service["port"], "name"),
                service["port"]["number"].as_i64().unwrap_or(0),
            );
            match (name.is_empty(), number) {
                (false, 0) => {
                    check.validate_format(
                        &format!("{service_path}.port.name"),
                        name,
                        names::port_name_errors,
                    );
                }
                (false, _) => {
                    check.invalid(path, "", "cannot set both port name & port number");
                }
                (true, 0) => check.required(path, "port name or number is required"),
                (true, _) => {
                    check.validate_port(&service["port"]["number"], &format!("{service_path}.port.number"));
                }
            }
        }
    }
}

/// Validates the status of a load balancer.
pub(super) fn validate_load_balancer_status(check: &mut Check, load_balancer: &Value) {
    check.apply(LOAD_BALANCER, load_balancer, None, "status.loadBalancer");
}

#[rustfmt::skip]
const CLASS_PARAMETERS: &[FieldRule] = &[
    ("apiGroup", Constraint::Format(names::subdomain_errors)),
    ("kind", Constraint::Named(names::path_segment_errors)),
    ("name", Constraint::Named(names::path_segment_errors)),
    ("scope", Constraint::Present("")),
    ("scope", Constraint::OneOf(&["Cluster", "Namespace"])),
];

pub(super) fn validate_ingress_class(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let controller = text(spec, "controller");
    if old.is_some_and(|old| text(&old["spec"], "controller") != controller) {
        check.invalid("spec.controller", controller, "field is immutable");
    }
    check.limit_bytes(controller, 250, "spec.controller");
    job::validate_domain_path(check, controller, "spec.controller");
    let (parameters, path) = (&spec["parameters"], "spec.parameters");
    if parameters.is_null() {
        return;
    }
    check.apply(CLASS_PARAMETERS, parameters, None, path);
    let (namespace, path) = (&parameters["namespace"], format!("{path}.namespace"));
    match (text(parameters, "scope"), namespace.as_str()) {
        ("Namespace", None) => check.required(&path, "`parameters.scope` is set to 'Namespace'"),
        ("Namespace", Some(namespace)) => check.validate_format(&path, namespace, names::label_errors),
        ("Cluster", Some(_)) => check.forbidden(&path, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}
