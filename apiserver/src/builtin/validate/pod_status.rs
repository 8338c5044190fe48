//! What is said of a pod.

use super::{Check, addresses, container_status, items, names, text};
use crate::field::FieldError;
use serde_json::{Value, json};
use std::net::IpAddr;

/// Conditions whose names need not be looked at.
const KNOWN: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const NATURAL: &str = "must be a non-negative integer";

/// What a change of the status says.
pub(super) fn pod_status(check: &mut Check, pod: &Value, old: &Value) {
    let (status, before) = (&pod["status"], &old["status"]);
    for (condition, path) in items(status, "conditions", "status") {
        if let Some(generation) = condition["observedGeneration"].as_i64().filter(|it| *it < 0) {
            check.push(FieldError::invalid(
                &format!("{path}.observedGeneration"),
                generation,
                NATURAL,
            ));
        }
        let kind = text(condition, "type");
        if !KNOWN.contains(&kind) {
            check.messages(&format!("{path}.Type"), kind, &names::qualified(kind));
        }
    }
    let (node, field) = (text(status, "nominatedNodeName"), "status.nominatedNodeName");
    if node != text(before, "nominatedNodeName") && !node.is_empty() {
        check.messages(field, node, &names::subdomain(node));
        if !text(&old["spec"], "nodeName").is_empty() {
            let detail = "may not be set on pods that are already bound to a node";
            check.push(FieldError::forbidden(field, detail));
        }
    }
    if let Some(generation) = status["observedGeneration"].as_i64().filter(|it| *it < 0) {
        check.push(FieldError::invalid(
            "status.observedGeneration",
            generation,
            NATURAL,
        ));
    }
    container_status::restarts(check, pod, old);
    container_status::claims(check, pod);
    reached_at(check, status, before, "podIPs");
    let first = status["hostIPs"].get(0).map(|first| text(first, "ip"));
    if let Some(first) = first.filter(|first| *first != text(status, "hostIP")) {
        check.push(FieldError::invalid(
            "status.hostIPs[0].ip",
            first,
            "must be equal to `hostIP`",
        ));
    }
    reached_at(check, status, before, "hostIPs");
    container_status::containers(check, pod);
}

/// Addresses: one of each family at most. Those that were there stay.
fn reached_at(check: &mut Check, status: &Value, before: &Value, list: &str) {
    let held: Vec<&str> = items(before, list, "")
        .map(|(point, _)| text(point, "ip"))
        .collect();
    let mut families = vec![];
    for (point, path) in items(status, list, "status") {
        let address = text(point, "ip");
        if let Some(why) = addresses::fault(address).filter(|_| !held.contains(&address)) {
            check.push(FieldError::invalid(&path, address, why));
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
    let unread = families
        .iter()
        .enumerate()
        .find(|(_, (_, family))| family.is_none());
    if let Some((at, (address, _))) = unread {
        let detail = format!("failed to check for dual stack with error:invalid IP[{at}]: <nil> ({address})");
        check.push(FieldError::internal(&path, detail));
    }
    let both = [Some(true), Some(false)]
        .into_iter()
        .all(|family| families.iter().any(|(_, other)| *other == family));
    if unread.is_some() || !both || families.len() > 2 {
        let shown: Vec<Value> = families
            .iter()
            .map(|(address, _)| json!({ "IP": address }))
            .collect();
        let detail = "may specify no more than one IP for each IP family";
        check.push(FieldError::invalid(&path, shown, detail));
    }
}
