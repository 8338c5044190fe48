//! Which changes are reported, and which are marked as breaking.

use serde_json::{Value, json};

use super::{
    crdify_rows::{self, Row},
    *,
};

pub(super) fn crd(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"spec": {"scope": "Namespaced", "versions": [
        {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}]}})
}

pub(super) fn diff(old: &Value, new: &Value) -> Vec<String> {
    compare(&crd(old), &crd(new), None)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn marks_breaking_changes() {
    let field = |field: &Value| json!({"type": "object", "properties": {"a": field}});
    let integer = json!({"type": "integer"});
    let cases = [
        (
            json!({"type": "integer"}),
            json!({"type": "string"}),
            "BREAKING spec.a: integer → string",
        ),
        (
            integer.clone(),
            json!({"type": "integer", "minimum": 0}),
            "BREAKING spec.a: minimum none → 0",
        ),
        (
            json!({"type": "integer", "maximum": 3}),
            json!({"type": "integer", "maximum": 5}),
            "spec.a: maximum 3 → 5",
        ),
        (
            json!({"type": "integer", "maximum": 5}),
            json!({"type": "integer", "maximum": 3}),
            "BREAKING spec.a: maximum 5 → 3",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a"]}),
            "BREAKING spec.a: no longer allows \"b\"",
        ),
        (
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "string", "enum": ["a", "b"]}),
            "BREAKING for clients: spec.a: also allows \"b\"",
        ),
        (
            json!({"type": "string"}),
            json!({"type": "string", "pattern": "^a$"}),
            "BREAKING spec.a: pattern none → \"^a$\"",
        ),
        (
            json!({"type": "string", "nullable": true}),
            json!({"type": "string"}),
            "BREAKING spec.a: no longer nullable",
        ),
        (
            integer.clone(),
            json!({"type": "integer", "default": 1}),
            "BREAKING for clients: spec.a: default none → 1",
        ),
        (
            integer.clone(),
            json!({"type": "integer", "description": "A."}),
            "1 description changed",
        ),
        (
            integer.clone(),
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}),
            "BREAKING spec.a: new rule \"self > 1\"",
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "array", "items": {"type": "string"}}),
            "BREAKING spec.a: list of integer → list of string",
        ),
    ];
    for (old, new, expected) in cases {
        assert_eq!(diff(&field(&old), &field(&new)), [expected]);
    }
    assert!(diff(&field(&integer), &field(&integer)).is_empty());
}

#[test]
fn reports_added_removed_and_required_fields() {
    let schema = |fields: &Value, required: Value| json!({"type": "object", "properties": fields, "required": required});
    let a = json!({"a": {"type": "string"}});
    let ab = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let defaulted = json!({"a": {"type": "string"}, "b": {"type": "string", "default": "x"}});
    assert_eq!(
        diff(&schema(&ab, json!([])), &schema(&a, json!([]))),
        ["BREAKING spec.b removed"]
    );
    assert_eq!(
        diff(&schema(&a, json!([])), &schema(&ab, json!([]))),
        ["spec.b added"]
    );
    assert_eq!(
        diff(&schema(&a, json!([])), &schema(&ab, json!(["b"]))),
        ["BREAKING spec.b added and required"]
    );
    assert_eq!(
        diff(&schema(&a, json!([])), &schema(&defaulted, json!(["b"]))),
        ["BREAKING for clients: spec.b added and required, with the default \"x\""]
    );
    assert_eq!(
        diff(&schema(&a, json!([])), &schema(&a, json!(["a"]))),
        ["BREAKING spec.a now required"]
    );
    assert_eq!(
        diff(&schema(&a, json!(["a"])), &schema(&a, json!([]))),
        ["spec.a now optional"]
    );
}

