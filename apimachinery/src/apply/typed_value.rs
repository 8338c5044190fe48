//! Operations on typed values: the field set, removal of fields, and merging.

use super::atom::{Atom, AtomKind, ListAtom, MapAtom};
use super::field_set::FieldSet;
use super::path_element::PathElement;
use crate::types::Type;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the fields that a manager owns after it applied this object.
pub(super) fn field_set(value: &Value, ty: &Type) -> FieldSet {
    owned(value, ty).1
}

/// Returns whether the value is owned as a whole, and the fields that are owned within it.
fn owned(value: &Value, ty: &Type) -> (bool, FieldSet) {
    let mut set = FieldSet::default();
    match Atom::of(ty).deduce(Some(value)).kind() {
        Some(AtomKind::Scalar(_)) => return (true, set),
        Some(AtomKind::List(list)) => {
            if list.is_atomic() {
                return (true, set);
            }
            let elements: Vec<_> = items(Some(value))
                .iter()
                .filter_map(|item| Some((list.element(item).ok()?, item)))
                .collect();
            let mut seen = BTreeSet::new();
            let duplicates: BTreeSet<PathElement> = elements
                .iter()
                .filter(|(element, _)| !seen.insert(element))
                .map(|(element, _)| element.clone())
                .collect();
            for (element, item) in elements {
                if !duplicates.contains(&element) {
                    add_below(&mut set, &element, owned(item, list.items).1);
                }
                set.members.insert(element);
            }
        }
        Some(AtomKind::Map(map)) => {
            if map.atomic {
                return (true, set);
            }
            for (name, value) in value.as_object().into_iter().flatten() {
                let Some(ty) = map.type_of(name) else { continue };
                let element = PathElement::Field(name.clone());
                let (whole, below) = owned(value, ty);
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                add_below(&mut set, &element, below);
                if whole || is_empty || map.field(name).is_none() {
                    set.members.insert(element);
                }
            }
        }
        None => {}
    }
    (false, set)
}

fn add_below(set: &mut FieldSet, element: &PathElement, below: FieldSet) {
    if !below.is_empty() {
        set.children.insert(element.clone(), below);
    }
}

/// Returns the items of a list; none of another value.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the object without these fields. Objects and lists that become empty become null.
pub(super) fn remove(value: &Value, set: &FieldSet, ty: &Type) -> Value {
    match Atom::of(ty).deduce(Some(value)).kind() {
        Some(AtomKind::List(list)) if !list.is_atomic() => {
            let mut left = Vec::new();
            for item in items(Some(value)) {
                let Ok(element) = list.element(item) else {
                    left.push(item.clone());
                    continue;
                };
                if set.members.contains(&element) {
                    continue;
                }
                left.push(match set.children.get(&element) {
                    Some(below) if !below.is_empty() => remove(item, below, list.items),
                    _ => item.clone(),
                });
            }
            if left.is_empty() {
                Value::Null
            } else {
                Value::Array(left)
            }
        }
        Some(AtomKind::Map(map)) if !map.atomic => {
            let mut left = Map::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                let element = PathElement::Field(name.clone());
                if set.members.contains(&element) {
                    continue;
                }
                let below = set.children.get(&element).filter(|below| !below.is_empty());
                let rest = match below {
                    Some(below) => remove(value, below, map.type_of(name).unwrap_or(&Type::Any)),
                    None => value.clone(),
                };
                left.insert(name.clone(), rest);
            }
            if left.is_empty() {
                Value::Null
            } else {
                Value::Object(left)
            }
        }
        Some(AtomKind::Scalar(_)) => value.clone(),
        _ => Value::Null,
    }
}

/// Merges the applied object into the live one. List items take the order of the applied list.
pub(super) fn merge(live: &Value, applied: &Value, ty: &Type) -> Value {
    merged(Some(live), Some(applied), ty).unwrap_or_default()
}

fn merged(live: Option<&Value>, applied: Option<&Value>, ty: &Type) -> Option<Value> {
    let either = applied.or(live);
    match Atom::of(ty).deduce(either).kind() {
        Some(AtomKind::Map(map)) => {
            let (left, right) = (
                live.and_then(Value::as_object),
                applied.and_then(Value::as_object),
            );
            if map.atomic || (left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty)) {
                return either.cloned();
            }
            merge_maps(left, right, map)
        }
        Some(AtomKind::List(list)) => {
            let (left, right) = (items(live), items(applied));
            if list.is_atomic() || (left.is_empty() && right.is_empty()) {
                return either.cloned();
            }
            merge_lists(left, right, list)
        }
        _ => either.cloned(),
    }
}

fn merge_maps(
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
    map: MapAtom<'_>,
) -> Option<Value> {
    let names: BTreeSet<&String> = live.into_iter().chain(applied).flat_map(Map::keys).collect();
    let mut out = Map::new();
    for name in names {
        let (live, applied) = (
            live.and_then(|fields| fields.get(name)),
            applied.and_then(|fields| fields.get(name)),
        );
        if let Some(value) = merged(live, applied, map.type_of(name).unwrap_or(&Type::Any)) {
            out.insert(name.clone(), value);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Merges two lists, walking both at once. Items of only one list keep their position relative to the shared items; shared items take the
/// order of the applied list.
fn merge_lists(live: &[Value], applied: &[Value], list: ListAtom<'_>) -> Option<Value> {
    let index = |items: &[Value]| -> Vec<(PathElement, Value)> {
        items
            .iter()
            .filter_map(|item| Some((list.element(item).ok()?, item.clone())))
            .collect()
    };
    let (left, right) = (index(live), index(applied));
    let mut by_element: BTreeMap<&PathElement, Value> = BTreeMap::new();
    for (element, item) in &left {
        // Duplicate items, which only a live list can have, are merged as unknown.
        by_element
            .entry(element)
            .and_modify(|known| *known = Value::Null)
            .or_insert_with(|| item.clone());
    }
    let applied_elements: BTreeSet<&PathElement> = right.iter().map(|(element, _)| element).collect();
    let mut shared = right
        .iter()
        .map(|(element, _)| element)
        .filter(|element| by_element.contains_key(*element));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((element, _)), Some((other, item))) = (left.get(l), right.get(r)) {
            if element == other {
                done.insert(element);
                out.extend(merged(by_element.get(element), Some(item), list.items));
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            if applied_elements.contains(element) && next_shared.is_some_and(|next| next != element) {
                // The item is inserted at its position in the applied list.
                l += 1;
                continue;
            }
        }
        if let Some((element, item)) = left.get(l) {
            if !applied_elements.contains(element) {
                out.extend(merged(Some(item), None, list.items));
                l += 1;
                continue;
            }
            if done.contains(element) {
                l += 1;
            }
        }
        if let Some((element, item)) = right.get(r) {
            done.insert(element);
            out.extend(merged(by_element.get(element), Some(item), list.items));
            r += 1;
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
