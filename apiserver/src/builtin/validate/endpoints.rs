//! Validation of Endpoints and EndpointSlices.

use super::{Check, addresses, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_HINTS: usize = 8;

pub(super) fn endpoints(check: &mut Check, endpoints: &Value, old: Option<&Value>) {
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
            if let Some(why) = addresses::ip_error(ip) {
                check.push(FieldError::invalid(&field, ip, why));
            }
            node_and_host_name(check, address, &path);
            addresses::validate_non_special_ip(check, ip, &field);
        }
        for (port, path) in items(subset, "ports", &path) {
            if count(&subset["ports"]) > 1 {
                check.required(&port["name"], &format!("{path}.name"));
            }
            check.port(&port["port"], &format!("{path}.port"));
            self::port(check, port, &path);
        }
    }
}

pub(super) fn slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let ty = text(slice, "addressType");
    if check.required(&slice["addressType"], "addressType") {
        check.one_of_at(slice, "addressType", "addressType", &["FQDN", "IPv4", "IPv6"]);
    }
    if max_items(check, &slice["ports"], "ports", MAX_PORTS) {
        let mut seen = vec![];
        for (port, path) in items(slice, "ports", "") {
            let name = text(port, "name");
            self::port(check, port, &path);
            unique(check, &mut seen, name, &format!("{path}.name"));
        }
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"])
        && max_items(check, &slice["endpoints"], "endpoints", MAX_ENDPOINTS)
    {
        for (endpoint, path) in items(slice, "endpoints", "") {
            let field = format!("{path}.addresses");
            if count(&endpoint["addresses"]) == 0 {
                check.push(FieldError::required(&field, "must contain at least 1 address"));
            }
            max_items(check, &endpoint["addresses"], &field, MAX_ADDRESSES);
            for (address, item_path) in items(endpoint, "addresses", &path) {
                self::address(
                    check,
                    address.as_str().unwrap_or_default(),
                    ty,
                    &field,
                    &item_path,
                );
            }
            node_and_host_name(check, endpoint, &path);
            hints(check, &endpoint["hints"], &format!("{path}.hints"));
        }
    }
    if old.is_some_and(|old| old["addressType"] != slice["addressType"]) {
        check.push(FieldError::invalid("addressType", ty, "field is immutable"));
    }
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn max_items(check: &mut Check, list: &Value, path: &str, max: usize) -> bool {
    let count = count(list);
    if count > max {
        check.push(FieldError::too_many(path, count, max as u64));
    }
    count <= max
}

fn unique<'a>(check: &mut Check, seen: &mut Vec<&'a str>, name: &'a str, path: &str) {
    if seen.contains(&name) {
        check.push(FieldError::duplicate(path, name));
    }
    seen.push(name);
}

fn port(check: &mut Check, port: &Value, path: &str) {
    let name = text(port, "name");
    if !name.is_empty() {
        check.messages(&format!("{path}.name"), name, &names::label_errors(name));
    }
    check.one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"]);
    if let Some(protocol) = port["appProtocol"].as_str() {
        let field = format!("{path}.appProtocol");
        check.messages(&field, protocol, &names::qualified_name_errors(protocol));
    }
}

/// Validates node name and host name.
fn node_and_host_name(check: &mut Check, endpoint: &Value, path: &str) {
    for (name, messages) in [
        (
            "nodeName",
            names::subdomain_errors as fn(&str) -> Vec<&'static str>,
        ),
        ("hostname", names::label_errors),
    ] {
        if let Some(value) = endpoint[name].as_str() {
            check.messages(&format!("{path}.{name}"), value, &messages(value));
        }
    }
}

/// Validates an address of the slice's address type. A wrong address family is reported at the list.
fn address(check: &mut Check, address: &str, ty: &str, list: &str, path: &str) {
    if ty == "FQDN" {
        return fqdn(check, address, path);
    }
    if !matches!(ty, "IPv4" | "IPv6") {
        return;
    }
    if let Some(why) = addresses::ip_error(address) {
        check.push(FieldError::invalid(path, address, why));
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
fn fqdn(check: &mut Check, name: &str, path: &str) {
    if name.is_empty() {
        check.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = names::subdomain_errors(name);
    let (value, why) = if !messages.is_empty() {
        (name, messages.join(","))
    } else if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        (name, why.to_owned())
    } else {
        let mut parts = name.split('.').map(|part| (part, names::label_errors(part)));
        let Some((part, messages)) = parts.find(|(_, messages)| !messages.is_empty()) else {
            return;
        };
        (part, messages.join(","))
    };
    check.push(FieldError::invalid(path, value, why));
}

/// Validates topology hints.
fn hints(check: &mut Check, hints: &Value, path: &str) {
    for (list, messages) in [
        (
            "forZones",
            names::label_value_errors as fn(&str) -> Vec<&'static str>,
        ),
        ("forNodes", names::subdomain_errors),
    ] {
        if !max_items(check, &hints[list], &format!("{path}.{list}"), MAX_HINTS) {
            return;
        }
        let mut seen = vec![];
        for (hint, path) in items(hints, list, path) {
            let (name, field) = (text(hint, "name"), format!("{path}.name"));
            unique(check, &mut seen, name, &field);
            check.messages(&field, name, &messages(name));
        }
    }
}
