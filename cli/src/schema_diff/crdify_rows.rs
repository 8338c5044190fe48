//! What crdify refuses, as pairs of schemas with the line of the difference.

use serde_json::{Value, json};

/// A row of the table.
pub(super) struct Row {
    /// The name of crdify's validation.
    pub(super) validation: &'static str,
    /// The schema of the field `spec.a` before.
    pub(super) old: Value,
    /// And after.
    pub(super) new: Value,
    /// The line that the difference must have.
    pub(super) expected: &'static str,
}

/// The list is that of crdify's `docs/validations.md`, with its default policies, at commit 54162f2. Each validation is there once at least.
#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
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
    let row = |(validation, old, new, expected)| Row { validation, old, new, expected };
    table.into_iter().map(row).collect()
}

/// Returns a schema with a constraint.
fn with(mut schema: Value, constraint: Value) -> Value {
    let (Value::Object(fields), Value::Object(constraint)) = (&mut schema, constraint) else {
        unreachable!("both are objects");
    };
    fields.extend(constraint);
    schema
}
