//! Compares two objects; the differences are field sets.

use super::atom::{Atom, AtomKind, ListAtom, MapAtom};
use super::field_set::FieldSet;
use super::path_element::{self, PathElement};
use super::typed_value::items;
use crate::types::Type;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The fields that were removed, modified and added.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    pub(super) fn filtered(&self, filter: impl Fn(&FieldSet) -> FieldSet) -> Self {
        Self {
            removed: filter(&self.removed),
            modified: filter(&self.modified),
            added: filter(&self.added),
        }
    }

    fn record(&mut self, path: &[PathElement], old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            (Some(old), Some(new)) => {
                if path_element::compare(old, new).is_ne() {
                    self.modified.insert(path);
                }
            }
        }
    }
}

pub(super) fn compare(old: &Value, new: &Value, ty: &Type) -> Comparison {
    let mut comparison = Comparison::default();
    visit(Some(old), Some(new), ty, &mut Vec::new(), &mut comparison);
    comparison
}

fn visit(
    old: Option<&Value>,
    new: Option<&Value>,
    ty: &Type,
    path: &mut Vec<PathElement>,
    out: &mut Comparison,
) {
    let atom = Atom::of(ty);
    let (old_atom, new_atom) = (atom.deduce(old), atom.deduce(new));
    let in_leaf = if new.is_none() {
        compare_as(old_atom, old, new, path, out)
    } else if old.is_none() || old_atom.allows_same_kinds(new_atom) {
        compare_as(new_atom, old, new, path, out)
    } else {
        // The kind of value changed: everything within the old one is removed.
        compare_as(old_atom, old, new, path, out);
        compare_as(new_atom, old, new, path, out)
    };
    if !in_leaf && (old.is_none() || new.is_none()) {
        out.record(path, old, new);
    }
}

/// Compares as one kind of value. Returns whether the value is a leaf.
fn compare_as(
    atom: Atom<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<PathElement>,
    out: &mut Comparison,
) -> bool {
    match atom.kind() {
        Some(AtomKind::Map(map)) => {
            let (left, right) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            if !(map.atomic || left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty)) {
                visit_fields(left, right, map, path, out);
                return false;
            }
        }
        Some(AtomKind::List(list)) => {
            let (left, right) = (items(old), items(new));
            if !(list.is_atomic() || left.is_empty() && right.is_empty()) {
                visit_items(left, right, list, path, out);
                return false;
            }
        }
        Some(AtomKind::Scalar(_)) => {}
        None => return false,
    }
    out.record(path, old, new);
    true
}

type Fields<'a> = Option<&'a Map<String, Value>>;

fn visit_fields(
    old: Fields<'_>,
    new: Fields<'_>,
    map: MapAtom<'_>,
    path: &mut Vec<PathElement>,
    out: &mut Comparison,
) {
    let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(Map::keys).collect();
    for name in names {
        path.push(PathElement::Field(name.clone()));
        let (old, new) = (
            old.and_then(|fields| fields.get(name)),
            new.and_then(|fields| fields.get(name)),
        );
        visit(old, new, map.type_of(name).unwrap_or(&Type::Any), path, out);
        path.pop();
    }
}

fn visit_items(
    old: &[Value],
    new: &[Value],
    list: ListAtom<'_>,
    path: &mut Vec<PathElement>,
    out: &mut Comparison,
) {
    let mut elements: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in old {
        if let Ok(element) = list.element(item) {
            elements.entry(element).or_default().0.push(item);
        }
    }
    for item in new {
        if let Ok(element) = list.element(item) {
            elements.entry(element).or_default().1.push(item);
        }
    }
    for (element, (old, new)) in elements {
        path.push(element);
        match (&old[..], &new[..]) {
            ([] | [_], [] | [_]) => {
                visit(old.first().copied(), new.first().copied(), list.items, path, out);
            }
            // Duplicate items are compared as one value.
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len()
                    && old
                        .iter()
                        .zip(&new)
                        .all(|(old, new)| path_element::compare(old, new).is_eq());
                if !same {
                    out.modified.insert(path);
                }
            }
            ([_, _, ..], new) => {
                if let Some(new) = new.first() {
                    visit(None, Some(new), list.items, path, out);
                }
                out.removed.insert(path);
            }
            (old, [_, _, ..]) => {
                if let Some(old) = old.first() {
                    visit(Some(old), None, list.items, path, out);
                }
                out.added.insert(path);
            }
        }
        path.pop();
    }
}
