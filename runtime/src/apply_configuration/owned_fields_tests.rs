use proptest::prelude::*;
use serde_json::json;

use super::*;

fn entry(manager: &str, subresource: &str, fields: &Value) -> Value {
    let mut entry = json!({"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

fn extracted(mut object: Value, managed_fields: &[Value], manager: &str, subresource: &str) -> Value {
    object["metadata"]["managedFields"] = managed_fields.into();
    Value::Object(owned_fields(&object, manager, subresource))
}

/// The cases of apimachinery's `TestExtractInto`.
#[test]
fn extracts_what_client_go_extracts() {
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let paused = json!({"f:spec": {"f:paused": {}}});
    let status = json!({"f:status": {"f:replicas": {}}});
    for (name, object, managed_fields, manager, subresource, expected) in [
        (
            "no matching manager",
            json!({"spec": {"replicas": 1}}),
            vec![entry("mgr999", "", &replicas)],
            "mgr1",
            "",
            json!({}),
        ),
        (
            "one manager",
            json!({"spec": {"replicas": 1}}),
            vec![entry("mgr1", "", &replicas)],
            "mgr1",
            "",
            json!({"spec": {"replicas": 1}}),
        ),
        (
            "multiple managers",
            json!({"spec": {"replicas": 1, "paused": true}}),
            vec![entry("mgr1", "", &replicas), entry("mgr2", "", &paused)],
            "mgr2",
            "",
            json!({"spec": {"paused": true}}),
        ),
        (
            "subresource",
            json!({"status": {"replicas": 1}}),
            vec![entry("mgr1", "status", &status)],
            "mgr1",
            "status",
            json!({"status": {"replicas": 1}}),
        ),
        (
            "fields of another subresource",
            json!({"status": {"replicas": 1}}),
            vec![entry("mgr1", "status", &status)],
            "mgr1",
            "",
            json!({}),
        ),
    ] {
        let extracted = extracted(object, &managed_fields, manager, subresource);
        assert_eq!(extracted, expected, "{name}");
    }
}

#[test]
fn updates_are_not_extracted() {
    let mut update = entry("mgr1", "", &json!({"f:spec": {"f:replicas": {}}}));
    update["operation"] = "Update".into();
    assert_eq!(
        extracted(json!({"spec": {"replicas": 1}}), &[update], "mgr1", ""),
        json!({})
    );
}

#[test]
fn elements_of_lists_are_found_by_keys_values_and_index() {
    let object = json!({
        "metadata": {"finalizers": ["a", "b"]},
        "spec": {
            "ports": [
                {"port": 80, "protocol": "TCP", "name": "web", "target": 8080},
                {"port": 80, "protocol": "UDP", "name": "other"},
            ],
            "matrix": [[1], [2]],
            "atomic": [{"x": 1}, {"y": 2}],
        },
    });
    let fields = json!({
        "f:metadata": {"f:finalizers": {"v:\"b\"": {}}},
        "f:spec": {
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
            "f:matrix": {"i:1": {}},
            "f:atomic": {},
        },
    });
    let expected = json!({
        "metadata": {"finalizers": ["b"]},
        "spec": {
            "ports": [{"port": 80, "protocol": "TCP", "name": "web"}],
            "matrix": [[2]],
            "atomic": [{"x": 1}, {"y": 2}],
        },
    });
    assert_eq!(
        extracted(object, &[entry("mgr1", "", &fields)], "mgr1", ""),
        expected
    );
}

#[test]
fn an_owned_empty_map_stays_empty_when_others_own_its_fields() {
    let object = json!({"spec": {"labels": {"a": "1"}, "atomic": {"a": "1"}}});
    let mine = entry(
        "mgr1",
        "",
        &json!({"f:spec": {"f:labels": {}, "f:atomic": {".": {}}}}),
    );
    let others = entry("mgr2", "", &json!({"f:spec": {"f:labels": {"f:a": {}}}}));
    let expected = json!({"spec": {"labels": {}, "atomic": {"a": "1"}}});
    assert_eq!(extracted(object, &[mine, others], "mgr1", ""), expected);
}

#[test]
fn sets_that_do_not_fit_the_object_own_nothing() {
    let object = json!({"spec": {"text": "a", "list": [1], "map": {"a": 1}}});
    for fields in [
        json!(null),
        json!({}),
        json!({"f:spec": 1}),
        json!({"f:spec": {"f:gone": {}}}),
        json!({"f:spec": {"f:text": {"f:a": {}}}}),
        json!({"f:spec": {"f:list": {"k:{": {}, "v:": {}, "i:x": {}, "x:1": {}, "f": {}}}}),
        json!({"f:spec": {"f:map": {"i:0": {}}}}),
    ] {
        let managed_fields = [entry("mgr1", "", &fields)];
        assert_eq!(
            extracted(object.clone(), &managed_fields, "mgr1", ""),
            json!({}),
            "{fields}"
        );
    }
}

/// Maps, lists merged by the key `name`, lists merged by values, and atomic values. A field's name decides its type and its value, so that
/// any two intents agree in the values that both have.
fn intent() -> impl Strategy<Value = Value> {
    let leaf = Just(json!({}));
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec!["a", "b", "c"]);
        let texts = prop::collection::btree_set(prop::sample::select(vec!["x", "y", "z"]), 1..3);
        let item = (name.clone(), inner.clone());
        prop_oneof![
            prop::collection::btree_map(name.clone(), inner, 0..3).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (format!("map-{name}"), value));
                Value::Object(fields.collect())
            }),
            prop::collection::btree_map(name.clone(), item, 1..3).prop_map(|items| {
                let items = items.into_iter().map(|(name, (_, mut item))| {
                    item["name"] = name.into();
                    item
                });
                json!({"items": items.collect::<Vec<_>>()})
            }),
            texts.prop_map(|texts| json!({"texts": texts})),
            name.prop_map(|name| json!({format!("atomic-{name}"): {"value": [name]}, "text": "same"})),
        ]
    })
}

