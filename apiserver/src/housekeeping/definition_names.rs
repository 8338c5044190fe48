//! The names of CustomResourceDefinitions: within an API group, each resource name and each kind belongs to one definition.

use crate::crd::invalid_ca_bundle;
use crate::kinds::Catalog;
use crate::meta::{self, has_condition, set_condition};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The names of an API group and the definitions that they belong to.
#[derive(Debug, Default)]
struct GroupNames {
    /// Plural, singular and short names.
    resources: HashMap<String, String>,
    /// Kinds and list kinds.
    kinds: HashMap<String, String>,
}

/// The accepted names of all definitions.
#[derive(Debug, Default)]
pub(super) struct AcceptedNames {
    groups: HashMap<String, GroupNames>,
    /// The group and the accepted names of each definition.
    definitions: HashMap<String, (String, Value)>,
}

impl AcceptedNames {
    /// Records the accepted names of a definition; None if it is gone. Returns the group if names became free.
    pub(super) fn record(&mut self, definition: &str, accepted: Option<(&str, &Value)>) -> Option<String> {
        let known = self.definitions.get(definition);
        if known.map(|(group, names)| (group.as_str(), names)) == accepted {
            return None;
        }
        let freed = self.definitions.remove(definition).map(|(group, names)| {
            if let Some(taken) = self.groups.get_mut(&group) {
                for (key, name) in entries(&names) {
                    let owners = taken.of_key(key);
                    if owners.get(name).is_some_and(|owner| owner == definition) {
                        owners.remove(name);
                    }
                }
            }
            group
        });
        if let Some((group, names)) = accepted {
            let taken = self.groups.entry(group.to_owned()).or_default();
            for (key, name) in entries(names) {
                let owners = taken.of_key(key);
                owners
                    .entry(name.to_owned())
                    .or_insert_with(|| definition.to_owned());
            }
            self.definitions
                .insert(definition.to_owned(), (group.to_owned(), names.clone()));
        }
        freed
    }

    /// True if another definition, or a built-in kind, has the name.
    fn is_taken(&self, catalog: &Catalog, (group, definition): (&str, &str), key: &str, name: &str) -> bool {
        let is_kind = is_kind(key);
        let owner = self.groups.get(group).and_then(|names| {
            let owners = if is_kind { &names.kinds } else { &names.resources };
            owners.get(name)
        });
        owner.is_some_and(|owner| owner != definition)
            || catalog.group(group).iter().any(|kind| {
                let built_in = if is_kind { &kind.kind } else { &kind.plural };
                kind.definition.is_none() && built_in == name
            })
    }

    /// Accepts the names that are free, and reports conflicts in the conditions.
    pub(super) fn accept(&self, catalog: &Catalog, definition: &mut Value) {
        let requested = definition["spec"]["names"].clone();
        let group = meta::text(&definition["spec"], "group").to_owned();
        let name = meta::name(definition).to_owned();
        let mut accepted = meta::entry_mut(definition, "status")
            .get("acceptedNames")
            .cloned()
            .unwrap_or_else(|| json!({}));
        let known = accepted.clone();
        // What the definition has under another key is taken, too.
        let is_own = |key: &str, name: &str| {
            let mut names = entries(&known);
            names.any(|(other, known)| is_kind(other) == is_kind(key) && known == name)
        };
        let mut conflict = None;
        for (key, reason) in [
            ("plural", "PluralConflict"),
            ("singular", "SingularConflict"),
            ("shortNames", "ShortNamesConflict"),
            ("kind", "KindConflict"),
            ("listKind", "ListKindConflict"),
            ("categories", ""),
        ] {
            let value = &requested[key];
            let is_taken = |wanted: &&str| {
                key != "categories"
                    && !texts(&known[key]).any(|known| known == *wanted)
                    && (is_own(key, wanted) || self.is_taken(catalog, (&group, &name), key, wanted))
            };
            let taken = texts(value).filter(is_taken);
            let mut messages: Vec<String> = taken.map(|name| format!("{name:?} is already in use")).collect();
            messages.dedup();
            match messages.as_slice() {
                [] if value.is_null() => {
                    if let Some(accepted) = accepted.as_object_mut() {
                        accepted.remove(key);
                    }
                }
                [] => accepted[key] = value.clone(),
                [message] => conflict = Some((reason, message.clone())),
                messages => conflict = Some((reason, format!("[{}]", messages.join(", ")))),
            }
        }
        meta::entry_mut(definition, "status").insert("acceptedNames".into(), accepted);
        if let Some((reason, why)) = conflict {
            set_condition(definition, "NamesAccepted", "False", reason, &why);
            let message = "not all names are accepted";
            if !has_condition(definition, "Established") {
                set_condition(definition, "Established", "False", "NotAccepted", message);
            }
            return;
        }
        let message = "no conflicts found";
        set_condition(definition, "NamesAccepted", "True", "NoConflicts", message);
        if has_condition(definition, "Established") {
            return;
        }
        let (status, reason, message) = if invalid_ca_bundle(&definition["spec"]).is_some() {
            (
                "False",
                "InvalidCABundle",
                "The conversion webhook CABundle is invalid",
            )
        } else {
            (
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            )
        };
        set_condition(definition, "Established", status, reason, message);
    }
}

