//! Mutations of an example: replace, remove or add a value at one place.

use serde_json::{Value, json};

/// A mutation of the value at a JSON pointer.
#[derive(Clone)]
pub(super) enum Mutation {
    /// Removes the field, or all items of the list.
    Remove,
    /// Replaces the field, or the first item of the list.
    Put(Value),
    /// Adds an unknown field beside the field, or repeats the first item of the list.
    Add(Value),
}

/// Returns values of the wrong type or format.
pub(super) fn junk_values() -> [Value; 13] {
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

/// Returns metadata fields with unusual or invalid values.
pub(super) fn unusual_metadata() -> [(&'static str, Value); 23] {
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

impl Mutation {
    /// Returns all mutations.
    pub(super) fn all() -> Vec<Self> {
        let put = junk_values().map(Self::Put);
        let mut all = vec![Self::Remove, Self::Add(json!(1))];
        all.extend(put);
        all
    }

    /// Applies the mutation at a pointer that [`pointers`] returned.
    pub(super) fn apply(self, value: &mut Value, pointer: &str) {
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

/// Returns pointers to all values in an object, except `apiVersion`, `kind` and `metadata` at the top level.
pub(super) fn pointers(value: &Value) -> Vec<String> {
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
