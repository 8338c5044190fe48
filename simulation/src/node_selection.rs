//! Which nodes a pod may run on: taints and tolerations, node selectors, required node affinity.

use serde_json::{Value, json};

/// Whether the pod tolerates all taints of the node that keep pods away. A node that is not ready, or not schedulable, counts as tainted.
pub(crate) fn tolerates(pod: &Value, node: &Value, is_ready: bool) -> bool {
    let no_schedule =
        |key: &str| json!({ "key": format!("node.kubernetes.io/{key}"), "effect": "NoSchedule" });
    let implied = [
        (!is_ready).then(|| no_schedule("not-ready")),
        (node["spec"]["unschedulable"] == true).then(|| no_schedule("unschedulable")),
    ];
    let taints = items(&node["spec"]["taints"]).filter(|taint| taint["effect"] != "PreferNoSchedule");
    let is_tolerated =
        |taint: &Value| items(&pod["spec"]["tolerations"]).any(|toleration| is_match(toleration, taint));
    taints.chain(implied.iter().flatten()).all(is_tolerated)
}

fn is_match(toleration: &Value, taint: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
    let exists = toleration["operator"] == "Exists";
    (effect.is_empty() || effect == text(&taint["effect"]))
        && (key == text(&taint["key"]) || (key.is_empty() && exists))
        && (exists || text(&toleration["value"]) == text(&taint["value"]))
}

/// Whether the pod's node selector and required node affinity select the node.
pub(crate) fn selects(pod: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = pod["spec"]["nodeSelector"].as_object();
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    selector
        .into_iter()
        .flatten()
        .all(|(key, value)| labels[key] == *value)
        && (affinity.is_null() || items(&affinity["nodeSelectorTerms"]).any(|term| term_selects(term, node)))
}

/// An empty term selects nothing.
fn term_selects(term: &Value, node: &Value) -> bool {
    let mut requirements = items(&term["matchExpressions"])
        .map(|requirement| (requirement, &node["metadata"]["labels"]))
        .chain(items(&term["matchFields"]).map(|requirement| (requirement, &Value::Null)))
        .peekable();
    requirements.peek().is_some()
        && requirements.all(|(requirement, labels)| {
            let key = requirement["key"].as_str().unwrap_or_default();
            let value = match (labels, key) {
                (Value::Null, "metadata.name") => node["metadata"]["name"].as_str(),
                _ => labels[key].as_str(),
            };
            requirement_is_met(requirement, value)
        })
}

fn requirement_is_met(requirement: &Value, value: Option<&str>) -> bool {
    let is_listed = || value.is_some_and(|value| items(&requirement["values"]).any(|listed| listed == value));
    let compare = |accept: fn(i64, i64) -> bool| {
        let limit = requirement["values"][0]
            .as_str()
            .and_then(|limit| limit.parse().ok());
        let value = value.and_then(|value| value.parse().ok());
        value
            .zip(limit)
            .is_some_and(|(value, limit)| accept(value, limit))
    };
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|value, limit| value > limit),
        "Lt" => compare(|value, limit| value < limit),
        _ => false,
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Value {
        json!({ "metadata": { "name": "n1", "labels": { "zone": "a", "cores": "8" } }, "spec": {} })
    }

    #[test]
    fn node_selectors_and_affinity_select_by_labels_and_by_name() {
        let affinity = |term: &Value| {
            let required = json!({ "nodeSelectorTerms": [term] });
            json!({ "spec": { "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required } } } })
        };
        let expression = |key: &str, operator: &str, values: &[&str]| {
            affinity(&json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }))
        };
        let field = |name: &str| {
            affinity(
                &json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [name] }] }),
            )
        };
        for (pod, expected) in [
            (json!({ "spec": {} }), true),
            (json!({ "spec": { "nodeSelector": { "zone": "a" } } }), true),
            (json!({ "spec": { "nodeSelector": { "zone": "b" } } }), false),
            (json!({ "spec": { "nodeSelector": { "other": "a" } } }), false),
            (affinity(&json!({})), false),
            (field("n1"), true),
            (field("n2"), false),
            (expression("zone", "In", &["b", "a"]), true),
            (expression("zone", "In", &["b"]), false),
            (expression("zone", "NotIn", &["a"]), false),
            (expression("other", "NotIn", &["a"]), true),
            (expression("zone", "Exists", &[]), true),
            (expression("other", "Exists", &[]), false),
            (expression("zone", "DoesNotExist", &[]), false),
            (expression("cores", "Gt", &["7"]), true),
            (expression("cores", "Gt", &["8"]), false),
            (expression("cores", "Lt", &["9"]), true),
            (expression("zone", "Lt", &["9"]), false),
        ] {
            assert_eq!(selects(&pod, &node()), expected, "{pod}");
        }
    }

    #[test]
    fn taints_keep_pods_away_that_do_not_tolerate_them() {
        let tainted = |taint: Value| {
            let mut node = node();
            node["spec"]["taints"] = json!([taint]);
            node
        };
        let pod = |toleration: &Value| json!({ "spec": { "tolerations": [toleration] } });
        let gpu = json!({ "key": "gpu", "value": "yes", "effect": "NoSchedule" });
        let equal = |value: &str, effect: &str| json!({ "key": "gpu", "operator": "Equal", "value": value, "effect": effect });
        for (toleration, expected) in [
            (equal("yes", "NoSchedule"), true),
            (equal("yes", ""), true),
            (json!({ "key": "gpu", "value": "yes" }), true),
            (equal("no", "NoSchedule"), false),
            (equal("yes", "NoExecute"), false),
            (json!({ "key": "gpu", "operator": "Exists" }), true),
            (json!({ "operator": "Exists" }), true),
            (json!({ "key": "cpu", "operator": "Exists" }), false),
        ] {
            assert_eq!(
                tolerates(&pod(&toleration), &tainted(gpu.clone()), true),
                expected,
                "{toleration}"
            );
        }
        let none = json!({ "spec": {} });
        assert!(tolerates(
            &none,
            &tainted(json!({ "key": "gpu", "effect": "PreferNoSchedule" })),
            true
        ));
        let mut cordoned = node();
        cordoned["spec"]["unschedulable"] = json!(true);
        let daemon = pod(
            &json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule" }),
        );
        assert!(!tolerates(&none, &cordoned, true) && tolerates(&daemon, &cordoned, true));
        assert!(tolerates(&none, &node(), true) && !tolerates(&none, &node(), false));
        assert!(!tolerates(&daemon, &node(), false));
    }
}
