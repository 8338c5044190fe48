//! Validation of resource requests and limits.

use super::{Check, fields, items, names, resource_claims};
use crate::builtin::pod_resources::{self, is_huge_page};
use crate::types::{last_digit_power, scale_quantity};
use serde_json::Value;

/// Validates limits, requests and claims of a container.
pub(super) fn validate_container_resources(check: &mut Check, container: &Value, spec: &Value, path: &str) {
    let resources = &container["resources"];
    validate_requests_and_limits(check, resources, path, validate_container_resource_name);
    resource_claims::validate_container_claims(check, resources, spec, path);
}

/// Validates the overhead of pods like the limits of a container.
pub(super) fn validate_overhead(check: &mut Check, overhead: &Value, path: &str) {
    let resources = serde_json::json!({ "limits": overhead });
    validate_requests_and_limits(check, &resources, path, validate_container_resource_name);
}

/// Validates pod-level resources.
pub(super) fn validate_pod_level_resources(check: &mut Check, spec: &Value, path: &str) {
    let resources = &spec["resources"];
    let path = format!("{path}.resources");
    if !resources.is_object() {
        return;
    }
    if spec["os"]["name"] == "windows" {
        return check.forbidden(&path, "may not be set for a windows pod");
    }
    let claims = format!("{path}.claims");
    if resources["claims"].is_array() || check.explicit_empty.contains(&claims) {
        let detail = "claims may not be set for Resources at pod-level";
        check.forbidden(&claims, detail);
    }
    validate_requests_and_limits(check, resources, &path, |check, name, path| {
        let is_valid = check.validate_resource_name(name, path);
        if is_valid && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
            let known = ["cpu", "hugepages-", "memory"];
            check.not_supported(path, name, known);
        }
    });
    resource_claims::validate_container_claims(check, resources, spec, &path);
    validate_containers_within_pod(check, spec, &path);
}

/// Requires the aggregate container requests to fit into those of the pod, and each container's limits into those of the pod.
fn validate_containers_within_pod(check: &mut Check, spec: &Value, path: &str) {
    let pod_level = &spec["resources"];
    let exceeds = |first: &Value, second: &Value| {
        quantity_value(first) > quantity_value(second) && quantity_value(second).is_some()
    };
    for list in ["requests", "limits"] {
        for (name, aggregate) in &pod_resources::aggregate_container_resources(spec, list) {
            let quantity = &pod_level[list][name];
            if (list == "requests" || is_huge_page(name)) && exceeds(aggregate, quantity) {
                let detail = format!(
                    "must be greater than or equal to aggregate container {list} of {}",
                    format_quantity(aggregate)
                );
                let field = format!("{path}.{list}[{name}]");
                check.invalid(&field, quantity.clone(), detail);
            }
        }
    }
    for (container, path) in items(spec, "containers", path) {
        for (name, limit) in fields(&container["resources"]["limits"]) {
            let quantity = &pod_level["limits"][name];
            if exceeds(limit, quantity) {
                let detail = format!(
                    "must be less than or equal to pod limits of {}",
                    format_quantity(quantity)
                );
                let field = format!("{path}[{name}].limits");
                check.invalid(&field, limit.clone(), detail);
            }
        }
    }
}

fn validate_requests_and_limits(
    check: &mut Check,
    resources: &Value,
    path: &str,
    check_name: impl Fn(&mut Check, &str, &str),
) {
    let lists = ["limits", "requests"];
    for list in lists {
        for (name, quantity) in fields(&resources[list]) {
            let quantity_path = format!("{path}.{list}[{name}]");
            check_name(check, name, &quantity_path);
            validate_quantity_of(check, name, quantity, &quantity_path);
            if list == "requests" {
                validate_request_within_limit(check, name, quantity, &resources["limits"], path);
            }
            if is_huge_page(name) && !is_divisible(name, quantity) {
                let detail = format!(
                    "{} is not positive integer multiple of {name}",
                    format_quantity(quantity)
                );
                check.invalid(&quantity_path, quantity.clone(), detail);
            }
        }
    }
    let has_any = |fits: fn(&str) -> bool| {
        let mut names = lists.iter().flat_map(|list| fields(&resources[*list]));
        names.any(|(name, _)| fits(name))
    };
    if has_any(is_huge_page) && !has_any(|name| matches!(name, "cpu" | "memory")) {
        check.forbidden(path, "HugePages require cpu or memory");
    }
}

pub(super) fn validate_quantity_of(check: &mut Check, name: &str, quantity: &Value, path: &str) {
    let Some(amount) = quantity_value(quantity) else {
        return;
    };
    if amount < 0.0 {
        check.invalid(path, quantity.clone(), "must be greater than or equal to 0");
    }
    let is_integer = INTEGER_RESOURCES.contains(&name) || is_extended(name);
    if is_integer && whole_units(quantity, MILLI).is_some_and(|thousandths| thousandths % 1000 != 0) {
        check.invalid(path, quantity.clone(), "must be an integer");
    }
}

