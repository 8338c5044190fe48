//! Compares the schema of a new version with those of the versions that are converted to it. The rules of the conversion say which fields correspond.
//!
//! A new hub is compared with every other version that existed, any other new version with the hub. A field without a rule is copied, and so is
//! a renamed one: if the new version refuses a value that the other one accepts, the API server refuses writes of converted objects. Fields that only
//! one version has, and those that a function converts, are the conversion's.

use std::{collections::BTreeMap, mem};

use serde_json::{Map, Value, json};

use super::{Impact, SchemaDiff};
use crate::version_conversion::{FieldRule, VersionConversion};

impl SchemaDiff {
    /// Reports the version, and where it is stricter than the versions before.
    pub(super) fn new_version(
        &mut self,
        before: &[Value],
        new: &Value,
        conversion: Option<&VersionConversion>,
    ) {
        let name = new["name"].as_str().unwrap_or_default();
        self.add(format!("version {name} added"));
        for old in before {
            let old_name = old["name"].as_str().unwrap_or_default();
            let rules = conversion.and_then(|conversion| Rules::between(conversion, old_name, name));
            let Some(rules) = rules else { continue };
            let (mut was, mut is) = (schema(old), schema(new));
            map_fields(&mut was, "", &|path, name| rules.renamed(path, name));
            map_fields(&mut is, "", &|path, name| {
                rules.is_copied_to(path).then(|| name.to_owned())
            });
            keep_common_fields(&mut was, &mut is);
            let mut changes = Self::default();
            let prefix = format!("an object of {old_name} may be invalid in {name}: ");
            changes.schema(&prefix, "", &was, &is, &mut 0);
            let changes = changes.0.into_iter();
            self.0
                .extend(changes.filter(|change| change.impact == Impact::Objects));
        }
    }
}

/// The rules in the direction of a conversion.
struct Rules<'a>(Vec<Rule<'a>>);

struct Rule<'a> {
    from: Option<&'a str>,
    to: Option<&'a str>,
    is_copied: bool,
}

impl<'a> Rules<'a> {
    /// None if objects of one version are not converted to the other directly.
    fn between(conversion: &'a VersionConversion, old: &str, new: &str) -> Option<Self> {
        let is_to_hub = new == conversion.hub;
        if !is_to_hub && old != conversion.hub {
            return None;
        }
        let rules = conversion.rules.get(if is_to_hub { old } else { new })?;
        let directed = |rule: &'a FieldRule| {
            let (field, hub) = (rule.field.as_deref(), rule.hub.as_deref());
            let (from, to) = if is_to_hub { (field, hub) } else { (hub, field) };
            let is_copied = from.is_some() && to.is_some() && !rule.function;
            Rule { from, to, is_copied }
        };
        Some(Self(rules.iter().map(directed).collect()))
    }

    /// Returns the name that a field of the old version has in the new one; none if it is not copied.
    fn renamed(&self, path: &str, name: &str) -> Option<String> {
        let mut rules = self.0.iter().filter(|rule| rule.from == Some(path));
        if rules.clone().any(|rule| !rule.is_copied) {
            return None;
        }
        let renamed = rules.find_map(|rule| rule.to?.rsplit('.').next());
        Some(renamed.unwrap_or(name).to_owned())
    }

    /// Whether a field of the new version is a copy.
    fn is_copied_to(&self, path: &str) -> bool {
        let mut rules = self.0.iter().filter(|rule| rule.to == Some(path));
        rules.all(|rule| rule.is_copied)
    }
}

fn schema(version: &Value) -> Value {
    version["schema"]["openAPIV3Schema"].clone()
}

/// Renames the fields of a schema by their paths and names, and removes those without a new name.
fn map_fields(schema: &mut Value, path: &str, new_name: &impl Fn(&str, &str) -> Option<String>) {
    for (key, step) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(elements) = schema.get_mut(key) {
            let path = format!("{path}{step}");
            if new_name(&path, "").is_none() {
                *elements = json!({});
            }
            map_fields(elements, &path, new_name);
        }
    }
    let mut names = BTreeMap::new();
    if let Some(fields) = fields(schema) {
        let separator = if path.is_empty() { "" } else { "." };
        for (name, mut field) in mem::take(fields) {
            let path = format!("{path}{separator}{name}");
            map_fields(&mut field, &path, new_name);
            if let Some(new) = new_name(&path, &name) {
                fields.insert(new.clone(), field);
                names.insert(name, new);
            }
        }
    }
    let required = schema.get_mut("required").and_then(Value::as_array_mut);
    for name in required.into_iter().flatten() {
        if let Some(new) = name.as_str().and_then(|name| names.get(name)) {
            *name = json!(new);
        }
    }
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
#[path = "new_version_tests.rs"]
mod tests;
