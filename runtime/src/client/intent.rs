//! Whether an object has all values that an apply asked for.

use serde_json::Value;

/// Returns whether `object` contains every value of `intent`.
///
/// Of an object every field must be there, with a value that contains the intent's. Of an array every element must be contained in an
/// element of the object's array, in the same order; the object's array may have more elements, because lists of items with keys are merged.
/// Everything else must be equal, `null` too.
///
/// It errs on the side of `false`: a quantity that the API server writes in another form, for instance, is not contained.
pub(super) fn contains_intent(object: &Value, intent: &Value) -> bool {
    match (object, intent) {
        (Value::Object(object), Value::Object(intent)) => intent.iter().all(|(field, value)| {
            object
                .get(field)
                .is_some_and(|found| contains_intent(found, value))
        }),
        (Value::Array(object), Value::Array(intent)) => {
            let mut rest = object.iter();
            intent
                .iter()
                .all(|value| rest.any(|found| contains_intent(found, value)))
        }
        (object, intent) => object == intent,
    }
}

#[cfg(test)]
mod tests {
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
}
