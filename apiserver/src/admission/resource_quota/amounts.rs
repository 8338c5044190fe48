//! Arithmetic with lists of resources.

use crate::builtin::ResourceList;
use crate::types;
use serde_json::Value;
use std::cmp::Ordering;

/// Adds two lists of resources.
pub(super) fn add(first: &ResourceList, second: &ResourceList) -> ResourceList {
    let mut sum = first.clone();
    for (name, quantity) in second {
        let total = match sum.get(name) {
            Some(held) => types::add_quantities(text(held), text(quantity)).map(Value::from),
            None => None,
        };
        sum.insert(name.clone(), total.unwrap_or_else(|| quantity.clone()));
    }
    sum
}

/// Returns the positive differences between two lists of resources.
pub(super) fn increase(new: &ResourceList, old: &ResourceList) -> ResourceList {
    let mut increase = ResourceList::new();
    for (name, quantity) in new {
        let held = old.get(name).map_or("0", text);
        if compare(text(quantity), held).is_gt() {
            let difference = types::subtract_quantities(text(quantity), held).map(Value::from);
            increase.insert(name.clone(), difference.unwrap_or_else(|| quantity.clone()));
        }
    }
    increase
}

/// Returns the larger amount of each resource.
pub(super) fn max(mut first: ResourceList, second: ResourceList) -> ResourceList {
    for (name, quantity) in second {
        let held = first.get(&name).map(text);
        if held.is_none_or(|held| compare(text(&quantity), held).is_gt()) {
            first.insert(name, quantity);
        }
    }
    first
}

/// Returns the resources of `usage` that are above the limits of `hard`, sorted.
pub(super) fn exceeded<'u>(usage: &'u ResourceList, hard: &ResourceList) -> Vec<&'u str> {
    let is_over = |name: &str, quantity: &Value| {
        hard.get(name)
            .is_some_and(|limit| compare(text(quantity), text(limit)).is_gt())
    };
    let over = usage.iter().filter(|(name, quantity)| is_over(name, quantity));
    let mut names: Vec<&str> = over.map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Formats the named resources of a list.
pub(super) fn format_resources(resources: &ResourceList, names: &[&str]) -> String {
    let quantity = |name: &&str| Some(format!("{name}={}", text(resources.get(*name)?)));
    let parts: Vec<String> = names.iter().filter_map(quantity).collect();
    parts.join(",")
}

/// True for a quantity of zero.
pub(super) fn is_zero(quantity: &Value) -> bool {
    compare(text(quantity), "0").is_eq()
}

fn compare(first: &str, second: &str) -> Ordering {
    types::compare_quantities(first, second).unwrap_or(Ordering::Equal)
}

fn text(quantity: &Value) -> &str {
    quantity.as_str().unwrap_or_default()
}
