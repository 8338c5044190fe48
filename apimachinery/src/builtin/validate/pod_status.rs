//! Validation of the status of pods.

use super::{Check, Constraint, FieldRule, addresses, container_status, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

/// Condition types that are not validated.
const BUILTIN_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const GENERATION: Constraint = Constraint::Within(0, i64::MAX, "must be a non-negative integer");
#[rustfmt::skip]
const STATUS: &[FieldRule] = &[
    ("observedGeneration", GENERATION),
    ("conditions[].observedGeneration", GENERATION),
    ("conditions[].type=Type", Constraint::Checked(validate_condition_type)),
];

fn validate_condition_type(check: &mut Check, kind: &Value, path: &str) {
    let kind = kind.as_str().unwrap_or_default();
    if !BUILTIN_CONDITIONS.contains(&kind) {
        check.validate_format(path, kind, names::qualified_name_errors);
    }
}

/// Validates an update of the status.
pub(super) fn validate_pod_status(check: &mut Check, pod: &Value, old: &Value) {
    let (status, before) = (&pod["status"], &old["status"]);
    check.apply(STATUS, status, None, "status");
    let (node, field) = (text(status, "nominatedNodeName"), "status.nominatedNodeName");
    if node != text(before, "nominatedNodeName") && !node.is_empty() {
        check.validate_format(field, node, names::subdomain_errors);
        if !text(&old["spec"], "nodeName").is_empty() {
            check.forbidden(field, "may not be set on pods that are already bound to a node");
        }
    }
    container_status::reject_container_restarts(check, pod, old);
    container_status::validate_resource_claim_statuses(check, pod);
    validate_ip_list(check, status, before, "podIPs");
    let first = status["hostIPs"].get(0).map(|first| text(first, "ip"));
    if let Some(first) = first.filter(|first| *first != text(status, "hostIP")) {
        check.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`");
    }
    validate_ip_list(check, status, before, "hostIPs");
    container_status::validate_container_statuses(check, pod);
}

/// Validates addresses: at most one per IP family. Addresses that the pod already had are not checked.
fn validate_ip_list(check: &mut Check, status: &Value, before: &Value, list: &str) {
    let previous: Vec<&str> = items(before, list, "")
        .map(|(entry, _)| text(entry, "ip"))
        .collect();
    let mut families = vec![];
    for (entry, path) in items(status, list, "status") {
        let address = text(entry, "ip");
        if let Some(reason) = addresses::ip_error(address).filter(|_| !previous.contains(&address)) {
            check.invalid(&path, address, reason);
        }
        families.push((
            address,
            address.parse::<IpAddr>().ok().map(|address| address.is_ipv4()),
        ));
    }
    if families.len() < 2 {
        return;
    }
    let path = format!("status.{list}");
    let first_invalid = families
        .iter()
        .enumerate()
        .find(|(_, (_, family))| family.is_none());
    if let Some((at, (address, _))) = first_invalid {
        let detail = format!("failed to check for dual stack with error:invalid IP[{at}]: <nil> ({address})");
        check.push(FieldError::internal(&path, detail));
    }
    let has_both_families = [Some(true), Some(false)]
        .into_iter()
        .all(|family| families.iter().any(|(_, other)| *other == family));
    if first_invalid.is_some() || !has_both_families || families.len() > 2 {
        let detail = "may specify no more than one IP for each IP family";
        check.invalid(&path, status[list].clone(), detail);
    }
}
