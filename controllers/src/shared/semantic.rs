//! Semantic equality of pod specs: what an API server may write in several ways is equal. Upstream's `Semantic.DeepEqual`.

use serde_json::{Map, Value};

use super::quantity;

/// Fields that are maps of strings: an empty one is the same as none. Other empty objects mean something, such as `emptyDir: {}`.
const MAPS: [&str; 9] = [
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "options",
    "overhead",
    "requests",
    "volumeAttributes",
];

/// Maps of quantities.
const QUANTITY_MAPS: [&str; 3] = ["limits", "requests", "overhead"];

/// Fields that are quantities, below the field in which they are.
const QUANTITIES: [(&str, &str); 2] = [("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor")];

/// Whether two objects are equal. Null, an empty list and an empty map are the same as an absent field; quantities are compared by value.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    fields_equal(left, right, "", "")
}

/// Compares values of the field `name`, which is below the field `parent`.
fn fields_equal(left: &Value, right: &Value, parent: &str, name: &str) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => maps_equal(left, right, name),
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|(left, right)| fields_equal(left, right, parent, name))
        }
        (Value::Null, other) | (other, Value::Null) => is_absent(other, name),
        (Value::String(left), Value::String(right)) if is_quantity(parent, name) => {
            quantity::equal(left, right)
        }
        _ => left == right,
    }
}

fn maps_equal(left: &Map<String, Value>, right: &Map<String, Value>, name: &str) -> bool {
    let keys = left
        .keys()
        .chain(right.keys().filter(|key| !left.contains_key(*key)));
    let value = |map: &Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_default();
    keys.into_iter().all(|key| match (left.get(key), right.get(key)) {
        (Some(left), Some(right)) => fields_equal(left, right, name, key),
        _ => fields_equal(&value(left, key), &value(right, key), name, key),
    })
}

fn is_absent(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty() && MAPS.contains(&name),
        _ => false,
    }
}

fn is_quantity(parent: &str, name: &str) -> bool {
    QUANTITY_MAPS.contains(&parent) || QUANTITIES.contains(&(parent, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_and_empty_fields_are_equal_and_quantities_are_compared_by_value() {
        for (left, right) in [
            (json!({"tolerations": []}), json!({})),
            (json!({"nodeSelector": {}}), json!({"nodeSelector": null})),
            (
                json!({"containers": [{"resources": {"limits": {"memory": "1Gi"}}}]}),
                json!({"containers": [{"resources": {"limits": {"memory": "1024Mi"}}}]}),
            ),
            (
                json!({"emptyDir": {"sizeLimit": "1k"}}),
                json!({"emptyDir": {"sizeLimit": "1000"}}),
            ),
        ] {
            assert!(equal(&left, &right), "{left} {right}");
            assert!(equal(&right, &left), "{right} {left}");
        }
        for (left, right) in [
            (json!({"emptyDir": {}}), json!({})),
            (json!({"hostNetwork": true}), json!({})),
            (
                json!({"containers": [{"name": "1k"}]}),
                json!({"containers": [{"name": "1000"}]}),
            ),
            (json!({"volumes": ["a", "b"]}), json!({"volumes": ["b", "a"]})),
            (json!({"volumes": ["a"]}), json!({"volumes": ["a", "b"]})),
        ] {
            assert!(!equal(&left, &right), "{left} {right}");
            assert!(!equal(&right, &left), "{right} {left}");
        }
    }
}
