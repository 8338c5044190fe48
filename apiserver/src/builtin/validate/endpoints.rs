//! Where services are found: endpoints, and slices of them.

use super::{Check, addresses, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_PORTS: usize = 20_000;
const MOST_HINTS: usize = 8;

pub(super) fn endpoints(check: &mut Check, endpoints: &Value, old: Option<&Value>) {
    // What was there stays as it is.
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
            if let Some(why) = addresses::fault(ip) {
                check.push(FieldError::invalid(&field, ip, why));
            }
            host(check, address, &path);
            addresses::special(check, ip, &field);
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
    if not_too_many(check, &slice["ports"], "ports", MOST_PORTS) {
        let mut seen = vec![];
        for (port, path) in items(slice, "ports", "") {
            let name = text(port, "name");
            self::port(check, port, &path);
            is_first(check, &mut seen, name, &format!("{path}.name"));
        }
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"])
        && not_too_many(check, &slice["endpoints"], "endpoints", MOST_ENDPOINTS)
    {
        for (endpoint, path) in items(slice, "endpoints", "") {
            let field = format!("{path}.addresses");
            if count(&endpoint["addresses"]) == 0 {
                check.push(FieldError::required(&field, "must contain at least 1 address"));
            }
            not_too_many(check, &endpoint["addresses"], &field, MOST_ADDRESSES);
            for (address, below) in items(endpoint, "addresses", &path) {
                self::address(check, address.as_str().unwrap_or_default(), ty, &field, &below);
            }
            host(check, endpoint, &path);
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

fn not_too_many(check: &mut Check, list: &Value, path: &str, most: usize) -> bool {
    let count = count(list);
    if count > most {
        check.push(FieldError::too_many(path, count, most as u64));
    }
    count <= most
}

fn is_first<'a>(check: &mut Check, seen: &mut Vec<&'a str>, name: &'a str, path: &str) {
    if seen.contains(&name) {
        check.push(FieldError::duplicate(path, name));
    }
    seen.push(name);
}

fn port(check: &mut Check, port: &Value, path: &str) {
    let name = text(port, "name");
    if !name.is_empty() {
        check.messages(&format!("{path}.name"), name, &names::label(name));
    }
    check.one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"]);
    if let Some(protocol) = port["appProtocol"].as_str() {
        let field = format!("{path}.appProtocol");
        check.messages(&field, protocol, &names::qualified(protocol));
    }
}

/// The machine that is reached, and the one that it runs on.
fn host(check: &mut Check, endpoint: &Value, path: &str) {
    for (name, messages) in [
        ("nodeName", names::subdomain as fn(&str) -> Vec<&'static str>),
        ("hostname", names::label),
    ] {
        if let Some(value) = endpoint[name].as_str() {
            check.messages(&format!("{path}.{name}"), value, &messages(value));
        }
    }
}

/// An address of a type. That it is of another is said of the list.
fn address(check: &mut Check, address: &str, ty: &str, list: &str, path: &str) {
    if ty == "FQDN" {
        return domain(check, address, path);
    }
    if !matches!(ty, "IPv4" | "IPv6") {
        return;
    }
    if let Some(why) = addresses::fault(address) {
        check.push(FieldError::invalid(path, address, why));
        return;
    }
    let parsed = address.parse::<IpAddr>().ok();
    let written = parsed.map(|address| address.to_string()).unwrap_or_default();
    if ty == "IPv6" && written != address {
        let detail = format!("must be in canonical form ({written:?})");
        check.push(FieldError::invalid(path, address, detail));
        return;
    }
    if parsed.is_some_and(|address| address.is_ipv4() != (ty == "IPv4")) {
        let detail = format!("must be an {ty} address");
        check.push(FieldError::invalid(list, address, detail));
    }
    addresses::special(check, address, path);
}

/// A name of several parts, which may end with a dot.
fn domain(check: &mut Check, name: &str, path: &str) {
    if name.is_empty() {
        check.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = names::subdomain(name);
    let (value, why) = if !messages.is_empty() {
        (name, messages.join(","))
    } else if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        (name, why.to_owned())
    } else {
        let mut parts = name.split('.').map(|part| (part, names::label(part)));
        let Some((part, messages)) = parts.find(|(_, messages)| !messages.is_empty()) else {
            return;
        };
        (part, messages.join(","))
    };
    check.push(FieldError::invalid(path, value, why));
}

/// Who should rather go there.
fn hints(check: &mut Check, hints: &Value, path: &str) {
    for (list, messages) in [
        ("forZones", names::label_value as fn(&str) -> Vec<&'static str>),
        ("forNodes", names::subdomain),
    ] {
        if !not_too_many(check, &hints[list], &format!("{path}.{list}"), MOST_HINTS) {
            return;
        }
        let mut seen = vec![];
        for (hint, path) in items(hints, list, path) {
            let (name, field) = (text(hint, "name"), format!("{path}.name"));
            is_first(check, &mut seen, name, &field);
            check.messages(&field, name, &messages(name));
        }
    }
}
