//! Nodes, and the nodes that something asks for.

use super::{Check, addresses, container, fields, items, names, resources, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// A node; an update looks at taints twice.
pub(super) fn node(check: &mut Check, node: &Value, old: Option<&Value>) {
    let spec = &node["spec"];
    for _ in 0..=usize::from(old.is_some()) {
        taints(check, spec);
    }
    status(check, &node["status"]);
    if old.is_none() {
        swap(check, &node["status"]);
    }
    features(check, &node["status"]);
    ranges(check, spec);
    let Some(old) = old else { return };
    addresses(check, &node["status"]);
    let before = &old["spec"];
    let list = |spec: &Value| spec["podCIDRs"].as_array().cloned().unwrap_or_default();
    let (ranges, ranges_before) = (list(spec), list(before));
    if !ranges_before.is_empty() {
        let differ = ranges_before.iter().zip(&ranges).filter(|(old, new)| old != new);
        let times = if ranges.len() == ranges_before.len() {
            differ.count()
        } else {
            1
        };
        for _ in 0..times {
            let detail = "node updates may not change podCIDR except from \"\" to valid";
            check.push(FieldError::forbidden("spec.podCIDRs", detail));
        }
    }
    if !text(before, "providerID").is_empty() && before["providerID"] != spec["providerID"] {
        let detail = "node updates may not change providerID except from \"\" to valid";
        check.push(FieldError::forbidden("spec.providerID", detail));
    }
    if text(before, "externalID") != text(spec, "externalID") {
        check.push(FieldError::forbidden("spec.externalID", "may not be updated"));
    }
}

/// What a pod must tolerate. The real server names them as if they were metadata.
fn taints(check: &mut Check, spec: &Value) {
    let mut seen = BTreeSet::new();
    for (taint, path) in items(spec, "taints", "metadata") {
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        check.messages(&format!("{path}.key"), key, &names::qualified(key));
        let messages = names::label_value(value);
        if !messages.is_empty() {
            let detail = messages.join(";");
            check.push(FieldError::invalid(&format!("{path}.value"), value, detail));
        }
        if check.required(&Value::from(effect), &format!("{path}.effect")) {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            check.one_of(taint, "effect", &path, &known);
        }
        if !seen.insert((key, effect)) {
            let mut twice = FieldError::duplicate(&path, "").showing(check.shown(taint, &path, "core.Taint"));
            "taints must be unique by key and effect pair".clone_into(&mut twice.detail);
            check.push(twice);
        }
    }
}

fn status(check: &mut Check, status: &Value) {
    for list in ["capacity", "allocatable"] {
        for (name, amount) in fields(&status[list]) {
            let path = format!("status.{list}.{name}");
            let Some(number) = container::amount(amount) else {
                continue;
            };
            if number < 0.0 {
                let detail = "must be greater than or equal to 0";
                check.push(FieldError::invalid(&path, amount.clone(), detail));
            }
            let whole = name == "pods" || !resources::is_native(name);
            if whole && number.fract() != 0.0 {
                check.push(FieldError::invalid(&path, amount.clone(), "must be an integer"));
            }
        }
    }
}

/// How much a node swaps; where it stands is the real server's idea.
fn swap(check: &mut Check, status: &Value) {
    let capacity = status["nodeInfo"]["swap"]["capacity"].as_i64();
    if let Some(capacity) = capacity.filter(|capacity| *capacity <= 0) {
        let field = "metadata.nodeSwapStatus.capacity";
        check.push(FieldError::invalid(field, capacity, "must be greater than zero"));
    }
}

/// What the kubelet can do: in order, each once.
fn features(check: &mut Check, status: &Value) {
    let mut last: Option<&str> = None;
    for (feature, path) in items(status, "declaredFeatures", "status") {
        let feature = feature.as_str().unwrap_or_default();
        let is_segment = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let is_named = feature.starts_with(|c: char| c.is_ascii_uppercase());
        let why = if feature.len() > 253 {
            "must be no more than 253 characters"
        } else if !is_named || !feature.split('/').all(is_segment) {
            "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
             MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        } else {
            ""
        };
        // The order is looked at before the name.
        match last {
            Some(last) if last == feature => check.push(FieldError::duplicate(&path, feature)),
            Some(last) if last > feature => {
                let detail = "list must be sorted alphabetically";
                check.push(FieldError::invalid(&path, feature, detail));
            }
            _ => {}
        }
        if !why.is_empty() {
            let detail = format!("invalid feature name {feature:?}: {why}");
            check.push(FieldError::invalid(&path, feature, detail));
        }
        last = Some(feature);
    }
}

/// No address stands twice.
fn addresses(check: &mut Check, status: &Value) {
    let mut seen = BTreeSet::new();
    for (address, path) in items(status, "addresses", "status") {
        let (ty, value) = (text(address, "type"), text(address, "address"));
        if !seen.insert((ty, value)) {
            let shown = format!(
                "{{\"Type\":{},\"Address\":{}}}",
                Value::from(ty),
                Value::from(value)
            );
            check.push(FieldError::duplicate(&path, "").showing(shown));
        }
    }
}

/// The addresses of a node's pods: one range of a family.
fn ranges(check: &mut Check, spec: &Value) {
    let ranges = spec["podCIDRs"].as_array().map_or(&[][..], Vec::as_slice);
    let ranges: Vec<&str> = ranges.iter().filter_map(Value::as_str).collect();
    let mut unread = None;
    for (index, range) in ranges.iter().enumerate() {
        if let Some(why) = addresses::range_fault(range) {
            check.push(FieldError::invalid(
                &format!("spec.podCIDRs[{index}]"),
                *range,
                why,
            ));
            if why == addresses::RANGE && unread.is_none() {
                unread = Some(index);
            }
        }
    }
    if ranges.len() < 2 {
        return;
    }
    if let Some(index) = unread {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {})",
            ranges[index]
        );
        check.push(FieldError::internal("spec.podCIDRs", detail));
    }
    let sixes = ranges.iter().filter(|range| range.contains(':')).count();
    if unread.is_some() || (ranges.len(), sixes) != (2, 1) {
        let detail = "may specify no more than one CIDR for each IP family";
        check.push(FieldError::invalid(
            "spec.podCIDRs",
            spec["podCIDRs"].clone(),
            detail,
        ));
    }
}
