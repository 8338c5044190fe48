//! Validation of Ingresses and IngressClasses.

use super::{Check, addresses, items, names, policy, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

const INVALID_WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case \
                        alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for \
                        validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

pub(super) fn validate_ingress(check: &mut Check, ingress: &Value, old: Option<&Value>) {
    validate_load_balancer_status(check, &ingress["status"]["loadBalancer"]);
    let spec = &ingress["spec"];
    let has_rules = spec["rules"].as_array().is_some_and(|rules| !rules.is_empty());
    if !has_rules && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        check.push(FieldError::invalid("spec", spec["rules"].clone(), detail));
    }
    if spec["defaultBackend"].is_object() {
        validate_backend(check, &spec["defaultBackend"], "spec.defaultBackend");
    }
    for (rule, path) in items(spec, "rules", "spec") {
        validate_host(check, text(rule, "host"), &format!("{path}.host"));
        if rule["http"].is_object() {
            check.require(&rule["http"]["paths"], &format!("{path}.http.paths"));
        }
        for (http_path, path) in items(&rule["http"], "paths", &format!("{path}.http")) {
            self::validate_http_path(check, http_path, &path);
        }
    }
    for (tls, path) in items(spec, "tls", "spec") {
        for (name, path) in items(tls, "hosts", &path) {
            validate_wildcard_domain(check, name.as_str().unwrap_or_default(), &path);
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            check.push_messages(
                &format!("{path}.secretName"),
                secret,
                &names::subdomain_errors(secret),
            );
        }
    }
    let class = spec["ingressClassName"].as_str();
    if let Some(class) = class {
        check.push_messages("spec.ingressClassName", class, &names::subdomain_errors(class));
    }
    let annotation = "kubernetes.io/ingress.class";
    let annotated = ingress["metadata"]["annotations"][annotation].as_str();
    if let (None, Some(class), Some(annotated)) = (old, class, annotated)
        && class != annotated
    {
        let detail = "must match `ingressClassName` when both are specified";
        check.push(FieldError::invalid(
            &format!("annotations.{annotation}"),
            annotated,
            detail,
        ));
    }
}

fn validate_host(check: &mut Check, host: &str, path: &str) {
    if host.parse::<IpAddr>().is_ok() {
        check.push(FieldError::invalid(
            path,
            host,
            "must be a DNS name, not an IP address",
        ));
    }
    if !host.is_empty() {
        validate_wildcard_domain(check, host, path);
    }
}

/// Validates a subdomain, which may start with a wildcard label.
fn validate_wildcard_domain(check: &mut Check, name: &str, path: &str) {
    if !name.contains('*') {
        check.push_messages(path, name, &names::subdomain_errors(name));
    } else if !name.strip_prefix("*.").is_some_and(names::is_subdomain) {
        check.push(FieldError::invalid(path, name, INVALID_WILDCARD));
    }
}

fn validate_http_path(check: &mut Check, http_path: &Value, path: &str) {
    let Some(ty) = http_path["pathType"].as_str() else {
        check.push(FieldError::required(
            &format!("{path}.pathType"),
            "pathType must be specified",
        ));
        return;
    };
    let (route_path, field) = (text(http_path, "path"), format!("{path}.path"));
    match ty {
        "Exact" | "Prefix" => {
            if !route_path.starts_with('/') {
                check.push(FieldError::invalid(
                    &field,
                    route_path,
                    "must be an absolute path",
                ));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if route_path.contains(part) {
                    check.push(FieldError::invalid(
                        &field,
                        route_path,
                        format!("must not contain '{part}'"),
                    ));
                }
            }
            for end in ["/..", "/."] {
                if route_path.ends_with(end) {
                    check.push(FieldError::invalid(
                        &field,
                        route_path,
                        format!("cannot end with '{end}'"),
                    ));
                }
            }
        }
        "ImplementationSpecific" => {
            if !route_path.is_empty() && !route_path.starts_with('/') {
                check.push(FieldError::invalid(
                    &field,
                    route_path,
                    "must be an absolute path",
                ));
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
            let detail = "cannot set both resource and service backends";
            check.push(FieldError::invalid(path, "", detail));
        }
        (false, false) => check.push(FieldError::invalid(
            path,
            "",
            "resource or service backend is required",
        )),
        (true, false) => {
            let path = format!("{path}.resource");
            if let Some(group) = resource["apiGroup"].as_str() {
                check.push_messages(
                    &format!("{path}.apiGroup"),
                    group,
                    &names::subdomain_errors(group),
                );
            }
            policy::validate_object_reference(check, resource, &path);
        }
        (false, true) => {
            let service_path = format!("{path}.service");
            if check.require(&service["name"], &format!("{service_path}.name")) {
                let name = text(service, "name");
                check.push_messages(&format!("{service_path}.name"), name, &names::label_errors(name));
            }
            let (name, number) = (
                text(&service["port"], "name"),
                service["port"]["number"].as_i64().unwrap_or(0),
            );
            match (name.is_empty(), number) {
                (false, 0) => {
                    check.push_messages(
                        &format!("{service_path}.port.name"),
                        name,
                        &names::port_name_errors(name),
                    );
                }
                (false, _) => {
                    let detail = "cannot set both port name & port number";
                    check.push(FieldError::invalid(path, "", detail));
                }
                (true, 0) => check.push(FieldError::required(path, "port name or number is required")),
                (true, _) => {
                    check.validate_port(&service["port"]["number"], &format!("{service_path}.port.number"));
                }
            }
        }
    }
}

/// Validates the status of a load balancer.
pub(super) fn validate_load_balancer_status(check: &mut Check, load_balancer: &Value) {
    for (endpoint, path) in items(load_balancer, "ingress", "status.loadBalancer") {
        let (address, name) = (text(endpoint, "ip"), text(endpoint, "hostname"));
        if let Some(reason) = addresses::ip_error(address).filter(|_| !address.is_empty()) {
            check.push(FieldError::invalid(&format!("{path}.ip"), address, reason));
        }
        let field = format!("{path}.hostname");
        if !name.is_empty() {
            check.push_messages(&field, name, &names::subdomain_errors(name));
        }
        if name.parse::<IpAddr>().is_ok() {
            let detail = "must be a DNS name, not an IP address";
            check.push(FieldError::invalid(&field, name, detail));
        }
    }
}

pub(super) fn validate_ingress_class(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let controller = text(spec, "controller");
    if check.require(&spec["controller"], "spec.controller") && !controller.contains('/') {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        check.push(FieldError::invalid("spec.controller", controller, detail));
    }
    if let Some(old) = old
        && text(&old["spec"], "controller") != controller
    {
        check.push(FieldError::invalid(
            "spec.controller",
            controller,
            "field is immutable",
        ));
    }
}