#[test]
fn new_variants_of_an_enum_with_data_keep_objects_valid() {
    let tagged = |tags: &[&str], alternatives: &[Value]| {
        json!({"type": "object", "required": ["type"], "oneOf": alternatives,
            "properties": {"type": {"type": "string", "enum": tags}, "size": {"type": "integer"}}})
    };
    let variant =
        |tag: &str, required: Value| json!({"properties": {"type": {"enum": [tag]}}, "required": required});
    let (one, two) = (variant("A", json!(["size"])), variant("B", json!([])));
    let old = tagged(&["A", "B"], &[one.clone(), two.clone()]);
    let more = tagged(
        &["A", "B", "C"],
        &[one.clone(), two.clone(), variant("C", json!([]))],
    );
    assert_eq!(
        diff(&old, &more),
        [
            "BREAKING for clients: spec: oneOf has 1 more alternative",
            "BREAKING for clients: spec.type: also allows \"C\"",
        ]
    );
    assert!(diff(&more, &old).contains(&"BREAKING spec: oneOf changed".to_owned()));
    let stricter = tagged(&["A", "B"], &[one, variant("B", json!(["size"]))]);
    assert_eq!(diff(&old, &stricter), ["BREAKING spec: oneOf changed"]);

    let external = |names: &[&str], alternatives: &[&str]| {
        let alternatives: Vec<Value> = alternatives
            .iter()
            .map(|name| json!({"required": [name]}))
            .collect();
        let fields = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})));
        json!({"type": "object", "properties": Value::Object(fields.collect()), "oneOf": alternatives})
    };
    let old = external(&["a", "b"], &["a", "b"]);
    assert_eq!(
        diff(&old, &external(&["a", "b", "c"], &["a", "b", "c"])),
        [
            "BREAKING for clients: spec: oneOf has 1 more alternative",
            "spec.c added"
        ]
    );
    // An object with both fields was valid.
    let both = external(&["a", "b"], &["a"]);
    assert_eq!(diff(&both, &old), ["BREAKING spec: oneOf changed"]);
}

#[test]
fn reports_versions_columns_and_scope() {
    let old = crd(&json!({}));
    let mut new = old.clone();
    new["spec"]["scope"] = json!("Cluster");
    new["spec"]["versions"][0]["additionalPrinterColumns"] = json!([{"name": "A"}]);
    let second = json!({"name": "v2", "served": true});
    new["spec"]["versions"].as_array_mut().unwrap().push(second);
    let texts = |old, new| {
        compare(old, new, None)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&old, &new),
        [
            "BREAKING scope \"Namespaced\" → \"Cluster\"",
            "v1 +1 printer column",
            "version v2 added"
        ]
    );
    assert!(texts(&new, &old).contains(&"BREAKING version v2 removed".to_owned()));
    assert!(compare(&old, &old, None).is_empty());
}

#[test]
fn what_crdify_refuses_is_marked() {
    let table = crdify_rows::rows();
    for row in &table {
        let Row {
            validation,
            old,
            new,
            expected,
        } = row;
        let field = |field: &Value| json!({"type": "object", "properties": {"a": field}});
        assert_eq!(
            diff(&field(old), &field(new)),
            [*expected],
            "{validation}: {old} → {new}"
        );
    }
    let of_fields = [
        "existingFieldRemoval",
        "enum",
        "default",
        "maximum",
        "maxLength",
        "maxItems",
        "maxProperties",
        "minimum",
        "minLength",
        "minItems",
        "minProperties",
        "required",
        "type",
        "description",
        "pattern",
        "nullable",
    ];
    for validation in of_fields {
        assert!(
            table.iter().any(|row| row.validation == validation),
            "{validation} has no case"
        );
    }
    // And the validations of definitions: scope and storedVersionRemoval.
    for (changed, value, expected) in [
        (
            "/spec/scope",
            "Cluster",
            "BREAKING scope \"Namespaced\" → \"Cluster\"",
        ),
        ("/spec/versions/0/name", "v2", "BREAKING version v1 removed"),
    ] {
        let old = crd(&json!({"type": "object"}));
        let mut new = old.clone();
        *new.pointer_mut(changed).unwrap() = json!(value);
        let changes: Vec<_> = compare(&old, &new, None)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(changes.iter().any(|change| change == expected), "{changes:?}");
    }
}
