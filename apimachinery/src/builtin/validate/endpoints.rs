//! Validation of Endpoints and EndpointSlices.

use super::{Check, addresses, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_HINTS: usize = 8;

pub(super) fn validate_endpoints(check: &mut Check, endpoints: &Value, old: Option<&Value>) {
    // Unchanged subsets are not validated again.
    if old.is_some_and(|old| old["subsets"] == endpoints["subsets"]) {
        return;
    }
    for (subset, path) in items(endpoints, "subsets", "") {
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| count(&subset[*list]) == 0) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            check.push(FieldError::required(&path, detail));
        }
        for (address, path) in lists.iter().flat_map(|list| items(subset, list, &path)) {
            let (ip, field) = (text(address, "ip"), format!("{path}.ip"));
            if let Some(reason) = addresses::ip_error(ip) {
                check.push(FieldError::invalid(&field, ip, reason));
            }
            validate_node_and_host_name(check, address, &path);
            addresses::validate_non_special_ip(check, ip, &field);
        }
        for (port, path) in items(subset, "ports", &path) {
            if count(&subset["ports"]) > 1 {
                check.require(&port["name"], &format!("{path}.name"));
            }
            check.validate_port(&port["port"], &format!("{path}.port"));
            self::validate_port(check, port, &path);
        }
    }
}

pub(super) fn validate_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let ty = text(slice, "addressType");
    if check.require(&slice["addressType"], "addressType") {
        check.require_supported_at(slice, "addressType", "addressType", &["FQDN", "IPv4", "IPv6"]);
    }
    if limit_items(check, &slice["ports"], "ports", MAX_PORTS) {
        let mut seen = vec![];
        for (port, path) in items(slice, "ports", "") {
            let name = text(port, "name");
            self::validate_port(check, port, &path);
            require_unique_name(check, &mut seen, name, &format!("{path}.name"));
        }
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"])
        && limit_items(check, &slice["endpoints"], "endpoints", MAX_ENDPOINTS)
    {
        for (endpoint, path) in items(slice, "endpoints", "") {
            let field = format!("{path}.addresses");
            if count(&endpoint["addresses"]) == 0 {
                check.push(FieldError::required(&field, "must contain at least 1 address"));
            }
            limit_items(check, &endpoint["addresses"], &field, MAX_ADDRESSES);
            for (address, item_path) in items(endpoint, "addresses", &path) {
                self::validate_address(
                    check,
                    address.as_str().unwrap_or_default(),
                    ty,
                    &field,
                    &item_path,
                );
            }
            validate_node_and_host_name(check, endpoint, &path);
            validate_hints(check, &endpoint["hints"], &format!("{path}.hints"));
        }
    }
    if old.is_some_and(|old| old["addressType"] != slice["addressType"]) {
        check.push(FieldError::invalid("addressType", ty, "field is immutable"));
    }
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn limit_items(check: &mut Check, list: &Value, path: &str, max: usize) -> bool {
    let count = count(list);
    if count > max {
        check.push(FieldError::too_many(path, count, max as u64));
    }
    count <= max
}

fn require_unique_name<'a>(check: &mut Check, seen: &mut Vec<&'a str>, name: &'a str, path: &str) {
    if seen.contains(&name) {
        check.push(FieldError::duplicate(path, name));
    }
    seen.push(name);
}

fn validate_port(check: &mut Check, port: &Value, path: &str) {
    let name = text(port, "name");
    if !name.is_empty() {
        check.push_messages(&format!("{path}.name"), name, &names::label_errors(name));
    }
    check.require_supported(port, "protocol", path, &["SCTP", "TCP", "UDP"]);
    if let Some(protocol) = port["appProtocol"].as_str() {
        let field = format!("{path}.appProtocol");
        check.push_messages(&field, protocol, &names::qualified_name_errors(protocol));
    }
}

/// Validates node name and host name.
fn validate_node_and_host_name(check: &mut Check, endpoint: &Value, path: &str) {
    for (name, messages) in [
        (
            "nodeName",
            names::subdomain_errors as fn(&str) -> Vec<&'static str>,
        ),
        ("hostname", names::label_errors),
    ] {
        if let Some(value) = endpoint[name].as_str() {
            check.push_messages(&format!("{path}.{name}"), value, &messages(value));
        }
    }
}

/// Validates an address of the slice's address type. A wrong address family is reported at the list.
fn validate_address(check: &mut Check, address: &str, ty: &str, list: &str, path: &str) {
    if ty == "FQDN" {
        return validate_fqdn(check, address, path);
    }
    if !matches!(ty, "IPv4" | "IPv6") {
        return;
    }
    if let Some(reason) = addresses::ip_error(address) {
        check.push(FieldError::invalid(path, address, reason));
        return;
    }
    let parsed = address.parse::<IpAddr>().ok();
    let canonical = parsed.map(|address| address.to_string()).unwrap_or_default();
    if ty == "IPv6" && canonical != address {
        let detail = format!("must be in canonical form ({canonical:?})");
        check.push(FieldError::invalid(path, address, detail));
        return;
    }
    if parsed.is_some_and(|address| address.is_ipv4() != (ty == "IPv4")) {
        let detail = format!("must be an {ty} address");
        check.push(FieldError::invalid(list, address, detail));
    }
    addresses::validate_non_special_ip(check, address, path);
}

/// Validates a fully qualified domain name, which may end with a dot.
fn validate_fqdn(check: &mut Check, name: &str, path: &str) {
    if name.is_empty() {
        check.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = names::subdomain_errors(name);
    let (value, reason) = if !messages.is_empty() {
        (name, messages.join(","))
    } else if !name.contains('.') {
        let reason = "should be a domain with at least two segments separated by dots";
        (name, reason.to_owned())
    } else {
        let mut parts = name.split('.').map(|part| (part, names::label_errors(part)));
        let Some((part, messages)) = parts.find(|(_, messages)| !messages.is_empty()) else {
            return;
        };
        (part, messages.join(","))
    };
    check.push(FieldError::invalid(path, value, reason));
}

/// Validates topology hints.
fn validate_hints(check: &mut Check, hints: &Value, path: &str) {
    for (list, messages) in [
        (
            "forZones",
            names::label_value_errors as fn(&str) -> Vec<&'static str>,
        ),
        ("forNodes", names::subdomain_errors),
    ] {
        if !limit_items(check, &hints[list], &format!("{path}.{list}"), MAX_HINTS) {
            return;
        }
        let mut seen = vec![];
        for (hint, path) in items(hints, list, path) {
            let (name, field) = (text(hint, "name"), format!("{path}.name"));
            require_unique_name(check, &mut seen, name, &field);
            check.push_messages(&field, name, &messages(name));
        }
    }
}
