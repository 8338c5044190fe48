//! The definitions of three examples beside what controller-gen makes of the same types in Go (`tests/controller-gen`). Each difference has a
//! reason.

use std::{collections::BTreeMap, fs};

use kubewright::CustomKind;
use serde_json::{Map, Value, json};

#[path = "../../../examples/external-resource/src/api.rs"]
mod bucket;
#[path = "../../../examples/cronjob/src/api.rs"]
mod cronjob;
#[path = "../../../examples/sample-controller/src/api.rs"]
mod foo;

/// A difference: the end of its path, our value and controller-gen's, which are null where the key is absent, and the reason.
struct Difference {
    path: &'static str,
    ours: Value,
    theirs: Value,
    reason: &'static str,
}

fn known_differences() -> Vec<Difference> {
    let known = |path, ours, theirs, reason| Difference {
        path,
        ours,
        theirs,
        reason,
    };
    let object = "the API server adds it to each object's schema";
    let zero = "the zero value is no default: server-side apply would record a field that nobody wrote";
    let unsigned = "a Rust type of 32 bits without sign, for which int64 is the smallest format";
    let published = "Kubernetes publishes this default; controller-gen does not resolve its constant";
    vec![
        known(
            "names/listKind",
            Value::Null,
            json!("*"),
            "the API server derives it from the kind",
        ),
        known(
            "openAPIV3Schema/properties/apiVersion",
            Value::Null,
            json!({"type": "string"}),
            object,
        ),
        known(
            "openAPIV3Schema/properties/kind",
            Value::Null,
            json!({"type": "string"}),
            object,
        ),
        known(
            "openAPIV3Schema/properties/metadata",
            Value::Null,
            json!({"type": "object"}),
            object,
        ),
        known("default", Value::Null, json!(""), zero),
        known("default", Value::Null, json!(false), zero),
        known(
            "x-kubernetes-map-type",
            Value::Null,
            json!("atomic"),
            "Kubernetes publishes it for LocalObjectReference, and not for the types that embed one, whose fields have owners of their own",
        ),
        known(
            "metadata/properties",
            json!("*"),
            Value::Null,
            "labels and annotations of a template are kept; controller-gen's schema lets the API server drop them",
        ),
        known(
            "JobsHistoryLimit/format",
            json!("int64"),
            json!("int32"),
            unsigned,
        ),
        known(
            "JobsHistoryLimit/maximum",
            json!(4_294_967_295.0),
            Value::Null,
            unsigned,
        ),
        known(
            "azureDisk/properties/cachingMode/default",
            json!("ReadWrite"),
            Value::Null,
            published,
        ),
        known(
            "azureDisk/properties/kind/default",
            json!("Shared"),
            Value::Null,
            published,
        ),
        known(
            "active/default",
            json!([]),
            Value::Null,
            "of `#[serde(default)]`, without which a missing list does not decode",
        ),
        known("conditions/default", json!([]), Value::Null, "as above"),
    ]
}

#[test]
fn definitions_are_those_of_controller_gen_but_for_known_differences() {
    let mut found = BTreeMap::new();
    for (name, definition) in [
        ("cronjob", json!(cronjob::CronJob::definition())),
        ("bucket", json!(bucket::Bucket::definition())),
        ("foo", json!(foo::Foo::definition())),
    ] {
        let path = format!(
            "{}/controller-gen/{name}/definition.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let recorded: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let ours = without_descriptions(&definition["spec"], false);
        compare(&ours, &recorded["spec"], name, &mut found);
    }
    let known = known_differences();
    let mut unused: Vec<&Difference> = known.iter().collect();
    for (path, (ours, theirs)) in &found {
        let fits = |known: &Value, value: &Value| known == value || known == "*" && !value.is_null();
        let is_it = |known: &Difference| {
            path.ends_with(known.path) && fits(&known.ours, ours) && fits(&known.theirs, theirs)
        };
        assert!(known.iter().any(is_it), "{path}: {ours} and not {theirs}");
        unused.retain(|known| !is_it(known));
    }
    let unused: Vec<_> = unused.iter().map(|known| (known.path, known.reason)).collect();
    assert_eq!(unused, [], "these differ no more");
    assert!(found.len() < 80, "{}", found.len());
}

/// Collects what differs by its path. The order of required fields and of values does not count.
fn compare(ours: &Value, theirs: &Value, path: &str, found: &mut BTreeMap<String, (Value, Value)>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let missing = Value::Null;
            for key in left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)))
            {
                let value = |of: &Map<String, Value>| of.get(key).unwrap_or(&missing).clone();
                compare(&value(left), &value(right), &format!("{path}/{key}"), found);
            }
        }
        (Value::Array(left), Value::Array(right))
            if path.ends_with("/required") || path.ends_with("/enum") =>
        {
            let sorted = |list: &[Value]| {
                let mut texts: Vec<String> = list.iter().map(Value::to_string).collect();
                texts.sort();
                texts
            };
            if sorted(left) != sorted(right) {
                found.insert(path.to_owned(), (ours.clone(), theirs.clone()));
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                compare(left, right, &format!("{path}/{at}"), found);
            }
        }
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        (left, right) if left == right => {}
        _ => {
            found.insert(path.to_owned(), (ours.clone(), theirs.clone()));
        }
    }
}

/// Removes the descriptions; a property may have that name.
fn without_descriptions(schema: &Value, are_properties: bool) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(key, value)| are_properties || *key != "description" || !value.is_string());
            kept.map(|(key, value)| {
                let nested = without_descriptions(value, key == "properties" && !are_properties);
                (key.clone(), nested)
            })
            .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_descriptions(item, false))
            .collect(),
        other => other.clone(),
    }
}
