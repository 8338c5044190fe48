//! Ingresses, network policies and endpoint slices.

use super::{Check, fields, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

pub(super) const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case \
                        alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for \
                        validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Why a text is no range of addresses.
pub(super) fn range_fault(text: &str) -> Option<&'static str> {
    let parts = text.split_once('/').and_then(|(address, bits)| {
        let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?);
        // The bits of the host, if the range has as many.
        match address {
            IpAddr::V4(address) => {
                Some(address.to_bits().checked_shl(bits).unwrap_or(0) != 0).filter(|_| bits <= 32)
            }
            IpAddr::V6(address) => {
                Some(address.to_bits().checked_shl(bits).unwrap_or(0) != 0).filter(|_| bits <= 128)
            }
        }
    });
    match parts {
        None => Some(RANGE),
        Some(true) => Some("must not have bits set beyond the prefix length"),
        Some(false) => None,
    }
}

pub(super) fn ingress(check: &mut Check, ingress: &Value, old: Option<&Value>) {
    let spec = &ingress["spec"];
    let has_rules = spec["rules"].as_array().is_some_and(|rules| !rules.is_empty());
    if !has_rules && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        let rules = check.empties.restored(&Value::Null, "spec.rules");
        check.push(FieldError::invalid("spec", rules, detail));
    }
    if spec["defaultBackend"].is_object() {
        backend(check, &spec["defaultBackend"], "spec.defaultBackend");
    }
    for (rule, path) in items(spec, "rules", "spec") {
        host(check, text(rule, "host"), &format!("{path}.host"));
        if rule["http"].is_object() {
            check.required(&rule["http"]["paths"], &format!("{path}.http.paths"));
        }
        for (route, path) in items(&rule["http"], "paths", &format!("{path}.http")) {
            self::route(check, route, &path);
        }
    }
    for (tls, path) in items(spec, "tls", "spec") {
        for (name, path) in items(tls, "hosts", &path) {
            host(check, name.as_str().unwrap_or_default(), &path);
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            check.messages(&format!("{path}.secretName"), secret, &names::subdomain(secret));
        }
    }
    let class = spec["ingressClassName"].as_str();
    if let Some(class) = class {
        check.messages("spec.ingressClassName", class, &names::subdomain(class));
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

fn host(check: &mut Check, host: &str, path: &str) {
    if host.parse::<IpAddr>().is_ok() {
        check.push(FieldError::invalid(
            path,
            host,
            "must be a DNS name, not an IP address",
        ));
    }
    if host.contains('*') {
        if !host.strip_prefix("*.").is_some_and(names::is_subdomain) {
            check.push(FieldError::invalid(path, host, WILDCARD));
        }
    } else if !host.is_empty() {
        check.messages(path, host, &names::subdomain(host));
    }
}

fn route(check: &mut Check, route: &Value, path: &str) {
    let Some(ty) = route["pathType"].as_str() else {
        check.push(FieldError::required(
            &format!("{path}.pathType"),
            "pathType must be specified",
        ));
        return;
    };
    let (place, field) = (text(route, "path"), format!("{path}.path"));
    match ty {
        "Exact" | "Prefix" => {
            if !place.starts_with('/') {
                check.push(FieldError::invalid(&field, place, "must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if place.contains(part) {
                    check.push(FieldError::invalid(
                        &field,
                        place,
                        format!("must not contain '{part}'"),
                    ));
                }
            }
            for end in ["/..", "/."] {
                if place.ends_with(end) {
                    check.push(FieldError::invalid(
                        &field,
                        place,
                        format!("cannot end with '{end}'"),
                    ));
                }
            }
        }
        "ImplementationSpecific" => {
            if !place.is_empty() && !place.starts_with('/') {
                check.push(FieldError::invalid(&field, place, "must be an absolute path"));
            }
        }
        _ => check.one_of(
            route,
            "pathType",
            path,
            &["Exact", "ImplementationSpecific", "Prefix"],
        ),
    }
    backend(check, &route["backend"], &format!("{path}.backend"));
}

fn backend(check: &mut Check, backend: &Value, path: &str) {
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
            for name in ["kind", "name"] {
                check.required(&resource[name], &format!("{path}.resource.{name}"));
            }
        }
        (false, true) => {
            let of_service = format!("{path}.service");
            if check.required(&service["name"], &format!("{of_service}.name")) {
                let name = text(service, "name");
                check.messages(&format!("{of_service}.name"), name, &names::label(name));
            }
            let (name, number) = (
                text(&service["port"], "name"),
                service["port"]["number"].as_i64().unwrap_or(0),
            );
            match (name.is_empty(), number) {
                (false, 0) => {
                    check.messages(&format!("{of_service}.port.name"), name, &names::port_name(name));
                }
                (false, _) => {
                    let detail = "cannot set both port name & port number";
                    check.push(FieldError::invalid(path, "", detail));
                }
                (true, 0) => check.push(FieldError::required(path, "port name or number is required")),
                (true, _) => check.port(&service["port"]["number"], &format!("{of_service}.port.number")),
            }
        }
    }
}