fn validate_request_within_limit(check: &mut Check, name: &str, request: &Value, limits: &Value, path: &str) {
    let is_overcommitable = is_overcommitable(name);
    let Some(limit) = limits.get(name) else {
        if !is_overcommitable {
            let detail = "Limit must be set for non overcommitable resources";
            check.required(&format!("{path}.limits"), detail);
        }
        return;
    };
    let (Some(requested), Some(allowed)) = (quantity_value(request), quantity_value(limit)) else {
        return;
    };
    let relation = match is_overcommitable {
        true if requested > allowed => "less than or equal",
        false if (requested - allowed).abs() > 0.0 => "equal",
        _ => return,
    };
    let detail = format!("must be {relation} to {name} limit of {}", format_quantity(limit));
    check.invalid(&format!("{path}.requests"), request.clone(), detail);
}

pub(super) fn format_quantity(quantity: &Value) -> String {
    quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned)
}

/// A thousandth, as a power of ten.
const MILLI: i32 = -3;

const CONTAINER_RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Resources that are counted in whole numbers.
const INTEGER_RESOURCES: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether the amount is a multiple of the page size in the resource name.
fn is_divisible(name: &str, quantity: &Value) -> bool {
    let size = name.strip_prefix("hugepages-").unwrap_or_default();
    let is_whole = scale_quantity(size, MILLI).is_some_and(|size| size > 0 && size % 1000 == 0);
    let size = whole_units(&size.into(), 0).filter(|size| is_whole && *size != 0);
    let amount = whole_units(quantity, 0);
    matches!((amount, size), (Some(amount), Some(size)) if amount.wrapping_rem(size) == 0)
}

/// Returns the number of units of this power of ten that kube-apiserver computes with, rounded up. Of a number that is too large for
/// Go's `int64`, the last 64 bits remain, or nothing if Go multiplies it step by step; a number in a binary format has a maximum.
/// None for a number too large for [`scale_quantity`].
fn whole_units(quantity: &Value, power: i32) -> Option<i64> {
    /// Numbers with more digits are not `int64` to Go.
    const MAX_FAST_DIGITS: usize = 18;
    /// Powers of ten by which Go multiplies in one step.
    const FACTORS: [i32; 5] = [1, 2, 3, 6, 9];
    let text = format_quantity(quantity);
    let exact = scale_quantity(&text, power)?;
    if let Ok(units) = i64::try_from(exact) {
        return Some(units);
    }
    if power == 0 && text.ends_with('i') {
        return Some(if exact < 0 { -i64::MAX } else { i64::MAX });
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if digits <= MAX_FAST_DIGITS && !FACTORS.contains(&(last_digit_power(&text)? - power)) {
        return Some(0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
    let last_bits = exact as i64;
    Some(last_bits)
}

/// Whether the resource is one of Kubernetes' own, or a request or limit of one.
fn is_standard(name: &str) -> bool {
    let part = name
        .strip_prefix("requests.")
        .or_else(|| name.strip_prefix("limits."));
    CONTAINER_RESOURCES.contains(&part.unwrap_or(name))
        || INTEGER_RESOURCES.contains(&name)
        || matches!(name, "storage" | "requests.storage")
        || is_huge_page(name.strip_prefix("requests.").unwrap_or(name))
}

/// Whether the resource is native to Kubernetes.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether requests of the resource may be lower than its limits.
pub(super) fn is_overcommitable(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether the resource is a device or other resource outside of Kubernetes.
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name_errors(&format!("requests.{name}")).is_empty()
}

impl Check {
    /// Rejects a negative quantity; kube-apiserver shows it rounded away from zero.
    pub(super) fn reject_negative_quantity(&mut self, quantity: &Value, path: &str) {
        if let Some(amount) = quantity_value(quantity).filter(|amount| *amount < 0.0) {
            #[expect(clippy::cast_possible_truncation, reason = "a size")]
            let whole = amount.floor() as i64;
            let detail = "must be a valid resource quantity";
            self.invalid(path, whole, detail);
        }
    }

    /// Validates a resource name. Returns whether it is valid.
    pub(super) fn validate_resource_name(&mut self, name: &str, path: &str) -> bool {
        let messages = names::qualified_name_errors(name);
        self.push_messages(path, name, &messages);
        if !messages.is_empty() {
            return false;
        }
        if !is_standard(name) && !name.contains('/') {
            let detail = "must be a standard resource type or fully qualified";
            self.invalid(path, name, detail);
            return false;
        }
        true
    }
}

/// Rejects a resource that containers cannot have.
pub(super) fn validate_container_resource_name(check: &mut Check, name: &str, path: &str) {
    check.validate_resource_name(name, path);
    if !name.contains('/') {
        if !CONTAINER_RESOURCES.contains(&name) && !is_huge_page(name) {
            check.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        check.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// Rejects a resource that a quota cannot limit.
pub(super) fn validate_quota_resource_name(check: &mut Check, name: &str, path: &str) {
    check.validate_resource_name(name, path);
    if !name.contains('/') && !is_quota_resource(name) {
        check.invalid(path, name, "must be a standard resource for quota");
    }
}

/// Whether quotas know the resource; others need a group or a domain in their name.
pub(super) fn is_quota_resource(name: &str) -> bool {
    is_standard(name) && name != "storage"
}

const SUFFIXES: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// Returns a quantity as a floating-point number, possibly rounded; `None` if it is invalid.
pub fn quantity_value(quantity: &Value) -> Option<f64> {
    if let Some(number) = quantity.as_f64() {
        return Some(number);
    }
    let text = quantity.as_str()?;
    for (unit, factor) in SUFFIXES {
        if let Some(number) = text.strip_suffix(unit) {
            return number.parse::<f64>().ok().map(|number| number * factor);
        }
    }
    text.parse().ok()
}
