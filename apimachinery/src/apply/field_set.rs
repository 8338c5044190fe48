//! Field sets, the content of `fieldsV1`.

use super::path_element::PathElement;
use crate::types::Type;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A set of paths. Membership of a path implies neither that of its parents nor that of its children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) members: BTreeSet<PathElement>,
    pub(super) children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Builds a set from paths of object fields, each a list of names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path
                .iter()
                .map(|name| PathElement::Field((*name).to_owned()))
                .collect();
            set.insert(&path);
        }
        set
    }

    /// Whether the set has no path.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds a path. The empty path (the whole object) has no owner and is ignored.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the set contains the path.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|set| set.contains(rest)),
        }
    }

    /// Returns the paths in order, parents first.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            paths.push(path);
        }
        for (element, set) in &self.children {
            prefix.push(element.clone());
            set.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// The paths in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let child = union.children.entry(element.clone()).or_default();
            *child = child.union(set);
        }
        union
    }

    /// The paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let both = set.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The paths that are only in this set.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// The paths in this set that are neither in `other` nor below a path in it.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(&self, other: &Self, recursive: bool) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            if recursive && other.members.contains(element) {
                return None;
            }
            let rest = other
                .children
                .get(element)
                .map_or_else(|| set.clone(), |other| set.subtract(other, recursive));
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// Adds the named fields that have children in the set. Sets omit them, since the type implies them; comparing the rest of an object
    /// after a removal needs them.
    pub(super) fn ensure_named_fields_are_members(&self, ty: &Type) -> Self {
        let map = ty.as_map().map(|(map, _)| map);
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (element, set) in &self.children {
            let below = match element {
                PathElement::Field(name) => {
                    if map.is_some_and(|map| map.fields.contains_key(name.as_str())) {
                        members.insert(element.clone());
                    }
                    map.and_then(|map| map.type_of(name))
                }
                PathElement::Key(_) => ty.as_list().map(|list| &list.items),
                _ => None,
            };
            children.insert(
                element.clone(),
                set.ensure_named_fields_are_members(below.unwrap_or(&Type::Any)),
            );
        }
        Self { members, children }
    }

    /// Adapts the set to the current type: where a granular map or list has become atomic, its path replaces the paths below it.
    pub(super) fn reconcile_with_schema(&self, ty: &Type) -> Self {
        let mut result = Self {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            let below = match element {
                PathElement::Field(name) => ty.as_map().and_then(|(map, _)| map.type_of(name)),
                _ => ty.as_list().map(|list| &list.items),
            };
            let is_atomic = below.is_some_and(|ty| {
                ty.as_map().is_some_and(|(_, atomic)| atomic)
                    || ty
                        .as_list()
                        .is_some_and(|list| list.kind == crate::types::ListKind::Atomic)
            });
            if is_atomic {
                result.members.insert(element.clone());
            } else {
                result.children.insert(
                    element.clone(),
                    below.map_or_else(|| set.clone(), |ty| set.reconcile_with_schema(ty)),
                );
            }
        }
        result
    }

    /// Encodes the set as `fieldsV1`.
    pub fn encode(&self) -> Value {
        Value::Object(self.encode_fields())
    }

    fn encode_fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        for member in &self.members {
            fields.insert(member.encode(), Value::Object(Map::new()));
        }
        for (element, set) in &self.children {
            if set.is_empty() {
                continue;
            }
            let mut below = set.encode_fields();
            if self.members.contains(element) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.encode(), Value::Object(below));
        }
        fields
    }

    /// Decodes `fieldsV1`. Null is the empty set. None if it is malformed.
    pub fn decode(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        if fields.is_null() {
            return Some(set);
        }
        for (name, below) in fields.as_object()? {
            if name == "." {
                continue;
            }
            // Elements of unknown types are left out.
            if let [kind, b':', ..] = name.as_bytes()
                && !b"fvki".contains(kind)
            {
                continue;
            }
            let element = PathElement::decode(name)?;
            let is_member = below.get(".").is_some();
            let below = Self::decode(below)?;
            if is_member || below.is_empty() {
                set.members.insert(element.clone());
            }
            if !below.is_empty() {
                set.children.insert(element, below);
            }
        }
        Some(set)
    }
}
