//! Which changes are reported, and which are marked as breaking.

use serde_json::{Value, json};

use super::*;

fn crd(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"spec": {"scope": "Namespaced", "versions": [
        {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}]}})
}

fn diff(old: &Value, new: &Value) -> Vec<String> {
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

/// The list is that of crdify's `docs/validations.md`, with its default policies, at commit 54162f2. Each validation is there once at least.
#[test]
#[rustfmt::skip]
fn what_crdify_refuses_is_marked() {
    let number = |constraint: Value| with(json!({"type": "integer"}), constraint);
    let text = |constraint: Value| with(json!({"type": "string"}), constraint);
    let list = |constraint: Value| with(json!({"type": "array", "items": {"type": "integer"}}), constraint);
    let map = |constraint: Value| with(json!({"type": "object"}), constraint);
    let none = || json!({});
    let rule = |rule: &str, message: &str, reason: &str| json!({"x-kubernetes-validations": [{"rule": rule, "message": message, "reason": reason}]});
    let fields = |required: &[&str]| json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": required});
    let table = [
        ("enum", text(none()), text(json!({"enum": ["a"]})), "BREAKING spec.a: restricted to [\"a\"]"),
        ("enum", text(json!({"enum": ["a", "b"]})), text(json!({"enum": ["a"]})), "BREAKING spec.a: no longer allows \"b\""),
        ("enum", text(json!({"enum": ["a"]})), text(json!({"enum": ["a", "b"]})), "BREAKING for clients: spec.a: also allows \"b\""),
        ("default", number(json!({"default": 1})), number(none()), "BREAKING for clients: spec.a: default 1 → none"),
        ("default", number(json!({"default": 1})), number(json!({"default": 2})), "BREAKING for clients: spec.a: default 1 → 2"),
        ("default", number(none()), number(json!({"default": 1})), "BREAKING for clients: spec.a: default none → 1"),
        ("maximum", number(none()), number(json!({"maximum": 5})), "BREAKING spec.a: maximum none → 5"),
        ("maximum", number(json!({"maximum": 5})), number(json!({"maximum": 4})), "BREAKING spec.a: maximum 5 → 4"),
        ("maxLength", text(none()), text(json!({"maxLength": 5})), "BREAKING spec.a: maxLength none → 5"),
        ("maxLength", text(json!({"maxLength": 5})), text(json!({"maxLength": 4})), "BREAKING spec.a: maxLength 5 → 4"),
        ("maxItems", list(none()), list(json!({"maxItems": 5})), "BREAKING spec.a: maxItems none → 5"),
        ("maxItems", list(json!({"maxItems": 5})), list(json!({"maxItems": 4})), "BREAKING spec.a: maxItems 5 → 4"),
        ("maxProperties", map(none()), map(json!({"maxProperties": 5})), "BREAKING spec.a: maxProperties none → 5"),
        ("maxProperties", map(json!({"maxProperties": 5})), map(json!({"maxProperties": 4})), "BREAKING spec.a: maxProperties 5 → 4"),
        ("minimum", number(none()), number(json!({"minimum": 5})), "BREAKING spec.a: minimum none → 5"),
        ("minimum", number(json!({"minimum": 5})), number(json!({"minimum": 6})), "BREAKING spec.a: minimum 5 → 6"),
        ("minLength", text(none()), text(json!({"minLength": 5})), "BREAKING spec.a: minLength none → 5"),
        ("minLength", text(json!({"minLength": 5})), text(json!({"minLength": 6})), "BREAKING spec.a: minLength 5 → 6"),
        ("minItems", list(none()), list(json!({"minItems": 5})), "BREAKING spec.a: minItems none → 5"),
        ("minItems", list(json!({"minItems": 5})), list(json!({"minItems": 6})), "BREAKING spec.a: minItems 5 → 6"),
        ("minProperties", map(none()), map(json!({"minProperties": 5})), "BREAKING spec.a: minProperties none → 5"),
        ("minProperties", map(json!({"minProperties": 5})), map(json!({"minProperties": 6})), "BREAKING spec.a: minProperties 5 → 6"),
        ("required", fields(&[]), fields(&["b"]), "BREAKING spec.a.b now required"),
        ("type", number(none()), text(none()), "BREAKING spec.a: integer → string"),
        ("type", list(none()), map(none()), "BREAKING spec.a: list of integer → object"),
        // The compatibility of a description is for people to judge.
        ("description", number(json!({"description": "A."})), number(json!({"description": "B."})), "1 description changed"),
        ("pattern", text(none()), text(json!({"pattern": "a"})), "BREAKING spec.a: pattern none → \"a\""),
        ("pattern", text(json!({"pattern": "a"})), text(json!({"pattern": "b"})), "BREAKING spec.a: pattern \"a\" → \"b\""),
        ("pattern", text(json!({"pattern": "a"})), text(none()), "BREAKING for clients: spec.a: pattern \"a\" → none"),
        ("nullable", text(none()), text(json!({"nullable": true})), "BREAKING for clients: spec.a: nullable"),
        ("nullable", text(json!({"nullable": true})), text(none()), "BREAKING spec.a: no longer nullable"),
        ("existingFieldRemoval", fields(&[]), map(json!({"properties": {}})), "BREAKING spec.a.b removed"),
        // What no validation of crdify handles is refused, too.
        ("unhandled", text(none()), text(json!({"format": "date"})), "BREAKING spec.a: string → string (date)"),
        ("unhandled", number(none()), number(json!({"multipleOf": 2})), "BREAKING spec.a: multipleOf none → 2"),
        ("unhandled", number(json!({"multipleOf": 2})), number(none()), "BREAKING for clients: spec.a: multipleOf 2 → none"),
        ("unhandled", list(none()), list(json!({"x-kubernetes-list-type": "set"})), "BREAKING spec.a: list-type changed"),
        ("unhandled", map(none()), map(json!({"x-kubernetes-map-type": "atomic"})), "BREAKING spec.a: map-type changed"),
        ("unhandled", map(none()), map(json!({"x-kubernetes-embedded-resource": true})), "BREAKING spec.a: x-kubernetes-embedded-resource"),
        ("unhandled", map(none()), map(json!({"anyOf": [{"required": ["b"]}]})), "BREAKING spec.a: anyOf changed"),
        ("enum", text(json!({"enum": ["a"]})), text(none()), "BREAKING for clients: spec.a: allows any value"),
        ("unhandled", number(rule("self > 1", "m", "FieldValueInvalid")), number(none()), "BREAKING for clients: spec.a: rule \"self > 1\" removed"),
        ("unhandled", map(none()), map(json!({"x-kubernetes-preserve-unknown-fields": true})), "BREAKING for clients: spec.a: unknown fields are kept"),
        // A text for people, and a code for programs: objects stay valid.
        ("unhandled", number(rule("self > 1", "m", "FieldValueInvalid")), number(rule("self > 1", "n", "FieldValueInvalid")), "spec.a: message of rule \"self > 1\" changed"),
        ("unhandled", number(rule("self > 1", "m", "FieldValueInvalid")), number(rule("self > 1", "m", "FieldValueForbidden")), "spec.a: reason of rule \"self > 1\" changed"),
        ("unhandled", number(none()), number(json!({"exclusiveMaximum": true})), "BREAKING spec.a: exclusiveMaximum"),
    ];
    for (validation, old, new, expected) in &table {
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
            table.iter().any(|row| row.0 == validation),
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
        let old = crd(&map(none()));
        let mut new = old.clone();
        *new.pointer_mut(changed).unwrap() = json!(value);
        let changes: Vec<_> = compare(&old, &new, None).iter().map(ToString::to_string).collect();
        assert!(changes.iter().any(|change| change == expected), "{changes:?}");
    }
}

/// Returns a schema with a constraint.
fn with(mut schema: Value, constraint: Value) -> Value {
    let (Value::Object(fields), Value::Object(constraint)) = (&mut schema, constraint) else {
        unreachable!("both are objects");
    };
    fields.extend(constraint);
    schema
}
