//! Validation of IPAddresses and ServiceCIDRs.

use super::{Check, Constraint, FieldRule, addresses, items, names, text};
use serde_json::Value;

const IMMUTABLE: &str = "field is immutable";

#[rustfmt::skip]
const IP_ADDRESS: &[FieldRule] = &[
    ("parentRef", Constraint::Present("")),
    ("parentRef", Constraint::Immutable),
    ("parentRef?.group", Constraint::OptionalName(names::subdomain_errors)),
    ("parentRef?.resource", Constraint::Named(names::path_segment_errors)),
    ("parentRef?.name", Constraint::Named(names::path_segment_errors)),
    ("parentRef?.namespace", Constraint::Text(names::path_segment_errors)),
];

pub(super) fn validate_ip_address(check: &mut Check, address: &Value, old: Option<&Value>) {
    let name = text(&address["metadata"], "name");
    addresses::validate_canonical_ip(check, name, "metadata.name");
    check.apply(IP_ADDRESS, &address["spec"], old.map(|old| &old["spec"]), "spec");
}

pub(super) fn validate_network(check: &mut Check, network: &Value, old: Option<&Value>, subresource: &str) {
    let list = |object: &Value| object["spec"]["cidrs"].as_array().cloned().unwrap_or_default();
    let cidrs = list(network);
    let Some(old) = old.map(list) else {
        return validate_cidrs(check, network, &cidrs);
    };
    if !subresource.is_empty() {
        return;
    }
    if old.len() == cidrs.len() || (old.len(), cidrs.len()) == (1, 2) {
        for (index, _) in old
            .iter()
            .zip(&cidrs)
            .enumerate()
            .filter(|(_, (old, new))| old != new)
        {
            let field = format!("spec.cidrs[{index}]");
            check.invalid(&field, cidrs[index].clone(), IMMUTABLE);
        }
        if old.len() != cidrs.len() {
            validate_cidrs(check, network, &cidrs);
        }
    } else {
        check.invalid("spec.cidrs", Value::Array(cidrs), IMMUTABLE);
    }
}

fn validate_cidrs(check: &mut Check, network: &Value, cidrs: &[Value]) {
    let path = "spec.cidrs";
    match cidrs.len() {
        0 => return check.required(path, "at least one CIDR required"),
        1 | 2 => {}
        _ => {
            let value = network["spec"].clone();
            return check.invalid(path, value, "may only hold up to 2 values");
        }
    }
    for (cidr, path) in items(&network["spec"], "cidrs", "spec") {
        let cidr = cidr.as_str().unwrap_or_default();
        addresses::validate_canonical_cidr(check, cidr, &path);
    }
    let is_v6 = |cidr: &Value| cidr.as_str().and_then(addresses::is_v6_cidr);
    if let [first, second] = cidrs
        && is_v6(first) == is_v6(second)
        && is_v6(first).is_some()
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        check.invalid(path, Value::Array(cidrs.to_vec()), detail);
    }
}