impl GroupNames {
    fn of_key(&mut self, key: &str) -> &mut HashMap<String, String> {
        if is_kind(key) {
            &mut self.kinds
        } else {
            &mut self.resources
        }
    }
}

fn is_kind(key: &str) -> bool {
    matches!(key, "kind" | "listKind")
}

/// Lists the names that cannot be shared, with their keys.
fn entries(names: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    ["plural", "singular", "shortNames", "kind", "listKind"]
        .into_iter()
        .flat_map(|key| texts(&names[key]).map(move |name| (key, name)))
        .filter(|(_, name)| !name.is_empty())
}

/// Lists the texts of a list, or the text itself.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().into_iter().flatten();
    items.chain([value]).filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, short_names: &[&str]) -> Value {
        let kind = name.to_uppercase();
        let names = json!({ "plural": name, "kind": kind, "shortNames": short_names });
        json!({ "metadata": { "name": format!("{name}.demo.dev") }, "spec": { "group": "demo.dev", "names": names } })
    }

    fn accept(names: &mut AcceptedNames, definition: &mut Value) -> Option<String> {
        names.accept(&Catalog::default(), definition);
        let group = ("demo.dev", &definition["status"]["acceptedNames"]);
        names.record(meta::name(definition), Some(group))
    }

    #[test]
    fn first_definition_gets_a_short_name_until_it_is_gone() {
        let mut names = AcceptedNames::default();
        let (mut first, mut second) = (definition("zs", &["s"]), definition("as", &["s", "zs", "x"]));
        accept(&mut names, &mut first);
        assert!(has_condition(&first, "Established"));
        accept(&mut names, &mut second);
        assert!(!has_condition(&second, "Established"));
        assert_eq!(
            second["status"]["conditions"][0]["message"],
            r#"["s" is already in use, "zs" is already in use]"#
        );
        assert!(second["status"]["acceptedNames"]["shortNames"].is_null());
        // A definition's own names are no conflict.
        accept(&mut names, &mut first);
        assert!(has_condition(&first, "NamesAccepted"));
        assert_eq!(names.record("zs.demo.dev", None).as_deref(), Some("demo.dev"));
        accept(&mut names, &mut second);
        assert!(has_condition(&second, "Established"));
    }

    #[test]
    fn names_are_given_up_and_are_not_accepted_twice() {
        let mut names = AcceptedNames::default();
        let mut definition = definition("zs", &["s"]);
        accept(&mut names, &mut definition);
        definition["spec"]["names"]["shortNames"] = json!(["zs"]);
        accept(&mut names, &mut definition);
        let condition = &definition["status"]["conditions"][0];
        assert_eq!(condition["message"], r#""zs" is already in use"#);
        assert_eq!(definition["status"]["acceptedNames"]["shortNames"], json!(["s"]));
        definition["spec"]["names"]["shortNames"] = Value::Null;
        accept(&mut names, &mut definition);
        assert!(has_condition(&definition, "NamesAccepted"));
        assert!(definition["status"]["acceptedNames"].get("shortNames").is_none());
    }
}
