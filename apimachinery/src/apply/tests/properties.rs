//! Properties of apply over random configurations, whatever the server does besides.

use super::*;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

proptest! {
    #[test]
    fn apply_is_idempotent(first in any_spec(), second in any_spec()) {
        let ty = &*TABLE_TYPE;
        let once = apply_all(ty, &[("a", &first), ("b", &second)]);
        let twice = apply_all(ty, &[("a", &first), ("b", &second), ("b", &second)]);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn the_object_equals_the_last_configuration_of_a_single_applier(first in any_spec(), second in any_spec()) {
        let ty = &*TABLE_TYPE;
        let object = apply_all(ty, &[("a", &first), ("a", &second)]);
        let alone = json!({"spec": second});
        prop_assert_eq!(sorted_by_key(spec_without_empty_values(&object)), sorted_by_key(spec_without_empty_values(&alone)));
    }

    #[test]
    fn an_empty_apply_removes_the_fields_owned_only_by_the_applier(first in any_spec(), second in any_spec()) {
        let ty = &*TABLE_TYPE;
        let empty = json!({});
        let object = apply_all(ty, &[("a", &first), ("b", &second), ("a", &empty)]);
        let alone = apply_all(ty, &[("b", &second)]);
        prop_assert_eq!(sorted_by_key(spec_without_empty_values(&object)), sorted_by_key(spec_without_empty_values(&alone)));
    }

    #[test]
    fn forced_apply_takes_ownership_and_unforced_apply_conflicts_on_exactly_those_fields(first in any_spec(), second in any_spec()) {
        let ty = &*TABLE_TYPE;
        let types = |_: &str| Some(ty);
        let no_fields = FieldSet::default();
        let write = typed_write("b", &types, &no_fields);
        let live = apply_all(ty, &[("a", &first)]);
        let config = json!({"apiVersion": "x.io/v1", "kind": "Typed", "metadata": {"name": "a"}, "spec": second});
        let forced = apply(Some(&live), &config, true, write).unwrap();
        let owner = |object: &Value, name: &str| {
            let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            let entry = entries.into_iter().find(|entry| entry["manager"] == name);
            entry.and_then(|entry| FieldSet::decode(&entry["fieldsV1"])).unwrap_or_default()
        };
        let wanted = typed_value::field_set(&json!({"spec": second}), ty);
        prop_assert_eq!(owner(&forced, "b"), wanted);
        let lost = owner(&live, "a").difference(&owner(&forced, "a"));
        match apply(Some(&live), &config, false, write) {
            Ok(object) => {
                prop_assert_eq!(object, forced);
                prop_assert!(lost.is_empty());
            }
            Err(ApplyError::Conflict { causes, .. }) => {
                let fields: Vec<String> = lost.paths().iter().map(|path| path.iter().map(ToString::to_string).collect()).collect();
                prop_assert_eq!(causes.into_iter().map(|cause| cause.field).collect::<Vec<_>>(), fields);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn field_sets_round_trip_through_fields_v1(spec in any_spec()) {
        let set = typed_value::field_set(&json!({"spec": spec}), &TABLE_TYPE);
        prop_assert_eq!(FieldSet::decode(&set.encode()), Some(set));
    }

    #[test]
    fn field_set_operations_are_consistent(left in any_spec(), right in any_spec()) {
        let ty = &*TABLE_TYPE;
        let (a, b) = (typed_value::field_set(&json!({"spec": left}), ty), typed_value::field_set(&json!({"spec": right}), ty));
        prop_assert_eq!(a.union(&b).paths().len(), a.paths().len() + b.paths().len() - a.intersection(&b).paths().len());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
    }
}

/// Generates configurations of the table's type, with every kind of list and map in it.
fn any_spec() -> impl Strategy<Value = Value> {
    let text = || prop_oneof![Just("1"), Just("2"), Just("3")];
    let item = (text(), proptest::option::of(text()), proptest::option::of(text()));
    let items = btree_map(text(), item, 0..3).prop_map(|items| {
        let items = items.into_iter().map(|(key, (_, value, inner))| {
            let mut item = json!({"k": key, "p": "TCP"});
            if let Some(value) = value {
                item["v"] = json!(value);
            }
            if let Some(inner) = inner {
                item["w"] = json!({"x": inner});
            }
            item
        });
        Value::from(items.collect::<Vec<_>>())
    });
    let maps = || btree_map(text(), text(), 1..3);
    (
        proptest::option::of(text()),
        proptest::option::of(items),
        proptest::option::of(btree_set(text(), 0..3)),
        proptest::option::of(vec(text(), 0..3)),
        proptest::option::of(maps()),
        proptest::option::of(maps()),
        proptest::option::of(maps()),
    )
        .prop_map(|(s, m, set, atom, gran, atommap, any)| {
            let fields = [
                ("s", json!(s)),
                ("m", json!(m)),
                ("set", json!(set)),
                ("atom", json!(atom)),
                ("gran", json!(gran)),
                ("atommap", json!(atommap)),
                ("any", json!(any)),
            ];
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
        })
}

/// Returns the object after each manager applied its configuration with force.
fn apply_all(ty: &Type, steps: &[(&str, &Value)]) -> Value {
    let types = |_: &str| Some(ty);
    let no_fields = FieldSet::default();
    let mut live = None;
    for (manager, spec) in steps {
        let write = typed_write(manager, &types, &no_fields);
        let config =
            json!({"apiVersion": "x.io/v1", "kind": "Typed", "metadata": {"name": "a"}, "spec": spec});
        live = Some(apply(live.as_ref(), &config, true, write).unwrap());
    }
    live.unwrap()
}

/// Returns the spec without empty values: an apply can leave null or an empty collection where everything was removed.
fn spec_without_empty_values(object: &Value) -> Value {
    fn without_empty(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.clone(), without_empty(value)));
                let kept: serde_json::Map<String, Value> =
                    fields.filter(|(_, value)| !value.is_null()).collect();
                if kept.is_empty() {
                    Value::Null
                } else {
                    Value::Object(kept)
                }
            }
            Value::Array(items) if items.is_empty() => Value::Null,
            other => other.clone(),
        }
    }
    without_empty(&object["spec"])
}

fn sorted_by_key(mut value: Value) -> Value {
    for name in ["m", "set"] {
        if let Some(items) = value.get_mut(name).and_then(Value::as_array_mut) {
            items.sort_by_key(ToString::to_string);
        }
    }
    value
}
