//! Validation of IPAddresses and ServiceCIDRs.

use super::{Check, addresses, items, names, text};
use crate::field::FieldError;
use serde_json::Value;

const IMMUTABLE: &str = "field is immutable";

pub(super) fn validate_ip_address(check: &mut Check, address: &Value, old: Option<&Value>) {
    let name = text(&address["metadata"], "name");
    if let Some(detail) = addresses::ip_error(name) {
        check.push(FieldError::invalid("metadata.name", name, detail));
    }
    let (parent, path) = (&address["spec"]["parentRef"], "spec.parentRef");
    if parent.is_null() {
        check.push(FieldError::required(path, ""));
    } else {
        let group = text(parent, "group");
        if !group.is_empty() {
            check.push_messages(&format!("{path}.group"), group, &names::subdomain_errors(group));
        }
        for (field, is_required) in [("resource", true), ("name", true), ("namespace", false)] {
            let (value, path) = (text(parent, field), format!("{path}.{field}"));
            if is_required && !check.require(&Value::from(value), &path) {
                continue;
            }
            for why in names::path_segment_errors(value) {
                check.push(FieldError::invalid(&path, value, why));
            }
        }
    }
    if old.is_some_and(|old| old["spec"]["parentRef"] != *parent) {
        check.push(FieldError::invalid(path, parent.clone(), IMMUTABLE));
    }
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
            check.push(FieldError::invalid(&field, cidrs[index].clone(), IMMUTABLE));
        }
        if old.len() != cidrs.len() {
            validate_cidrs(check, network, &cidrs);
        }
    } else {
        check.push(FieldError::invalid("spec.cidrs", Value::Array(cidrs), IMMUTABLE));
    }
}

fn validate_cidrs(check: &mut Check, network: &Value, cidrs: &[Value]) {
    let path = "spec.cidrs";
    match cidrs.len() {
        0 => return check.push(FieldError::required(path, "at least one CIDR required")),
        1 | 2 => {}
        _ => {
            let value = network["spec"].clone();
            return check.push(FieldError::invalid(path, value, "may only hold up to 2 values"));
        }
    }
    for (cidr, path) in items(&network["spec"], "cidrs", "spec") {
        let cidr = cidr.as_str().unwrap_or_default();
        if let Some(detail) = addresses::cidr_error(cidr) {
            check.push(FieldError::invalid(&path, cidr, detail));
        }
    }
    let is_v6 = |cidr: &Value| cidr.as_str().is_some_and(|cidr| cidr.contains(':'));
    if let [first, second] = cidrs
        && is_v6(first) == is_v6(second)
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        check.push(FieldError::invalid(path, Value::Array(cidrs.to_vec()), detail));
    }
}
