//! The parameters of operations: `parameters.txt`, which `cargo xtask api-openapi` writes.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The section of the parameters that are alike in all operations.
pub(super) const GENERAL: &str = "-";
/// The section of the parameters of patches.
pub(super) const PATCH: &str = "patch";

#[derive(Default)]
struct Table {
    /// The parameters by section, name and place.
    parameters: HashMap<(&'static str, &'static str, &'static str), Value>,
    /// The names of the query parameters of each section.
    names: HashMap<&'static str, Vec<&'static str>>,
    /// The groups and versions of common types.
    versions: HashMap<&'static str, Vec<(&'static str, &'static str)>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| parse(include_str!("parameters.txt")));

fn parse(text: &'static str) -> Table {
    let mut table = Table::default();
    for line in text.lines() {
        let mut words = line.splitn(6, ' ');
        match words.next() {
            Some("parameter") => {
                let Some([section, name, place, ty, description]) = next_words(&mut words) else {
                    continue;
                };
                let description: Value = serde_json::from_str(description).unwrap_or_default();
                let mut parameter = json!({
                    "name": name, "in": place, "description": description, "schema": { "type": ty, "uniqueItems": true },
                });
                if place == "path" {
                    parameter["required"] = json!(true);
                }
                table.parameters.insert((section, name, place), parameter);
                if place == "query" {
                    table.names.entry(section).or_default().push(name);
                }
            }
            Some("versions") => {
                let Some(name) = words.next() else { continue };
                let versions = line.split(' ').skip(2);
                let versions = versions.filter_map(|version| version.split_once('/')).collect();
                table.versions.insert(name, versions);
            }
            _ => {}
        }
    }
    table
}

fn next_words<'a, const N: usize>(words: &mut impl Iterator<Item = &'a str>) -> Option<[&'a str; N]> {
    let found: Vec<&str> = words.take(N).collect();
    found.try_into().ok()
}

/// Returns a query parameter of a section, or else the general one.
pub(super) fn query(section: &str, name: &str) -> Value {
    let find = |section| TABLE.parameters.get(&(section, name, "query"));
    find(section)
        .or_else(|| find(GENERAL))
        .cloned()
        .unwrap_or_default()
}

/// Lists the query parameters of a section.
pub(super) fn section(name: &str) -> Vec<Value> {
    let names = TABLE.names.get(name).into_iter().flatten();
    names.map(|parameter| query(name, parameter)).collect()
}

/// Returns a parameter of a path. `kind` is that of the named object.
pub(super) fn path(name: &str, kind: &str) -> Value {
    if name == "name" {
        return json!({
            "name": name, "in": "path", "description": format!("name of the {kind}"), "required": true,
            "schema": { "type": "string", "uniqueItems": true },
        });
    }
    let found = TABLE.parameters.get(&(GENERAL, name, "path"));
    found.cloned().unwrap_or_default()
}

/// Returns the groups and versions of a type that several groups have, such as `meta.v1.DeleteOptions`.
pub(super) fn versions(ty: &str) -> &'static [(&'static str, &'static str)] {
    TABLE.versions.get(ty).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_section_precede_general_ones() {
        assert_eq!(query(PATCH, "dryRun"), query(GENERAL, "dryRun"));
        assert_ne!(query(PATCH, "fieldManager"), query(GENERAL, "fieldManager"));
        assert!(query("PodExecOptions", "command")["description"].is_string());
        assert_eq!(path("name", "Pod")["description"], "name of the Pod");
        assert_eq!(path("namespace", "Pod")["required"], true);
        assert!(versions("meta.v1.DeleteOptions").contains(&("apps", "v1")));
    }
}
