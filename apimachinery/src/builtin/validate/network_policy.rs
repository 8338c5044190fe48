//! Validation of NetworkPolicies.

use super::{Check, addresses, fields, items, text};
use crate::field::FieldError;
use serde_json::Value;

pub(super) fn validate_network_policy(check: &mut Check, spec: &Value) {
    check.validate_label_selector(&spec["podSelector"], "spec.podSelector");
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (rule, path) in items(spec, rules, "spec") {
            for (port, path) in items(rule, "ports", &path) {
                validate_policy_port(check, port, &path);
            }
            for (peer, path) in items(rule, peers, &path) {
                validate_policy_peer(check, peer, &path);
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

fn validate_policy_port(check: &mut Check, port: &Value, path: &str) {
    check.require_supported(port, "protocol", path, &["TCP", "UDP", "SCTP"]);
    check.validate_port_or_name(&port["port"], &format!("{path}.port"));
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
            check.validate_port(&port["endPort"], &field);
        }
    }
}

fn validate_policy_peer(check: &mut Check, peer: &Value, path: &str) {
    let block = &peer["ipBlock"];
    for name in ["podSelector", "namespaceSelector"] {
        check.validate_label_selector(&peer[name], &format!("{path}.{name}"));
    }
    if block.is_object() {
        validate_ip_block(check, block, &format!("{path}.ipBlock"));
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

/// Validates an IP block with its exceptions.
fn validate_ip_block(check: &mut Check, block: &Value, path: &str) {
    let (cidr, field) = (text(block, "cidr"), format!("{path}.cidr"));
    if !check.require(&block["cidr"], &field) {
        return;
    }
    if let Some(reason) = addresses::cidr_error(cidr) {
        check.push(FieldError::invalid(&field, cidr, reason));
    }
    // Exceptions are not checked against an invalid CIDR.
    if addresses::is_strict_subnet(cidr, cidr).is_none() {
        return;
    }
    for (except, path) in items(block, "except", path) {
        let except = except.as_str().unwrap_or_default();
        if let Some(reason) = addresses::cidr_error(except) {
            check.push(FieldError::invalid(&path, except, reason));
        }
        if addresses::is_strict_subnet(except, cidr) == Some(false) {
            let detail = "must be a strict subset of `cidr`";
            check.push(FieldError::invalid(&path, except, detail));
        }
    }
}
