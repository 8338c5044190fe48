//! What a whole pod asks for and may use, beside what its containers do.

use super::amount;
use crate::types;
use serde_json::{Map, Value};

type Amounts = Map<String, Value>;

/// What all containers of a pod need at once: those that stay, and before them each that prepares beside those that stay already.
pub(super) fn of_containers(spec: &Value, list: &str) -> Amounts {
    let containers = |name: &str| spec[name].as_array().into_iter().flatten();
    let (mut all, mut staying, mut first) = (Amounts::new(), Amounts::new(), Amounts::new());
    for container in containers("containers") {
        add(&mut all, &container["resources"][list]);
    }
    for container in containers("initContainers") {
        let own = &container["resources"][list];
        let mut now = staying.clone();
        add(&mut now, own);
        if container["restartPolicy"] == "Always" {
            add(&mut all, own);
            staying.clone_from(&now);
        }
        larger(&mut first, now);
    }
    larger(&mut all, first);
    all
}

fn add(all: &mut Amounts, more: &Value) {
    for (name, quantity) in more.as_object().into_iter().flatten() {
        let sum = match (all.get(name).and_then(Value::as_str), quantity.as_str()) {
            (Some(one), Some(other)) => types::sum(one, other).map(Value::from),
            _ => None,
        };
        all.insert(name.clone(), sum.unwrap_or_else(|| quantity.clone()));
    }
}

fn larger(all: &mut Amounts, others: Amounts) {
    for (name, quantity) in others {
        if all.get(&name).is_none_or(|held| amount(held) < amount(&quantity)) {
            all.insert(name, quantity);
        }
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Where a pod says something of its resources it says all: what it may use of huge pages, and what it asks for where it has limits.
pub(super) fn fill(spec: &mut Map<String, Value>) {
    let whole = Value::Object(spec.clone());
    let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) else {
        return;
    };
    let held = |resources: &Amounts, list: &str| {
        let held = resources.get(list).and_then(Value::as_object).cloned();
        held.unwrap_or_default()
    };
    let (mut limits, mut requests) = (held(resources, "limits"), held(resources, "requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, quantity) in of_containers(&whole, "limits") {
        if is_huge_page(&name) && !requests.contains_key(&name) {
            limits.entry(name).or_insert(quantity);
        }
    }
    if limits.is_empty() {
        return;
    }
    let plain = |name: &str| matches!(name, "cpu" | "memory");
    for (name, quantity) in of_containers(&whole, "requests") {
        if plain(&name) {
            requests.entry(name).or_insert(quantity);
        }
    }
    for (name, quantity) in &limits {
        if plain(name) || is_huge_page(name) {
            requests.entry(name.clone()).or_insert_with(|| quantity.clone());
        }
    }
    resources.insert("limits".to_owned(), limits.into());
    if !requests.is_empty() {
        resources.insert("requests".to_owned(), requests.into());
    }
}
