//! Ratcheting: an update may keep values that the schema no longer allows. Whether a value is unchanged, as kube-apiserver compares.

use super::{field_schema, lists};
use serde_json::Value;

/// A value with the old one that corresponds to it, and their schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correlation<'a> {
    pub(super) value: &'a Value,
    pub(super) old: &'a Value,
    pub(super) schema: &'a Value,
}

impl Correlation<'_> {
    /// Whether the value is unchanged. The order of a list of type map does not count. An object with a field that has no schema never is, even
    /// if the field is: kube-apiserver does not compare what the schema does not describe.
    pub(super) fn is_unchanged(self) -> bool {
        let Self { value, old, schema } = self;
        match (value, old) {
            (Value::Array(items), Value::Array(old_items)) if schema["x-kubernetes-list-type"] == "map" => {
                let schema = &schema["items"];
                items.len() == old_items.len()
                    && items.iter().all(|value| {
                        let old = lists::correlated(value, Some(old), self.schema);
                        old.is_some_and(|old| Self { value, old, schema }.is_unchanged())
                    })
            }
            (Value::Object(fields), Value::Object(old_fields)) => {
                fields.len() == old_fields.len()
                    && fields.iter().all(|(name, value)| {
                        let pair = old_fields.get(name).zip(field_schema(schema, name));
                        pair.is_some_and(|(old, schema)| Self { value, old, schema }.is_unchanged())
                    })
            }
            _ => value == old,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn assert_unchanged(expected: bool, schema: &Value, old: &Value, value: &Value) {
        let correlation = Correlation { value, old, schema };
        assert_eq!(correlation.is_unchanged(), expected, "{old} {value}");
    }

    #[test]
    fn lists_of_type_map_are_compared_by_key_and_others_in_order() {
        let item = json!({ "type": "object", "properties": { "name": {}, "port": {} } });
        let map =
            json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item });
        let (a, b) = (json!({ "name": "a", "port": 1 }), json!({ "name": "b" }));
        assert_unchanged(true, &map, &json!([a, b]), &json!([b, a]));
        assert_unchanged(false, &map, &json!([a, b]), &json!([a]));
        assert_unchanged(false, &map, &json!([a]), &json!([{ "name": "a", "port": 2 }]));
        assert_unchanged(false, &map, &json!([a]), &json!([b]));
        for list_type in [json!(null), json!("atomic"), json!("set")] {
            let list = json!({ "x-kubernetes-list-type": list_type, "items": item });
            assert_unchanged(false, &list, &json!([a, b]), &json!([b, a]));
            assert_unchanged(true, &list, &json!([a, b]), &json!([a, b]));
        }
    }

    #[test]
    fn an_object_with_a_field_without_a_schema_is_never_unchanged() {
        let preserving =
            json!({ "x-kubernetes-preserve-unknown-fields": true, "properties": { "known": {} } });
        assert_unchanged(true, &preserving, &json!({ "known": 1 }), &json!({ "known": 1 }));
        let unknown = json!({ "known": 1, "other": 1 });
        assert_unchanged(false, &preserving, &unknown, &unknown);
        let map = json!({ "additionalProperties": { "type": "integer" } });
        assert_unchanged(true, &map, &unknown, &unknown);
        assert_unchanged(false, &map, &json!({ "known": 1 }), &json!({ "other": 1 }));
        assert_unchanged(true, &json!({}), &json!(null), &json!(null));
        // Lists without correlation are compared whole.
        let list = json!({ "items": { "x-kubernetes-preserve-unknown-fields": true } });
        assert_unchanged(true, &list, &json!([unknown]), &json!([unknown]));
    }
}