/// What an API server stores after both intents.
fn merged(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut merged = one.clone();
            for (name, value) in other {
                let value = one
                    .get(name)
                    .map_or_else(|| value.clone(), |before| merged_field(name, before, value));
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        _ => other.clone(),
    }
}

fn merged_field(name: &str, one: &Value, other: &Value) -> Value {
    let (Value::Array(one), Value::Array(other)) = (one, other) else {
        return if name.starts_with("atomic") {
            other.clone()
        } else {
            merged(one, other)
        };
    };
    let mut list = one.clone();
    for item in other {
        match list
            .iter_mut()
            .find(|before| before["name"] == item["name"] && (name == "items" || *before == item))
        {
            Some(before) => *before = merged(before, item),
            None => list.push(item.clone()),
        }
    }
    Value::Array(list)
}

/// The field set of an intent.
fn field_set(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(fields) if !name.starts_with("atomic") => {
            let nodes = fields
                .iter()
                .map(|(name, value)| (format!("f:{name}"), field_set(name, value)));
            Value::Object(nodes.collect())
        }
        Value::Array(items) => {
            let nodes = items.iter().map(|item| match &item["name"] {
                Value::Null => (format!("v:{item}"), json!({})),
                key => {
                    let mut set = field_set("", item);
                    set[SELF] = json!({});
                    (format!("k:{}", json!({"name": key})), set)
                }
            });
            Value::Object(nodes.collect())
        }
        _ => json!({}),
    }
}

/// Sorts the lists: the API server keeps the order of the object that it had.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(sorted).collect();
            items.sort_by_key(|item| item["name"].to_string() + &item.to_string());
            Value::Array(items)
        }
        _ => value.clone(),
    }
}

proptest! {
    #[test]
    fn the_last_intent_is_extracted_beside_that_of_another(mine in intent(), other in intent()) {
        let intents = [json!({"spec": mine}), json!({"spec": other})];
        let managed_fields = [
            entry("mgr1", "", &field_set("", &intents[0])),
            entry("mgr2", "", &field_set("", &intents[1])),
        ];
        let live = merged(&intents[0], &intents[1]);
        prop_assert_eq!(
            sorted(&extracted(live, &managed_fields, "mgr1", "")),
            sorted(&intents[0])
        );
    }
}
