//! Compares two versions of a CRD and marks breaking changes.
//!
//! A change is breaking if an object or a client that was valid before may be invalid after it. A new or changed CEL rule
//! is always breaking, since rules are not evaluated. A new version is compared with the one that was stored.

mod constraints;
mod new_version;

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use crate::schema_type::type_name;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The change, as in `spec.a: minimum none → 0`.
    pub text: String,
    /// Whether valid objects or clients may become invalid.
    pub breaking: bool,
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.breaking { "BREAKING " } else { "" }, self.text)
    }
}

/// Returns all changes; those of the whole CRD come first.
pub fn compare(old: &Value, new: &Value) -> Vec<SchemaChange> {
    let mut changes = SchemaDiff::default();
    for key in ["scope", "group"] {
        if old["spec"][key] != new["spec"][key] {
            changes.add_breaking(format!("{key} {} → {}", old["spec"][key], new["spec"][key]));
        }
    }
    for key in ["plural", "kind"] {
        let (was, is) = (&old["spec"]["names"][key], &new["spec"]["names"][key]);
        if was != is {
            changes.add_breaking(format!("{key} {was} → {is}"));
        }
    }
    let versions = |crd: &'_ Value| crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
    let (before, after) = (versions(old), versions(new));
    for version in &before {
        let name = version["name"].as_str().unwrap_or_default();
        match after.iter().find(|other| other["name"] == version["name"]) {
            None => changes.add_breaking(format!("version {name} removed")),
            Some(other) => {
                // Name the version only if there are several.
                let prefix = if before.len() + after.len() > 2 {
                    format!("{name} ")
                } else {
                    String::new()
                };
                changes.version(&prefix, version, other);
            }
        }
    }
    let stored = before.iter().find(|version| version["storage"] == true);
    for version in &after {
        if !before.iter().any(|other| other["name"] == version["name"]) {
            changes.new_version(stored, version);
        }
    }
    changes.0
}

#[derive(Default)]
struct SchemaDiff(Vec<SchemaChange>);

impl SchemaDiff {
    fn add(&mut self, text: String) {
        self.0.push(SchemaChange {
            text,
            breaking: false,
        });
    }

    fn add_breaking(&mut self, text: String) {
        self.0.push(SchemaChange { text, breaking: true });
    }

    fn version(&mut self, prefix: &str, old: &Value, new: &Value) {
        match (old["served"] == true, new["served"] == true) {
            (true, false) => self.add_breaking(format!("{prefix}no longer served")),
            (false, true) => self.add(format!("{prefix}served")),
            _ => {}
        }
        self.columns(
            prefix,
            &old["additionalPrinterColumns"],
            &new["additionalPrinterColumns"],
        );
        for name in ["status", "scale"] {
            match (old["subresources"].get(name), new["subresources"].get(name)) {
                (Some(_), None) => self.add_breaking(format!("{prefix}subresource {name} removed")),
                (None, Some(_)) => self.add_breaking(format!("{prefix}subresource {name} added")),
                (Some(was), Some(is)) if was != is => {
                    self.add(format!("{prefix}subresource {name} changed"));
                }
                _ => {}
            }
        }
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        let mut descriptions = 0;
        self.schema(prefix, "", &schema(old), &schema(new), &mut descriptions);
        match descriptions {
            0 => {}
            1 => self.add(format!("{prefix}1 description changed")),
            more => self.add(format!("{prefix}{more} descriptions changed")),
        }
    }

    fn columns(&mut self, prefix: &str, old: &Value, new: &Value) {
        let columns = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let (old, new) = (columns(old), columns(new));
        let names = |list: &[Value]| {
            list.iter()
                .map(|column| column["name"].to_string())
                .collect::<BTreeSet<_>>()
        };
        let (was, is) = (names(&old), names(&new));
        let (added, removed) = (is.difference(&was).count(), was.difference(&is).count());
        let word = |count| {
            if count == 1 {
                "printer column"
            } else {
                "printer columns"
            }
        };
        for (sign, count) in [('+', added), ('-', removed)] {
            if count > 0 {
                self.add(format!("{prefix}{sign}{count} {}", word(count)));
            }
        }
        if added + removed == 0 && old != new {
            self.add(format!("{prefix}printer columns changed"));
        }
    }

