//! What is done to an example: at one place something else, or nothing, or something more.

use serde_json::{Value, json};

/// One change at one place.
#[derive(Clone)]
pub(super) enum Change {
    /// The field goes; of a list all items.
    Remove,
    /// The field is this; of a list the first item.
    Put(Value),
    /// Beside the field there is one that nobody knows; of a list the first item comes twice.
    Add(Value),
}

/// What is put where something else should be.
pub(super) fn junk() -> [Value; 13] {
    [
        json!(null),
        json!(1),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!(""),
        json!("A b"),
        json!(true),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({ "x": "y" }),
        json!([{ "name": "x" }]),
    ]
}

/// Metadata that is seldom there, or wrong: a field, and what stands in it.
pub(super) fn odd_metadata() -> [(&'static str, Value); 23] {
    [
        ("finalizers", json!(["x.dev/f"])),
        ("finalizers", json!(["f"])),
        ("finalizers", json!([])),
        ("annotations", json!({ "a": "b" })),
        ("annotations", json!({ "a/b/c": "" })),
        ("labels", json!({ "app": "-" })),
        ("labels", json!({ "app": null })),
        ("labels", json!("x")),
        ("namespace", json!("other")),
        ("name", json!("A_b")),
        ("name", json!("")),
        ("name", json!("a.b")),
        ("uid", json!("x")),
        ("resourceVersion", json!("1")),
        ("resourceVersion", json!("x")),
        ("ownerReferences", json!([{ "kind": "x" }])),
        ("managedFields", json!([])),
        ("managedFields", json!([{ "manager": "m" }])),
        ("creationTimestamp", json!("x")),
        ("creationTimestamp", json!(null)),
        ("generation", json!(7)),
        ("selfLink", json!("/x")),
        ("unknown", json!(1)),
    ]
}

impl Change {
    /// Every one that there is.
    pub(super) fn all() -> Vec<Self> {
        let put = junk().map(Self::Put);
        let mut all = vec![Self::Remove, Self::Add(json!(1))];
        all.extend(put);
        all
    }

    /// Does it at a place that `places` named.
    pub(super) fn make(self, value: &mut Value, pointer: &str) {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match value.pointer_mut(parent) {
            Some(Value::Object(fields)) => match self {
                Self::Remove => drop(fields.remove(key)),
                Self::Put(junk) => drop(fields.insert(key.to_owned(), junk)),
                Self::Add(junk) => drop(fields.insert("unknown".to_owned(), junk)),
            },
            Some(Value::Array(items)) => match self {
                Self::Remove => items.clear(),
                Self::Put(junk) => items[0] = junk,
                Self::Add(_) => items.push(items[0].clone()),
            },
            _ => {}
        }
    }
}

/// Pointers to everything in a value but what it is called.
pub(super) fn places(value: &Value) -> Vec<String> {
    let mut found = vec![];
    walk(value, "", &mut found);
    if found.is_empty() {
        found.push("/metadata".to_owned());
    }
    found
}

fn walk(value: &Value, at: &str, into: &mut Vec<String>) {
    if !at.is_empty() {
        into.push(at.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| {
                !at.is_empty() || !matches!(key.as_str(), "apiVersion" | "kind" | "metadata")
            }) {
                walk(value, &format!("{at}/{key}"), into);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                walk(value, &format!("{at}/{index}"), into);
            }
        }
        _ => {}
    }
}
