//! Compares a new version with the one that was stored, whose objects are converted to it.
//!
//! A field that only one of them has is the conversion's, which has a rule for it or does not compile. A field that both have is copied, unless
//! another rule is declared. If the new version refuses a value that the stored one accepts, the API server refuses writes of converted objects.

use serde_json::{Map, Value};

use super::{Impact, SchemaDiff};

impl SchemaDiff {
    /// Reports the version, and where it is stricter than the stored one.
    pub(super) fn new_version(&mut self, stored: Option<&Value>, new: &Value) {
        let name = new["name"].as_str().unwrap_or_default();
        self.add(format!("version {name} added"));
        let Some(stored) = stored else { return };
        let (mut was, mut is) = (schema(stored), schema(new));
        keep_common_fields(&mut was, &mut is);
        let mut changes = Self::default();
        let prefix = format!(
            "an object of {} may be invalid in {name}: ",
            stored["name"].as_str().unwrap_or_default()
        );
        changes.schema(&prefix, "", &was, &is, &mut 0);
        self.0.extend(
            changes
                .0
                .into_iter()
                .filter(|change| change.impact == Impact::Objects),
        );
    }
}

fn schema(version: &Value) -> Value {
    version["schema"]["openAPIV3Schema"].clone()
}

/// Removes the fields that only one of the schemas has.
fn keep_common_fields(one: &mut Value, other: &mut Value) {
    for key in ["items", "additionalProperties"] {
        if let (Some(one), Some(other)) = (one.get_mut(key), other.get_mut(key)) {
            keep_common_fields(one, other);
        }
    }
    let (Some(one), Some(other)) = (fields(one), fields(other)) else {
        return;
    };
    one.retain(|name, _| other.contains_key(name));
    other.retain(|name, _| one.contains_key(name));
    for (name, field) in one {
        if let Some(other) = other.get_mut(name) {
            keep_common_fields(field, other);
        }
    }
}

fn fields(schema: &mut Value) -> Option<&mut Map<String, Value>> {
    schema.get_mut("properties")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::compare;
    use super::*;

    fn version(name: &str, spec: &Value) -> Value {
        json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "required": ["spec"], "properties": {"spec": {
                "type": "object", "required": spec["required"], "properties": spec["fields"]}}}}})
    }

    #[test]
    fn new_version_is_compared_at_the_fields_that_both_have() {
        let old = version(
            "v1",
            &json!({"required": ["old"], "fields": {
                "old": {"type": "string"},
                "size": {"type": "integer", "minimum": 0},
                "colour": {"type": "string"},
                "kept": {"type": "string", "maxLength": 5},
                "ports": {"type": "array", "items": {"type": "object", "properties": {
                    "number": {"type": "integer"}, "old": {"type": "string"}}}},
            }}),
        );
        let new = version(
            "v2",
            &json!({"required": ["new", "colour"], "fields": {
                "new": {"type": "string"},
                "size": {"type": "integer", "minimum": 1},
                "colour": {"type": "string"},
                "kept": {"type": "string", "maxLength": 9, "description": "Longer now."},
                "ports": {"type": "array", "items": {"type": "object", "properties": {
                    "number": {"type": "integer", "maximum": 9}, "new": {"type": "string"}}}},
            }}),
        );
        let definition = |versions: &[&Value]| json!({"spec": {"versions": versions}});
        let mut changes: Vec<_> = compare(&definition(&[&old]), &definition(&[&old, &new]))
            .iter()
            .map(ToString::to_string)
            .collect();
        changes.sort();
        let stricter = |text: &str| format!("BREAKING an object of v1 may be invalid in v2: {text}");
        let mut expected = vec![
            stricter("spec.colour now required"),
            stricter("spec.ports[].number: maximum none → 9"),
            stricter("spec.size: minimum 0 → 1"),
            "version v2 added".to_owned(),
        ];
        expected.sort();
        assert_eq!(changes, expected);
    }

    #[test]
    fn equal_new_version_is_only_added() {
        let spec = json!({"required": ["a"], "fields": {"a": {"type": "string"}}});
        let (old, new) = (version("v1", &spec), version("v2", &spec));
        let changes = compare(
            &json!({"spec": {"versions": [old]}}),
            &json!({"spec": {"versions": [old, new]}}),
        );
        let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["version v2 added"]);
    }
}
