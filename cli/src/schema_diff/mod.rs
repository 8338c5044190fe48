//! Compares two versions of a CRD and marks breaking changes.
//!
//! A change breaks objects if one that was valid before may be refused, or lose data, after it. A new or changed CEL rule always does, since
//! rules are not evaluated. It breaks clients only, if all objects stay valid, but a program may read what the old schema excluded: another
//! default, a new value of an enum, a removed rule. A new version is compared through the conversion with those whose objects it gets.
//!
//! Each change that crdify refuses by default is marked, except that of a description: the changed descriptions are counted.

mod alternatives;
mod constraints;
#[cfg(test)]
mod crdify_rows;
mod new_version;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use crate::{schema_type::type_name, version_conversion::VersionConversion};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The change, as in `spec.a: minimum none → 0`.
    pub text: String,
    /// What it may break.
    pub impact: Impact,
}

/// What a change may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impact {
    /// Neither objects nor clients.
    Nothing,
    /// Programs that decode or default objects as the old schema says.
    Clients,
    /// Objects that exist, and requests of clients.
    Objects,
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.impact {
            Impact::Nothing => "",
            Impact::Clients => "BREAKING for clients: ",
            Impact::Objects => "BREAKING ",
        };
        write!(f, "{mark}{}", self.text)
    }
}

/// Returns all changes; those of the whole CRD come first.
pub fn compare(old: &Value, new: &Value, conversion: Option<&VersionConversion>) -> Vec<SchemaChange> {
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
    for version in &after {
        if !before.iter().any(|other| other["name"] == version["name"]) {
            changes.new_version(&before, version, conversion);
        }
    }
    changes.0
}

#[derive(Default)]
struct SchemaDiff(Vec<SchemaChange>);

impl SchemaDiff {
    fn add(&mut self, text: String) {
        self.push(Impact::Nothing, text);
    }

    fn add_breaking(&mut self, text: String) {
        self.push(Impact::Objects, text);
    }

    fn push(&mut self, impact: Impact, text: String) {
        self.0.push(SchemaChange { text, impact });
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
            let text = format!(
                "{field}: default {} → {}",
                or_none(&old["default"]),
                or_none(&new["default"])
            );
            self.push(Impact::Clients, text);
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
        self.alternatives(&field, old, new);
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
                        (false, true) => {
                            self.required(format!("{prefix}{} now required", below(name)), other);
                        }
                        (true, false) => self.add(format!("{prefix}{} now optional", below(name))),
                        _ => {}
                    }
                }
            }
        }
        for (name, field) in is.iter().filter(|(name, _)| !was.contains_key(*name)) {
            if required(new, name) {
                self.required(format!("{prefix}{} added and required", below(name)), field);
            } else {
                self.add(format!("{prefix}{} added", below(name)));
            }
        }
    }

    /// Reports a field that became required. The API server fills a default in before it validates.
    fn required(&mut self, text: String, field: &Value) {
        match field.get("default") {
            None => self.push(Impact::Objects, text),
            Some(default) => self.push(Impact::Clients, format!("{text}, with the default {default}")),
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
