//! Validation of NetworkPolicies.

use super::{Check, Constraint, FieldRule, addresses, array, fields, items, text};
use serde_json::Value;

const POLICY: &[FieldRule] = &[
    ("podSelector", Constraint::LabelSelector),
    ("ingress[].ports[]", Constraint::Checked(validate_policy_port)),
    ("ingress[].from[]", Constraint::Checked(validate_policy_peer)),
    ("egress[].ports[]", Constraint::Checked(validate_policy_port)),
    ("egress[].to[]", Constraint::Checked(validate_policy_peer)),
];
const PEER: &[FieldRule] = &[
    ("podSelector", Constraint::LabelSelector),
    ("namespaceSelector", Constraint::LabelSelector),
    ("ipBlock?", Constraint::Checked(validate_ip_block)),
];

pub(super) fn validate_network_policy(check: &mut Check, spec: &Value) {
    check.apply(POLICY, spec, None, "spec");
    if array(&spec["policyTypes"]).len() > 2 {
        let detail = "may not specify more than two policyTypes";
        check.invalid("spec.policyTypes", spec["policyTypes"].clone(), detail);
    } else {
        check.apply(
            &[("policyTypes[]", Constraint::Only(&["Ingress", "Egress"]))],
            spec,
            None,
            "spec",
        );
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
            check.invalid(&field, end, "may not be specified when `port` is not specified");
        }
        Value::String(_) => {
            check.invalid(&field, end, "may not be specified when `port` is non-numeric");
        }
        first => {
            if first.as_i64().is_some_and(|first| end < first) {
                check.invalid(&field, first.clone(), "must be greater than or equal to `port`");
            }
            check.validate_port(&port["endPort"], &field);
        }
    }
}

fn validate_policy_peer(check: &mut Check, peer: &Value, path: &str) {
    let block = &peer["ipBlock"];
    check.apply(PEER, peer, None, path);
    match fields(peer).filter(|(_, part)| part.is_object()).count() {
        0 => check.required(path, "must specify a peer"),
        2.. if block.is_object() => {
            check.forbidden(path, "may not specify both ipBlock and another peer");
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
        check.invalid(&field, cidr, reason);
    }
    // Exceptions are not checked against an invalid CIDR.
    if addresses::is_strict_subnet(cidr, cidr).is_none() {
        return;
    }
    for (except, path) in items(block, "except", path) {
        let except = except.as_str().unwrap_or_default();
        if let Some(reason) = addresses::cidr_error(except) {
            check.invalid(&path, except, reason);
        }
        if addresses::is_strict_subnet(except, cidr) == Some(false) {
            check.invalid(&path, except, "must be a strict subset of `cidr`");
        }
    }
}
