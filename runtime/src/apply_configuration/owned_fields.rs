//! The fields of a live object that a field manager owns, by `metadata.managedFields`.

use serde_json::{Map, Value};

/// The node of a field set that stands for the field or element itself, beside those for what is in it.
const SELF: &str = ".";

/// Returns the fields that the manager owns by applying the object or the subresource, with the object's values: client-go's
/// `ExtractInto`. Empty if it owns none.
///
/// There is no schema: a field set without children covers the whole value, unless another manager owns a part of it. Then the value
/// is merged by fields or elements, and the manager owns it without any. An owned element of a list that is merged by keys
/// always has its keys.
pub(super) fn owned_fields<'a>(object: &'a Value, manager: &str, subresource: &str) -> Map<String, Value> {
    let entries = object["metadata"]["managedFields"].as_array();
    let is_of_manager = |entry: &Value| {
        entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default() == subresource
    };
    let (of_manager, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .flatten()
        .partition(|entry| is_of_manager(entry));
    let field_sets = |entries: Vec<&'a Value>| -> Vec<_> {
        let sets = entries.into_iter().map(|entry| entry["fieldsV1"].as_object());
        sets.flatten().collect()
    };
    let (of_manager, others) = (field_sets(of_manager), field_sets(others));
    match (object, of_manager.first()) {
        (Value::Object(object), Some(set)) => owned_in_object(object, set, &others),
        _ => Map::new(),
    }
}

/// Returns what of the value is in the set; none if nothing is.
fn owned_value(value: &Value, set: &Map<String, Value>, others: &[&Map<String, Value>]) -> Option<Value> {
    if !has_children(set) {
        let is_merged = others.iter().any(|other| has_children(other));
        return Some(match value {
            Value::Object(_) if is_merged => Value::Object(Map::new()),
            Value::Array(_) if is_merged => Value::Array(Vec::new()),
            _ => value.clone(),
        });
    }
    match value {
        Value::Object(object) => {
            let owned = owned_in_object(object, set, others);
            (!owned.is_empty()).then_some(Value::Object(owned))
        }
        Value::Array(list) => {
            let owned = owned_in_list(list, set, others);
            (!owned.is_empty()).then_some(Value::Array(owned))
        }
        _ => None,
    }
}

fn owned_in_object(
    object: &Map<String, Value>,
    set: &Map<String, Value>,
    others: &[&Map<String, Value>],
) -> Map<String, Value> {
    let owned = object.iter().filter_map(|(name, value)| {
        let node = format!("f:{name}");
        let owned = owned_value(value, set.get(&node)?.as_object()?, &below(others, &node))?;
        Some((name.clone(), owned))
    });
    owned.collect()
}

fn owned_in_list(list: &[Value], set: &Map<String, Value>, others: &[&Map<String, Value>]) -> Vec<Value> {
    let nodes: Vec<_> = set
        .iter()
        .filter_map(|(node, set)| Some((node, ListElement::parse(node)?, set.as_object()?)))
        .collect();
    let owned = list.iter().enumerate().filter_map(|(index, item)| {
        let (node, element, set) = nodes.iter().find(|(_, element, _)| element.is(index, item))?;
        let mut owned = owned_value(item, set, &below(others, node))?;
        if let (ListElement::Keys(keys), Value::Object(owned)) = (element, &mut owned) {
            owned.extend(keys.clone());
        }
        Some(owned)
    });
    owned.collect()
}

/// An element of a list, as the node of a field set names it.
enum ListElement {
    Keys(Map<String, Value>),
    Value(Value),
    Index(usize),
}

impl ListElement {
    /// Parses `k:{"name":"a"}`, `v:"a"` or `i:0`.
    fn parse(node: &str) -> Option<Self> {
        let (kind, content) = node.split_once(':')?;
        match kind {
            "k" => serde_json::from_str(content).ok().map(Self::Keys),
            "v" => serde_json::from_str(content).ok().map(Self::Value),
            "i" => content.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn is(&self, index: usize, item: &Value) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(name, value)| item.get(name) == Some(value)),
            Self::Value(value) => value == item,
            Self::Index(wanted) => *wanted == index,
        }
    }
}

fn has_children(set: &Map<String, Value>) -> bool {
    set.keys().any(|node| node != SELF)
}

/// Returns the sets of the other managers below a node.
fn below<'a>(others: &[&'a Map<String, Value>], node: &str) -> Vec<&'a Map<String, Value>> {
    let below = others.iter().filter_map(|other| other.get(node)?.as_object());
    below.collect()
}

#[cfg(test)]
#[path = "owned_fields_tests.rs"]
mod tests;
