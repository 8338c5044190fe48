//! Validation of Endpoints and EndpointSlices.

use super::{Check, Constraint, FieldRule, addresses, array, items, names, text};
use serde_json::Value;
use std::net::IpAddr;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_HINTS: usize = 8;

const PORT: &[FieldRule] = &[
    ("name", Constraint::OptionalName(names::label_errors)),
    ("protocol", Constraint::OneOf(&["SCTP", "TCP", "UDP"])),
    ("appProtocol", Constraint::Format(names::qualified_name_errors)),
];
const NODE_AND_HOST_NAME: &[FieldRule] = &[
    ("nodeName", Constraint::Format(names::subdomain_errors)),
    ("hostname", Constraint::Format(names::label_errors)),
];
#[rustfmt::skip]
const SLICE: &[FieldRule] = &[
    ("addressType", Constraint::RequiredOneOf(&["FQDN", "IPv4", "IPv6"])),
    ("addressType", Constraint::Immutable),
];
const HINTS_FOR_ZONES: &[FieldRule] = &[
    ("forZones[].name", Constraint::Unique),
    ("forZones[].name", Constraint::Text(names::label_value_errors)),
];
const HINTS_FOR_NODES: &[FieldRule] = &[
    ("forNodes[].name", Constraint::Unique),
    ("forNodes[].name", Constraint::Text(names::subdomain_errors)),
];

pub(super) fn validate_endpoints(check: &mut Check, endpoints: &Value, old: Option<&Value>) {
    // Unchanged subsets are not validated again.
    if old.is_some_and(|old| old["subsets"] == endpoints["subsets"]) {
        return;
    }
    for (subset, path) in items(endpoints, "subsets", "") {
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| count(&subset[*list]) == 0) {
            check.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for (address, path) in lists.iter().flat_map(|list| items(subset, list, &path)) {
            let (ip, field) = (text(address, "ip"), format!("{path}.ip"));
            if let Some(reason) = addresses::ip_error(ip) {
                check.invalid(&field, ip, reason);
            }
            check.apply(NODE_AND_HOST_NAME, address, None, &path);
            addresses::validate_non_special_ip(check, ip, &field);
        }
        for (port, path) in items(subset, "ports", &path) {
            if count(&subset["ports"]) > 1 {
                check.require(&port["name"], &format!("{path}.name"));
            }
            check.validate_port(&port["port"], &format!("{path}.port"));
            check.apply(PORT, port, None, &path);
        }
    }
}

pub(super) fn validate_slice(check: &mut Check, slice: &Value, old: Option<&Value>) {
    let ty = text(slice, "addressType");
    check.apply(SLICE, slice, old, "");
    if check.limit_items(&slice["ports"], MAX_PORTS, "ports") {
        const PORTS: &[FieldRule] = &[
            ("ports[]", Constraint::Rules(PORT)),
            ("ports[].name", Constraint::Unique),
        ];
        check.apply(PORTS, slice, None, "");
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"])
        && check.limit_items(&slice["endpoints"], MAX_ENDPOINTS, "endpoints")
    {
        for (endpoint, path) in items(slice, "endpoints", "") {
            let field = format!("{path}.addresses");
            if count(&endpoint["addresses"]) == 0 {
                check.required(&field, "must contain at least 1 address");
            }
            check.limit_items(&endpoint["addresses"], MAX_ADDRESSES, &field);
            for (address, item_path) in items(endpoint, "addresses", &path) {
                self::validate_address(
                    check,
                    address.as_str().unwrap_or_default(),
                    ty,
                    &field,
                    &item_path,
                );
            }
            check.apply(NODE_AND_HOST_NAME, endpoint, None, &path);
            validate_hints(check, &endpoint["hints"], &format!("{path}.hints"));
        }
    }
}

fn count(list: &Value) -> usize {
    array(list).len()
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
        check.invalid(path, address, reason);
        return;
    }
    let parsed = address.parse::<IpAddr>().ok();
    let canonical = parsed.map(|address| address.to_string()).unwrap_or_default();
    if ty == "IPv6" && canonical != address {
        return addresses::reject_other_form(check, address, &canonical, path);
    }
    if parsed.is_some_and(|address| address.is_ipv4() != (ty == "IPv4")) {
        let detail = format!("must be an {ty} address");
        check.invalid(list, address, detail);
    }
    addresses::validate_non_special_ip(check, address, path);
}

/// Validates a fully qualified domain name, which may end with a dot.
fn validate_fqdn(check: &mut Check, name: &str, path: &str) {
    if name.is_empty() {
        check.required(path, "");
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
    check.invalid(path, value, reason);
}

/// Validates topology hints.
fn validate_hints(check: &mut Check, hints: &Value, path: &str) {
    for (list, rules) in [("forZones", HINTS_FOR_ZONES), ("forNodes", HINTS_FOR_NODES)] {
        if !check.limit_items(&hints[list], MAX_HINTS, &format!("{path}.{list}")) {
            return;
        }
        check.apply(rules, hints, None, path);
    }
}
