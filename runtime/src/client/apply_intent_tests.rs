use serde_json::json;

use super::*;

#[test]
fn object_with_more_fields_and_items_contains_the_intent() {
    let object = json!({
        "metadata": {"name": "a", "uid": "u", "labels": {"x": "1", "y": "2"}},
        "spec": {"replicas": 2, "ports": [{"name": "dns", "port": 53}, {"name": "web", "port": 80, "protocol": "TCP"}]},
    });
    for intent in [
        json!({}),
        json!({"metadata": {"labels": {}}}),
        json!({"metadata": {"name": "a", "labels": {"y": "2"}}}),
        json!({"spec": {"replicas": 2, "ports": []}}),
        json!({"spec": {"ports": [{"name": "web", "port": 80}]}}),
        json!({"spec": {"ports": [{"name": "dns"}, {"name": "web"}]}}),
        object.clone(),
    ] {
        assert!(contains_intent(&object, &intent), "{intent}");
    }
    for intent in [
        json!({"spec": {"paused": true}}),
        json!({"spec": {"paused": null}}),
        json!({"spec": {"replicas": 3}}),
        json!({"spec": {"replicas": 2.0}}),
        json!({"spec": {"replicas": "2"}}),
        json!({"spec": {"replicas": {}}}),
        json!({"spec": {"ports": {}}}),
        json!({"spec": {"ports": [{"name": "web"}, {"name": "dns"}]}}),
        json!({"spec": {"ports": [{"name": "web"}, {"name": "web"}]}}),
        json!({"metadata": {"labels": {"x": "2"}}}),
        json!([]),
    ] {
        assert!(!contains_intent(&object, &intent), "{intent}");
    }
}
