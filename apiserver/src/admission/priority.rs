//! Priority: sets the priority and the preemption policy of a pod's priority class, and refuses a second default class.

use super::{Attributes, Operation};
use crate::builtin::SYSTEM_PRIORITIES;
use crate::meta;
use crate::status::ApiError;
use crate::storage::Object;
use serde_json::{Value, json};
use std::fmt::Display;
use std::sync::Arc;

/// The preemption policy of a priority class that sets none.
const DEFAULT_PREEMPTION_POLICY: &str = "PreemptLowerPriority";

pub(super) fn mutate(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), ApiError> {
    if !attributes.is_object("", "Pod") {
        return Ok(());
    }
    if let Operation::Update { old } = attributes.operation {
        keep_priority(pod, old);
        return Ok(());
    }
    set_priority(attributes, pod)
}

/// Refuses a global default beside another one. A create is refused even under the name of the present default.
pub(super) fn validate(attributes: &Attributes<'_>, class: &Value) -> Result<(), ApiError> {
    let is_default = class["globalDefault"] == true;
    if !is_default || !attributes.is_object("scheduling.k8s.io", "PriorityClass") {
        return Ok(());
    }
    let Some(present) = global_default(attributes) else {
        return Ok(());
    };
    let name = meta::name(present.value());
    let is_update = matches!(attributes.operation, Operation::Update { .. });
    if is_update && name == meta::name(class) {
        return Ok(());
    }
    let why = format!("PriorityClass {name} is already marked as default. Only one default can exist");
    Err(attributes.forbidden(class, why))
}

/// Keeps what was set at creation.
fn keep_priority(pod: &mut Value, old: &Value) {
    let spec = meta::entry_mut(pod, "spec");
    for key in ["priority", "preemptionPolicy"] {
        if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
            spec.insert(key.to_owned(), old["spec"][key].clone());
        }
    }
}

fn set_priority(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), ApiError> {
    let class_name = meta::text(&pod["spec"], "priorityClassName").to_owned();
    let (class, priority, preemption) = match priority_class(attributes, &class_name) {
        Some(found) => found,
        None if class_name.is_empty() => (String::new(), 0, DEFAULT_PREEMPTION_POLICY.to_owned()),
        None => {
            let why = format!("no PriorityClass with name {class_name} was found");
            return Err(attributes.forbidden(pod, why));
        }
    };
    let differs = |what: &str, given: &dyn Display, computed: &dyn Display| {
        let why = format!(
            "the {what} ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given \
             PriorityClass name"
        );
        Err(attributes.forbidden(pod, why))
    };
    match pod["spec"]["priority"].as_i64() {
        Some(given) if given != priority => return differs("integer value of priority", &given, &priority),
        _ => {}
    }
    match pod["spec"]["preemptionPolicy"].as_str() {
        Some(given) if given != preemption => {
            return differs("string value of PreemptionPolicy", &given, &preemption);
        }
        _ => {}
    }
    let spec = meta::entry_mut(pod, "spec");
    if !class.is_empty() {
        spec.insert("priorityClassName".into(), json!(class));
    }
    spec.insert("priority".into(), json!(priority));
    spec.insert("preemptionPolicy".into(), json!(preemption));
    Ok(())
}

/// Returns name, value and preemption policy of the named priority class, or of the global default if the name is empty.
fn priority_class(attributes: &Attributes<'_>, name: &str) -> Option<(String, i64, String)> {
    let found = match name {
        "" => global_default(attributes),
        name => attributes.get("scheduling.k8s.io", "priorityclasses", name),
    };
    if let Some(found) = found {
        let class = found.value();
        let policy = class["preemptionPolicy"]
            .as_str()
            .unwrap_or(DEFAULT_PREEMPTION_POLICY);
        return Some((
            meta::name(class).to_owned(),
            class_value(&found),
            policy.to_owned(),
        ));
    }
    let (name, value) = SYSTEM_PRIORITIES.iter().find(|(known, _)| *known == name)?;
    Some(((*name).to_owned(), *value, DEFAULT_PREEMPTION_POLICY.to_owned()))
}

/// Returns the priority class of pods that name none. Concurrent writes can make several: then it is the one with the lowest value.
fn global_default(attributes: &Attributes<'_>) -> Option<Arc<Object>> {
    let classes = attributes.list("scheduling.k8s.io", "priorityclasses", "");
    let defaults = classes
        .into_iter()
        .filter(|class| class.value()["globalDefault"] == true);
    defaults.min_by_key(|class| class_value(class))
}

fn class_value(class: &Object) -> i64 {
    class.value()["value"].as_i64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_keeps_the_priority_of_the_create() {
        let old = json!({ "spec": { "priority": 7, "preemptionPolicy": "Never" } });
        let mut new = json!({ "spec": { "preemptionPolicy": "PreemptLowerPriority" } });
        keep_priority(&mut new, &old);
        assert_eq!(
            new["spec"],
            json!({ "priority": 7, "preemptionPolicy": "PreemptLowerPriority" })
        );
    }
}
