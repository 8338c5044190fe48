//! Which values have a type for rules: others cannot be read, and the rules of their schemas are ignored.

use serde_json::Value;

/// Whether rules know the type of the values of a schema.
pub(super) fn is_typed(schema: &Value) -> bool {
    if is_int_or_string(schema) {
        return true;
    }
    match schema["type"].as_str() {
        Some("array") => is_typed(&schema["items"]),
        Some("object") if schema["additionalProperties"].is_object() => {
            is_typed(&schema["additionalProperties"])
        }
        Some("boolean" | "integer" | "number" | "string" | "object") => true,
        _ => false,
    }
}

/// Returns the schema of the items of a list, or of the values of a map.
pub(super) fn elements(schema: &Value) -> Option<&Value> {
    let elements = match schema["type"].as_str()? {
        _ if is_int_or_string(schema) => return None,
        "array" => &schema["items"],
        "object" => &schema["additionalProperties"],
        _ => return None,
    };
    elements.is_object().then_some(elements)
}

/// Whether the values are objects with fields.
pub(super) fn has_fields(schema: &Value) -> bool {
    schema["type"] == "object" && !schema["additionalProperties"].is_object() && !is_int_or_string(schema)
}

/// Whether rules can name a field.
pub(super) fn is_escapable(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_./-".contains(character))
}

fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_without_a_type_and_what_contains_them_are_untyped() {
        let (open, text) = (
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "type": "string" }),
        );
        let list = |items: &Value| json!({ "type": "array", "items": items });
        let map = |values: &Value| json!({ "type": "object", "additionalProperties": values });
        let object = json!({ "type": "object", "properties": { "a": open } });
        for typed in [
            &text,
            &list(&text),
            &map(&list(&text)),
            &object,
            &json!({ "x-kubernetes-int-or-string": true }),
        ] {
            assert!(is_typed(typed), "{typed}");
        }
        for untyped in [
            &open,
            &list(&open),
            &map(&list(&open)),
            &json!({ "type": "array" }),
        ] {
            assert!(!is_typed(untyped), "{untyped}");
        }
        assert!(has_fields(&object) && !has_fields(&map(&text)) && !has_fields(&list(&text)));
        assert_eq!(elements(&map(&text)), Some(&text));
        assert_eq!((elements(&object), elements(&text)), (None, None));
        assert!(is_escapable("a-b.c/_1") && !is_escapable("a b") && !is_escapable("1a"));
    }
}
