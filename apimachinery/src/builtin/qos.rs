//! The QoS class of a pod.

use serde_json::Value;

/// Returns the QoS class of a pod: from pod-level resources, or else from its containers. Ephemeral containers do not count.
pub fn qos_class(spec: &Value) -> &'static str {
    let container_resources = || {
        let lists = ["containers", "initContainers"];
        let containers = lists
            .iter()
            .flat_map(|list| spec[*list].as_array().into_iter().flatten());
        containers.map(|container| &container["resources"]).collect()
    };
    let pod_resources = &spec["resources"];
    let resources_list: Vec<&Value> = if pod_resources.is_object() {
        vec![pod_resources]
    } else {
        container_resources()
    };
    let (mut has_any, mut guaranteed) = (false, true);
    for resources in resources_list {
        let (requests, limits) = (&resources["requests"], &resources["limits"]);
        for resource in ["cpu", "memory"] {
            has_any |= is_positive(&requests[resource]) || is_positive(&limits[resource]);
            guaranteed &= is_positive(&limits[resource]) && requests[resource] == limits[resource];
        }
    }
    match (has_any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Whether a quantity is greater than zero.
fn is_positive(quantity: &Value) -> bool {
    let text = quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned);
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    number.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

#[cfg(test)]
mod tests {
    use super::qos_class;
    use serde_json::{Value, json};

    #[test]
    fn qos_class_ignores_zero_quantities() {
        let class_of = |requests: Value, limits: Value| {
            let container = json!({ "resources": { "requests": requests, "limits": limits } });
            qos_class(&json!({ "containers": [container] }))
        };
        assert_eq!(class_of(json!({ "cpu": "0" }), json!(null)), "BestEffort");
        assert_eq!(class_of(json!({ "cpu": "100m" }), json!(null)), "Burstable");
        let both = json!({ "cpu": 1, "memory": "1Gi" });
        assert_eq!(class_of(both.clone(), both), "Guaranteed");
    }
}
