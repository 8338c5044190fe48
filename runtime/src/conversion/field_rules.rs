//! [`FieldRules`]: the rules of a conversion, by the paths of fields in JSON.

use std::any::type_name;

use serde::Serialize;

/// A field that is not just copied: one of the other version, one of the hub, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldRule {
    /// The path in the other version, as in `spec.ports[].number`; none if it has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The path in the hub; none if it has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub: Option<String>,
    /// Whether a function converts the value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub function: bool,
}

/// Collects the rules of a type and of the types of its fields. `Convert::describe` calls it.
///
/// A derive sees the serde attributes of its own type alone: it supposes that the hub's type has the same `rename_all`, and no `rename` of
/// other fields.
#[derive(Default)]
pub struct FieldRules {
    /// The path in the other version, and in the hub.
    at: [String; 2],
    /// The types around the field.
    types: Vec<&'static str>,
    rules: Vec<FieldRule>,
}

impl FieldRules {
    /// Describes a type. In a type whose JSON does not consist of its fields, rules of fields are one function. Within itself, a type is left
    /// out.
    pub fn of_type<T>(&mut self, has_fields: bool, describe: impl FnOnce(&mut Self)) {
        let name = type_name::<T>();
        if self.types.contains(&name) {
            return;
        }
        let before = self.rules.len();
        self.types.push(name);
        describe(self);
        self.types.pop();
        if !has_fields && self.rules.len() > before {
            self.rules.truncate(before);
            self.function("", "");
        }
    }

    /// Describes a field of this name and of that name in the hub. Without names, the JSON of the value is that of its field.
    pub fn field(&mut self, name: &str, hub: &str, describe: impl FnOnce(&mut Self)) {
        if name != hub {
            self.add(Some(name), Some(hub), false);
        }
        let below = [self.path(0, name), self.path(1, hub)];
        let around = std::mem::replace(&mut self.at, below);
        describe(self);
        self.at = around;
    }

    /// Describes the elements of a list.
    pub fn elements(&mut self, describe: impl FnOnce(&mut Self)) {
        self.below("[]", describe);
    }

    /// Describes the values of a map.
    pub fn values(&mut self, describe: impl FnOnce(&mut Self)) {
        self.below(".*", describe);
    }

    /// A field that a function converts; without names, the value itself.
    pub fn function(&mut self, name: &str, hub: &str) {
        self.add(Some(name), Some(hub), true);
    }

    /// A field that the hub lacks.
    pub fn dropped(&mut self, name: &str) {
        self.add(Some(name), None, false);
    }

    /// A field that only the hub has.
    pub fn hub_only(&mut self, name: &str) {
        self.add(None, Some(name), false);
    }

    /// Returns the rules.
    pub fn into_rules(self) -> Vec<FieldRule> {
        self.rules
    }

    fn add(&mut self, name: Option<&str>, hub: Option<&str>, function: bool) {
        self.rules.push(FieldRule {
            field: name.map(|name| self.path(0, name)),
            hub: hub.map(|name| self.path(1, name)),
            function,
        });
    }

    fn below(&mut self, step: &str, describe: impl FnOnce(&mut Self)) {
        let below = [0, 1].map(|side: usize| self.at[side].clone() + step);
        let around = std::mem::replace(&mut self.at, below);
        describe(self);
        self.at = around;
    }

    fn path(&self, side: usize, name: &str) -> String {
        let at = &self.at[side];
        let separator = if at.is_empty() || name.is_empty() { "" } else { "." };
        format!("{at}{separator}{name}")
    }
}
