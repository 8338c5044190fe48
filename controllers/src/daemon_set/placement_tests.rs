use NodeDecision::{KeepRunning, Run, Stop};
use serde_json::{Value, from_value, json};

use super::*;

/// Decides about the node `test-node` with the label `type=production` and these taints.
fn decide(mut spec: Value, taints: &Value) -> NodeDecision {
    spec["containers"] = json!([]);
    let template: PodTemplateSpec = from_value(json!({ "spec": spec })).unwrap();
    let taints: Vec<Taint> = from_value(taints.clone()).unwrap();
    let rules = TaintRules {
        compares_numbers: false,
    };
    let label = |key: &str| (key == "type").then_some("production");
    Placement::of(Some(&template), rules).decide("test-node", label, &taints)
}

#[test]
fn nodes_are_chosen_by_name_labels_and_affinity() {
    let affinity = |value: &str| {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "type", "operator": "In", "values": [value]}]},
        ]}}})
    };
    for (spec, expected) in [
        (json!({}), Run),
        (json!({"nodeName": ""}), Run),
        (json!({"nodeName": "test-node"}), Run),
        (json!({"nodeName": "other-node"}), Stop),
        (json!({"nodeSelector": {"type": "production"}}), Run),
        (json!({"nodeSelector": {"type": "test"}}), Stop),
        (
            json!({"nodeName": "test-node", "nodeSelector": {"type": "test"}}),
            Stop,
        ),
        (json!({"affinity": affinity("production")}), Run),
        (json!({"affinity": affinity("test")}), Stop),
    ] {
        assert_eq!(decide(spec.clone(), &json!([])), expected, "{spec}");
    }
}

#[test]
fn taints_without_toleration_keep_pods_away_or_evict_them() {
    let taint = |effect: &str| json!({"key": "dedicated", "value": "user1", "effect": effect});
    let tolerations = json!([{"key": "dedicated", "value": "user1"}]);
    for (taints, expected) in [
        (json!([taint("NoSchedule")]), KeepRunning),
        (json!([taint("NoExecute")]), Stop),
        (json!([taint("NoSchedule"), taint("NoExecute")]), Stop),
        (json!([taint("PreferNoSchedule")]), Run),
    ] {
        assert_eq!(decide(json!({}), &taints), expected, "{taints}");
        assert_eq!(decide(json!({"tolerations": tolerations}), &taints), Run);
        // A node that does not fit otherwise gets none.
        let other = json!({"nodeName": "other", "tolerations": tolerations});
        assert_eq!(decide(other, &taints), Stop);
    }
}

#[test]
fn taints_of_node_conditions_are_tolerated() {
    let host_network = json!({"hostNetwork": true});
    for (key, effect, plain, host) in [
        ("not-ready", "NoExecute", Run, Run),
        ("not-ready", "NoSchedule", KeepRunning, KeepRunning),
        ("unreachable", "NoExecute", Run, Run),
        ("disk-pressure", "NoSchedule", Run, Run),
        ("memory-pressure", "NoSchedule", Run, Run),
        ("pid-pressure", "NoSchedule", Run, Run),
        ("unschedulable", "NoSchedule", Run, Run),
        ("unschedulable", "NoExecute", Stop, Stop),
        ("network-unavailable", "NoSchedule", KeepRunning, Run),
        ("out-of-service", "NoExecute", Stop, Stop),
    ] {
        let taints = json!([{"key": format!("node.kubernetes.io/{key}"), "effect": effect}]);
        assert_eq!(decide(json!({}), &taints), plain, "{taints}");
        assert_eq!(decide(host_network.clone(), &taints), host, "{taints}");
    }
}

#[test]
fn template_without_a_spec_fits_everywhere() {
    let rules = TaintRules {
        compares_numbers: false,
    };
    assert_eq!(Placement::of(None, rules).decide("a", |_| None, &[]), Run);
}