pub(super) fn ingress_class(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let controller = text(spec, "controller");
    if check.required(&spec["controller"], "spec.controller") && !controller.contains('/') {
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

pub(super) fn policy(check: &mut Check, spec: &Value) {
    check.selector(&spec["podSelector"], "spec.podSelector");
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (rule, path) in items(spec, rules, "spec") {
            for (port, path) in items(rule, "ports", &path) {
                policy_port(check, port, &path);
            }
            for (peer, path) in items(rule, peers, &path) {
                policy_peer(check, peer, &path);
            }
        }
    }
    let types = spec["policyTypes"].as_array().map_or(&[][..], Vec::as_slice);
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        check.push(FieldError::invalid(
            "spec.policyTypes",
            spec["policyTypes"].clone(),
            detail,
        ));
        return;
    }
    for (index, ty) in types.iter().enumerate() {
        let ty = ty.as_str().unwrap_or_default();
        if !["Ingress", "Egress"].contains(&ty) {
            let field = format!("spec.policyTypes[{index}]");
            check.push(FieldError::not_supported(&field, ty, ["Ingress", "Egress"]));
        }
    }
}

fn policy_port(check: &mut Check, port: &Value, path: &str) {
    check.one_of(port, "protocol", path, &["TCP", "UDP", "SCTP"]);
    check.port_or_name(&port["port"], &format!("{path}.port"));
    let Some(end) = port["endPort"].as_i64() else {
        return;
    };
    let field = format!("{path}.endPort");
    match &port["port"] {
        Value::Null => {
            let detail = "may not be specified when `port` is not specified";
            check.push(FieldError::invalid(&field, end, detail));
        }
        Value::String(_) => {
            let detail = "may not be specified when `port` is non-numeric";
            check.push(FieldError::invalid(&field, end, detail));
        }
        first => {
            if first.as_i64().is_some_and(|first| end < first) {
                check.push(FieldError::invalid(
                    &field,
                    first.clone(),
                    "must be greater than or equal to `port`",
                ));
            }
            check.port(&port["endPort"], &field);
        }
    }
}

fn policy_peer(check: &mut Check, peer: &Value, path: &str) {
    let block = &peer["ipBlock"];
    for name in ["podSelector", "namespaceSelector"] {
        check.selector(&peer[name], &format!("{path}.{name}"));
    }
    if block.is_object() {
        let field = format!("{path}.ipBlock.cidr");
        let range = text(block, "cidr");
        if check.required(&block["cidr"], &field)
            && let Some(why) = range_fault(range)
        {
            check.push(FieldError::invalid(&field, range, why));
        }
        for (except, path) in items(block, "except", &format!("{path}.ipBlock")) {
            let except = except.as_str().unwrap_or_default();
            if let Some(why) = range_fault(except) {
                check.push(FieldError::invalid(&path, except, why));
            }
        }
    }
    match fields(peer).filter(|(_, part)| part.is_object()).count() {
        0 => check.push(FieldError::required(path, "must specify a peer")),
        2.. if block.is_object() => {
            check.push(FieldError::forbidden(
                path,
                "may not specify both ipBlock and another peer",
            ));
        }
        _ => {}
    }
}

pub(super) fn endpoint_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let ty = text(slice, "addressType");
    if check.required(&slice["addressType"], "addressType") {
        check.one_of_at(slice, "addressType", "addressType", &["FQDN", "IPv4", "IPv6"]);
    }
    let mut seen = vec![];
    for (index, port) in slice["ports"].as_array().into_iter().flatten().enumerate() {
        let (path, name) = (format!("ports[{index}]"), text(port, "name"));
        if !name.is_empty() {
            check.messages(&format!("{path}.name"), name, &names::label(name));
        }
        if seen.contains(&name) {
            check.push(FieldError::duplicate(&format!("{path}.name"), name));
        }
        seen.push(name);
        check.one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"]);
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"]) {
        for (index, endpoint) in slice["endpoints"].as_array().into_iter().flatten().enumerate() {
            endpoint_of(check, endpoint, ty, &format!("endpoints[{index}]"));
        }
    }
    if old.is_some_and(|old| old["addressType"] != slice["addressType"]) {
        check.push(FieldError::invalid("addressType", ty, "field is immutable"));
    }
}

fn endpoint_of(check: &mut Check, endpoint: &Value, ty: &str, path: &str) {
    let addresses = endpoint["addresses"].as_array().map_or(&[][..], Vec::as_slice);
    let field = format!("{path}.addresses");
    if addresses.is_empty() {
        check.push(FieldError::required(&field, "must contain at least 1 address"));
    } else if addresses.len() > 100 {
        check.push(FieldError::too_many(&field, addresses.len(), 100));
    }
    for (index, address) in addresses.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        let parsed = address.parse::<IpAddr>();
        match (ty, parsed) {
            ("IPv4" | "IPv6", Err(_)) => {
                check.push(FieldError::invalid(
                    &format!("{field}[{index}]"),
                    address,
                    ADDRESS,
                ));
            }
            ("IPv4", Ok(IpAddr::V6(_))) => {
                check.push(FieldError::invalid(&field, address, "must be an IPv4 address"));
            }
            ("IPv6", Ok(IpAddr::V4(_))) => {
                check.push(FieldError::invalid(&field, address, "must be an IPv6 address"));
            }
            _ => {}
        }
    }
    for (name, check_name) in [
        ("nodeName", names::subdomain as fn(&str) -> Vec<&'static str>),
        ("hostname", names::label),
    ] {
        if let Some(value) = endpoint[name].as_str() {
            check.messages(&format!("{path}.{name}"), value, &check_name(value));
        }
    }
}
