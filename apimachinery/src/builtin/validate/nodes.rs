//! Validation of Nodes.

use super::{
    Check, Constraint, FieldRule, addresses, annotations, array, container, fields, items, names, resources,
    text,
};
use crate::field::FieldError;
use crate::types;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn validate_node(check: &mut Check, node: &Value, old: Option<&Value>) {
    let spec = &node["spec"];
    validate_annotations(check, &node["metadata"]["annotations"]);
    validate_taints(check, spec);
    validate_node_status(check, &node["status"]);
    if old.is_none() {
        validate_swap_capacity(check, &node["status"]);
    }
    validate_declared_features(check, &node["status"]);
    validate_pod_cidrs(check, spec);
    let Some(old) = old else { return };
    validate_node_addresses(check, &node["status"]);
    let before = &old["spec"];
    let cidrs_before = array(&before["podCIDRs"]);
    if !cidrs_before.is_empty() && array(&spec["podCIDRs"]) != cidrs_before {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        check.forbidden("spec.podCIDRs", detail);
    }
    if !text(before, "providerID").is_empty() && before["providerID"] != spec["providerID"] {
        let detail = "node updates may not change providerID except from \"\" to valid";
        check.forbidden("spec.providerID", detail);
    }
    if text(before, "externalID") != text(spec, "externalID") {
        check.forbidden("spec.externalID", "may not be updated");
    }
}

#[rustfmt::skip]
const TAINT: &[FieldRule] = &[
    ("key", Constraint::Text(names::qualified_name_errors)),
    ("effect", Constraint::RequiredOneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
];

const TAINTS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/taints";
/// The annotation of a node that lists controllers whose pods should avoid it.
const AVOIDED_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

fn validate_annotations(check: &mut Check, all: &Value) {
    let places = ("metadata.annotations", "taints", "metadata.taints");
    annotations::validate_annotated_list(check, (all, TAINTS_ANNOTATION), places, validate_taints);
    let Some(avoided) = all[AVOIDED_PODS].as_str().filter(|avoided| !avoided.is_empty()) else {
        return;
    };
    let path = "metadata.annotations";
    let avoided = match types::decode(avoided.as_bytes()) {
        Ok(decoded) => decoded.value,
        Err(why) => return check.invalid(&format!("{path}.AvoidPods"), AVOIDED_PODS, why),
    };
    for (index, entry) in array(&avoided["preferAvoidPods"]).iter().enumerate() {
        let path = format!("{path}.{AVOIDED_PODS}[{index}].PodSignature");
        let controller = &entry["podSignature"]["podController"];
        if controller.is_null() {
            check.required(&path, "");
        } else if controller["controller"] == false {
            let path = format!("{path}.PodController.Controller");
            check.invalid(&path, false, "must point to a controller");
        }
    }
}

/// Validates taints. kube-apiserver's paths start with `metadata`.
fn validate_taints(check: &mut Check, spec: &Value) {
    let mut seen = BTreeSet::new();
    for (taint, path) in items(spec, "taints", "metadata") {
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        check.apply(TAINT, taint, None, &path);
        let messages = names::label_value_errors(value);
        if !messages.is_empty() {
            let detail = messages.join(";");
            check.invalid(&format!("{path}.value"), value, detail);
        }
        if !seen.insert((key, effect)) {
            let mut error = FieldError::duplicate(&path, taint.clone());
            "taints must be unique by key and effect pair".clone_into(&mut error.detail);
            check.push(error);
        }
    }
}

fn validate_node_status(check: &mut Check, status: &Value) {
    for list in ["capacity", "allocatable"] {
        for (name, amount) in fields(&status[list]) {
            let path = format!("status.{list}.{name}");
            let Some(number) = container::quantity_value(amount) else {
                continue;
            };
            if number < 0.0 {
                check.invalid(&path, amount.clone(), "must be greater than or equal to 0");
            }
            let must_be_integer = name == "pods" || !resources::is_native(name);
            if must_be_integer && number.fract() != 0.0 {
                check.invalid(&path, amount.clone(), "must be an integer");
            }
        }
    }
}

/// Validates swap capacity. The path is that of kube-apiserver.
fn validate_swap_capacity(check: &mut Check, status: &Value) {
    let capacity = status["nodeInfo"]["swap"]["capacity"].as_i64();
    if let Some(capacity) = capacity.filter(|capacity| *capacity <= 0) {
        let field = "metadata.nodeSwapStatus.capacity";
        check.invalid(field, capacity, "must be greater than zero");
    }
}

/// Validates declared features: sorted, without duplicates.
fn validate_declared_features(check: &mut Check, status: &Value) {
    let mut last: Option<&str> = None;
    for (feature, path) in items(status, "declaredFeatures", "status") {
        let feature = feature.as_str().unwrap_or_default();
        let is_segment = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let is_named = feature.starts_with(|c: char| c.is_ascii_uppercase());
        let reason = if feature.len() > 253 {
            "must be no more than 253 characters"
        } else if !is_named || !feature.split('/').all(is_segment) {
            "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
             MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        } else {
            ""
        };
        // The order is checked before the name.
        match last {
            Some(last) if last == feature => check.duplicate(&path, feature),
            Some(last) if last > feature => {
                check.invalid(&path, feature, "list must be sorted alphabetically");
            }
            _ => {}
        }
        if !reason.is_empty() {
            let detail = format!("invalid feature name {feature:?}: {reason}");
            check.invalid(&path, feature, detail);
        }
        last = Some(feature);
    }
}

/// Rejects duplicate addresses.
fn validate_node_addresses(check: &mut Check, status: &Value) {
    let mut seen = BTreeSet::new();
    for (address, path) in items(status, "addresses", "status") {
        let (ty, value) = (text(address, "type"), text(address, "address"));
        if !seen.insert((ty, value)) {
            check.duplicate(&path, address.clone());
        }
    }
}

/// Validates the pod CIDRs: at most one per IP family.
fn validate_pod_cidrs(check: &mut Check, spec: &Value) {
    let cidrs = array(&spec["podCIDRs"]);
    let cidrs: Vec<&str> = cidrs.iter().filter_map(Value::as_str).collect();
    let mut first_invalid = None;
    for (index, cidr) in cidrs.iter().enumerate() {
        if let Some(reason) = addresses::cidr_error(cidr) {
            check.invalid(&format!("spec.podCIDRs[{index}]"), *cidr, reason);
            if reason == addresses::INVALID_CIDR && first_invalid.is_none() {
                first_invalid = Some(index);
            }
        }
    }
    if cidrs.len() < 2 {
        return;
    }
    if let Some(index) = first_invalid {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {})",
            cidrs[index]
        );
        check.push(FieldError::internal("spec.podCIDRs", detail));
    }
    let ipv6_count = cidrs.iter().filter(|cidr| cidr.contains(':')).count();
    if first_invalid.is_some() || (cidrs.len(), ipv6_count) != (2, 1) {
        let detail = "may specify no more than one CIDR for each IP family";
        check.invalid("spec.podCIDRs", spec["podCIDRs"].clone(), detail);
    }
}