    fn schema(&mut self, prefix: &str, path: &str, old: &Value, new: &Value, descriptions: &mut usize) {
        let field = format!("{prefix}{}", if path.is_empty() { "the object" } else { path });
        *descriptions += usize::from(old["description"] != new["description"]);
        if type_name(old) != type_name(new) {
            self.add_breaking(format!("{field}: {} → {}", type_name(old), type_name(new)));
            return;
        }
        self.constraints(&field, old, new);
        if old["default"] != new["default"] {
            self.add(format!(
                "{field}: default {} → {}",
                or_none(&old["default"]),
                or_none(&new["default"])
            ));
        }
        for key in [
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
            "x-kubernetes-list-map-keys",
        ] {
            if old[key] != new[key] {
                self.add_breaking(format!(
                    "{field}: {} changed",
                    key.trim_start_matches("x-kubernetes-")
                ));
            }
        }
        for key in ["anyOf", "oneOf", "allOf", "not"] {
            if old[key] != new[key] {
                self.add_breaking(format!("{field}: {key} changed"));
            }
        }
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        if let (Some(was), Some(is)) = (old.get("items"), new.get("items")) {
            self.schema(prefix, &format!("{path}[]"), was, is, descriptions);
        }
        if let (Some(was), Some(is)) = (old.get("additionalProperties"), new.get("additionalProperties")) {
            self.schema(prefix, &below("*"), was, is, descriptions);
        }
        let empty = serde_json::Map::new();
        let was = old["properties"].as_object().unwrap_or(&empty);
        let is = new["properties"].as_object().unwrap_or(&empty);
        let required = |schema: &Value, name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|names| names.iter().any(|found| found == name))
        };
        for (name, field) in was {
            match is.get(name) {
                None => self.add_breaking(format!("{prefix}{} removed", below(name))),
                Some(other) => {
                    self.schema(prefix, &below(name), field, other, descriptions);
                    match (required(old, name), required(new, name)) {
                        // The API server fills defaults in before it validates.
                        (false, true) if other.get("default").is_none() => {
                            self.add_breaking(format!("{prefix}{} now required", below(name)));
                        }
                        (true, false) => self.add(format!("{prefix}{} now optional", below(name))),
                        _ => {}
                    }
                }
            }
        }
        for (name, field) in is.iter().filter(|(name, _)| !was.contains_key(*name)) {
            if required(new, name) && field.get("default").is_none() {
                self.add_breaking(format!("{prefix}{} added and required", below(name)));
            } else {
                self.add(format!("{prefix}{} added", below(name)));
            }
        }
    }
}

fn or_none(value: &Value) -> String {
    if value.is_null() {
        "none".to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(spec: &Value) -> Value {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"spec": {"scope": "Namespaced", "versions": [
            {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    fn diff(old: &Value, new: &Value) -> Vec<String> {
        compare(&crd(old), &crd(new))
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
                "spec.a: also allows \"b\"",
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
                "spec.a: default none → 1",
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
            ["spec.b added"]
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
    fn reports_versions_columns_and_scope() {
        let old = crd(&json!({}));
        let mut new = old.clone();
        new["spec"]["scope"] = json!("Cluster");
        new["spec"]["versions"][0]["additionalPrinterColumns"] = json!([{"name": "A"}]);
        let second = json!({"name": "v2", "served": true});
        new["spec"]["versions"].as_array_mut().unwrap().push(second);
        let texts = |old, new| {
            compare(old, new)
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
        assert!(compare(&old, &old).is_empty());
    }
}
