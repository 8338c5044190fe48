//! Compares the alternatives of a value, as an enum with data has them.

use serde_json::{Map, Value};

use super::{Impact, SchemaDiff};

impl SchemaDiff {
    pub(super) fn alternatives(&mut self, field: &str, old: &Value, new: &Value) {
        for key in ["anyOf", "oneOf", "allOf", "not"] {
            let (was, is) = (without_lists(old, key), without_lists(new, key));
            if was == is {
                continue;
            }
            let added = added(&was, &is);
            let stays_valid = |added: &Vec<&Value>| {
                key == "anyOf"
                    || (key == "oneOf" && added.iter().all(|added| excludes_objects_of(old, added)))
            };
            match added.filter(stays_valid) {
                Some(added) => {
                    let s = if added.len() == 1 { "" } else { "s" };
                    let text = format!("{field}: {key} has {} more alternative{s}", added.len());
                    self.push(Impact::Clients, text);
                }
                None => self.add_breaking(format!("{field}: {key} changed")),
            }
        }
    }
}

/// Returns a keyword's value; from `allOf` without the lists of allowed values, which are compared with the other constraints.
fn without_lists(schema: &Value, key: &str) -> Value {
    let mut value = schema[key].clone();
    if key == "allOf"
        && let Value::Array(alternatives) = &mut value
    {
        let is_list = |fields: &Map<String, Value>| fields.keys().all(|keyword| keyword == "enum");
        alternatives.retain(|alternative| !alternative.as_object().is_some_and(is_list));
        if alternatives.is_empty() {
            return Value::Null;
        }
    }
    value
}

/// Returns the new alternatives, if the old ones are all left.
fn added<'a>(old: &Value, new: &'a Value) -> Option<Vec<&'a Value>> {
    let (old, new) = (old.as_array()?, new.as_array()?);
    let mut added: Vec<&Value> = new.iter().collect();
    added.retain(|alternative| !old.contains(alternative));
    (added.len() + old.len() == new.len()).then_some(added)
}

/// Returns whether no object of the old schema matches a new alternative: it requires a new field, or a new value of a tag.
fn excludes_objects_of(old: &Value, alternative: &Value) -> bool {
    let names = |schema: &'_ Value| schema["required"].as_array().cloned().unwrap_or_default();
    let is_new_field = |name: &Value| {
        name.as_str()
            .is_some_and(|name| old["properties"][name].is_null())
    };
    let has_new_value = |(name, property): (&String, &Value)| {
        let values = |schema: &Value| schema["enum"].as_array().cloned();
        let known = values(&old["properties"][name]);
        let is_new = known
            .zip(values(property))
            .is_some_and(|(known, values)| values.iter().all(|value| !known.contains(value)));
        is_new && names(old).iter().any(|required| required == name)
    };
    let mut properties = alternative["properties"].as_object().into_iter().flatten();
    names(alternative).iter().any(is_new_field) || properties.any(has_new_value)
}
