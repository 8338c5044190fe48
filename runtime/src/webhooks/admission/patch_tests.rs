//! The patch: it makes the defaulter's change, and touches nothing else.

use std::collections::BTreeMap;

use proptest::{collection, option, prelude::*};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;

/// What the defaulter knows of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    size: Option<i64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    items: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nested: Option<Box<Known>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    name: String,
    count: i64,
}

/// Returns the raw object after the patch.
fn patched(raw: &Value, change: impl FnOnce(&mut Known)) -> (Value, usize) {
    let mut known: Known = serde_json::from_value(raw.clone()).unwrap();
    let before = serde_json::to_value(&known).unwrap();
    change(&mut known);
    let patch = patch(raw, &before, &serde_json::to_value(&known).unwrap());
    let mut result = raw.clone();
    json_patch::patch(&mut result, &patch).unwrap();
    (result, patch.0.len())
}

fn item(name: &str, count: i64) -> Item {
    Item {
        name: name.to_owned(),
        count,
    }
}

#[test]
fn only_what_changed_is_in_the_patch() {
    let raw = json!({"unknown": 1, "labels": {"a/b": "c"}});
    let before = json!({"size": null, "labels": {"a/b": "c"}, "items": []});
    let after = json!({"size": 3, "labels": {"a/b": "d", "e": "f"}, "items": []});
    let expected = json!([
        {"op": "add", "path": "/labels/e", "value": "f"},
        {"op": "add", "path": "/size", "value": 3},
        {"op": "replace", "path": "/labels/a~1b", "value": "d"},
    ]);
    let mut operations = json!(patch(&raw, &before, &after));
    operations
        .as_array_mut()
        .unwrap()
        .sort_by_key(ToString::to_string);
    assert_eq!(operations, expected);
    assert!(patch(&raw, &before, &before).0.is_empty());
}

#[test]
fn removed_fields_are_removed_and_unknown_ones_stay() {
    let raw = json!({"size": 1, "nested": {"size": 2, "unknown": {"a": []}}, "unknown": null});
    let (result, _) = patched(&raw, |known| known.nested.as_mut().unwrap().size = Some(5));
    assert_eq!(
        result,
        json!({"size": 1, "nested": {"size": 5, "unknown": {"a": []}}, "unknown": null})
    );
    let (result, operations) = patched(&raw, |known| known.nested = None);
    assert_eq!((result, operations), (json!({"size": 1, "unknown": null}), 1));
}

type Change = fn(&mut Vec<Item>);

#[test]
fn elements_of_lists_keep_their_unknown_fields() {
    let raw = json!({"items": [{"name": "a", "count": 1, "x": "A"}, {"name": "b", "count": 2, "x": "B"}]});
    let cases: [(Change, Value); 5] = [
        (
            |items| items.push(item("c", 3)),
            json!([{"name": "a", "count": 1, "x": "A"}, {"name": "b", "count": 2, "x": "B"}, {"name": "c", "count": 3}]),
        ),
        (
            |items| items.insert(0, item("c", 3)),
            json!([{"name": "c", "count": 3}, {"name": "a", "count": 1, "x": "A"}, {"name": "b", "count": 2, "x": "B"}]),
        ),
        (
            |items| {
                items.swap(0, 1);
                items[0].count = 9;
            },
            json!([{"name": "b", "count": 9, "x": "B"}, {"name": "a", "count": 1, "x": "A"}]),
        ),
        (
            |items| drop(items.remove(0)),
            json!([{"name": "b", "count": 2, "x": "B"}]),
        ),
        // Another element at the same place.
        (
            |items| items[0] = item("c", 1),
            json!([{"name": "c", "count": 1}, {"name": "b", "count": 2, "x": "B"}]),
        ),
    ];
    for (change, expected) in cases {
        let (result, _) = patched(&raw, |known| change(&mut known.items));
        assert_eq!(result["items"], expected);
    }
}

