use serde_json::{Value, from_value, json};

use super::*;

fn daemon_set(template: &Value) -> DaemonSet {
    from_value(json!({
        "metadata": {"name": "agent", "namespace": "default", "uid": "1"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }))
    .unwrap()
}

fn revision(template_generation: Option<&str>) -> Revision {
    Revision {
        hash: "abc".to_owned(),
        template_generation: template_generation.map(str::to_owned),
    }
}

#[test]
fn pods_have_labels_of_the_revision_and_the_owner() {
    let template = json!({
        "metadata": {"labels": {"app": "agent"}, "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "agent"}], "nodeName": "fixed"},
    });
    let daemon_set = daemon_set(&template);
    for (generation, labels) in [
        (None, json!({"app": "agent", HASH_LABEL: "abc"})),
        (
            Some("7"),
            json!({"app": "agent", HASH_LABEL: "abc", GENERATION_LABEL: "7"}),
        ),
    ] {
        let pod = json!(pod(&daemon_set, &revision(generation)).unwrap());
        assert_eq!(pod["metadata"]["labels"], labels);
        assert_eq!(pod["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(pod["metadata"]["generateName"], "agent-");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "DaemonSet");
        assert_eq!(pod["spec"]["nodeName"], "fixed");
        assert_eq!(pod["spec"]["tolerations"].as_array().map(Vec::len), Some(6));
    }
}

#[test]
fn tolerations_are_added_or_made_unlimited() {
    let not_ready = |seconds: Option<i64>, value: Option<&str>| {
        json!({
            "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": seconds, "value": value,
        })
    };
    let own = json!({"key": "dedicated", "operator": "Exists"});
    for (before, added, unlimited) in [
        (json!([]), 6, false),
        (json!([own]), 6, false),
        (json!([own, not_ready(Some(300), None)]), 5, true),
        (json!([own, not_ready(None, Some(""))]), 5, true),
        (json!([own, not_ready(Some(300), Some("x"))]), 6, false),
    ] {
        let spec: PodSpec = from_value(json!({"containers": [], "tolerations": before})).unwrap();
        let after = tolerations(&spec);
        let before = spec.tolerations.unwrap_or_default();
        assert_eq!(after.len(), before.len() + added, "{before:?}");
        if unlimited {
            assert_eq!(after[1].toleration_seconds, None);
        } else {
            assert_eq!(after[..before.len()], before);
        }
    }
    let spec: PodSpec = from_value(json!({"containers": [], "hostNetwork": true})).unwrap();
    let last = tolerations(&spec).pop().and_then(|toleration| toleration.key);
    assert_eq!(last.as_deref(), Some("node.kubernetes.io/network-unavailable"));
}

#[test]
fn affinity_of_a_pod_selects_its_node_alone() {
    let is_node =
        json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["host-1"]}]}]);
    let preferred =
        json!([{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]);
    let required = json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]});
    let bound = |preferred: Option<&Value>| {
        let mut affinity =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": is_node}});
        if let Some(preferred) = preferred {
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred.clone();
        }
        affinity
    };
    for (before, after) in [
        (json!(null), json!({"nodeAffinity": bound(None)})),
        (
            json!({"podAntiAffinity": {}}),
            json!({"podAntiAffinity": {}, "nodeAffinity": bound(None)}),
        ),
        (
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}),
            json!({"nodeAffinity": bound(None)}),
        ),
        (
            json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required,
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }}),
            json!({"nodeAffinity": bound(Some(&preferred))}),
        ),
    ] {
        let pod: Pod = from_value(json!({"spec": {"containers": [], "affinity": before}})).unwrap();
        let pod = for_node(&pod, "host-1");
        assert_eq!(json!(pod)["spec"]["affinity"], after, "{before}");
    }
}