#[test]
fn elements_without_a_name_are_recognized_by_place_or_equality() {
    let raw = json!([{"port": 1, "x": 1}, {"port": 2, "x": 2}]);
    let before = json!([{"port": 1}, {"port": 2}]);
    assert_eq!(
        merged(&raw, &before, &json!([{"port": 1}, {"port": 3}])),
        json!([{"port": 1, "x": 1}, {"port": 3, "x": 2}])
    );
    assert_eq!(
        merged(&raw, &before, &json!([{"port": 2}, {"port": 1}])),
        json!([{"port": 2, "x": 2}, {"port": 1, "x": 1}])
    );
}

/// Any JSON, small.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let field = prop_oneof![Just("name".to_owned()), "[a-d~/]{1,2}"];
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::btree_map(field, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn known() -> impl Strategy<Value = Known> {
    let items = collection::btree_map("[a-f]", 0..4i64, 0..5);
    let items = items.prop_map(|items| {
        items
            .into_iter()
            .map(|(name, count)| Item { name, count })
            .collect()
    });
    let labels = collection::btree_map("[a-c/~]{1,2}", "[a-b]", 0..3);
    let flat =
        (option::of(0..4i64), labels, items.prop_shuffle_items()).prop_map(|(size, labels, items)| Known {
            size,
            labels,
            items,
            nested: None,
        });
    (flat.clone(), option::of(flat)).prop_map(|(outer, nested)| Known {
        nested: nested.map(Box::new),
        ..outer
    })
}

trait ShuffleItems: Strategy<Value = Vec<Item>> + Sized {
    fn prop_shuffle_items(self) -> BoxedStrategy<Vec<Item>>
    where
        Self: 'static,
    {
        self.prop_shuffle().boxed()
    }
}

impl<S: Strategy<Value = Vec<Item>>> ShuffleItems for S {}

/// Adds fields that the type does not have to every object of it.
fn with_unknown_fields(known: &Known, mark: &str) -> Value {
    let mut raw = serde_json::to_value(known).unwrap();
    raw["unknown"] = json!({"of": mark, "list": [mark]});
    for item in raw["items"].as_array_mut().unwrap() {
        item["unknown"] = json!(format!("{mark}.{}", item["name"].as_str().unwrap()));
    }
    if let Some(nested) = &known.nested {
        raw["nested"] = with_unknown_fields(nested, &format!("{mark}.nested"));
    }
    raw
}

/// Checks that the unknown fields are those of the object before, in every object that was there before.
fn check_unknown(result: &Value, before: &Known, after: &Known, mark: &str) {
    assert_eq!(result["unknown"], json!({"of": mark, "list": [mark]}));
    for (item, after) in result["items"].as_array().unwrap().iter().zip(&after.items) {
        let was_there = before.items.iter().any(|item| item.name == after.name);
        let expected = was_there.then(|| json!(format!("{mark}.{}", after.name)));
        assert_eq!(item.get("unknown"), expected.as_ref());
    }
    match (&before.nested, &after.nested) {
        (Some(before), Some(after)) => {
            check_unknown(&result["nested"], before, after, &format!("{mark}.nested"));
        }
        (_, after) => assert_eq!(
            result.get("nested"),
            after.as_ref().map(|after| json!(after)).as_ref()
        ),
    }
}

proptest! {
    #[test]
    fn patch_of_any_values_makes_the_change(before in json_value(), after in json_value()) {
        let mut result = before.clone();
        json_patch::patch(&mut result, &patch(&before, &before, &after)).unwrap();
        prop_assert_eq!(result, after);
    }

    #[test]
    fn patch_makes_the_change_and_keeps_unknown_fields(before in known(), after in known()) {
        let raw = with_unknown_fields(&before, "raw");
        let (result, operations) = patched(&raw, |known| *known = after.clone());
        let decoded: Known = serde_json::from_value(result.clone()).unwrap();
        prop_assert_eq!(&decoded, &after);
        prop_assert_eq!(operations == 0, before == after);
        check_unknown(&result, &before, &after, "raw");
    }
}
