//! The values of an object that its conversion to another version loses, as the annotation on the result keeps them: found by comparing
//! the object with what the way back gives, and applied when the result is converted back.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::schema_at::{SchemaAt, equal};

/// Fields of every object that are never lost or restored.
const UNTOUCHED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A value that is lost.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LostField {
    path: Vec<Step>,
    /// What the way back gives at the path; none: nothing. The value is restored only where this is unchanged.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    base: Option<Value>,
    /// The value; none: the object has none.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    value: Option<Value>,
    /// In place of both, for a list at the path whose elements have no key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    elements: Vec<LostElements>,
}

/// Elements of a list that the way back makes equal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LostElements {
    base: Value,
    /// The elements, in their order.
    values: Vec<Value>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Step {
    Field(String),
    /// The element of a list with these fields.
    Element(BTreeMap<String, Value>),
}

/// Deserializes null as a value; an absent field is none.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Returns where `value` differs from `base`, the result of the way back. Both are objects of one version.
pub(super) fn find(
    value: &Map<String, Value>,
    base: &Map<String, Value>,
    schema: SchemaAt<'_>,
) -> Vec<LostField> {
    let mut comparison = Comparison::default();
    comparison.compare_fields(value, base, schema, &UNTOUCHED);
    comparison.lost
}

#[derive(Default)]
struct Comparison {
    path: Vec<Step>,
    lost: Vec<LostField>,
}

impl Comparison {
    fn compare(&mut self, value: Option<&Value>, base: Option<&Value>, schema: SchemaAt<'_>) {
        match (value, base) {
            (Some(value), Some(base)) if equal(value, base) => {}
            (None, None) => {}
            (Some(Value::Object(value)), Some(Value::Object(base)))
                if !schema.is_union() || is_named_by_field(value, schema) =>
            {
                self.compare_fields(value, base, schema, &[]);
            }
            (Some(Value::Array(value)), Some(Value::Array(base))) => {
                self.compare_elements(value, base, schema);
            }
            _ => self.push(value.cloned(), base.cloned(), Vec::new()),
        }
    }

    fn compare_fields(
        &mut self,
        value: &Map<String, Value>,
        base: &Map<String, Value>,
        schema: SchemaAt<'_>,
        except: &[&str],
    ) {
        let added = base.keys().filter(|name| !value.contains_key(*name));
        for name in value.keys().chain(added) {
            if except.contains(&name.as_str()) {
                continue;
            }
            self.path.push(Step::Field(name.clone()));
            self.compare(value.get(name), base.get(name), schema.field(name));
            self.path.pop();
        }
    }

    fn compare_elements(&mut self, value: &[Value], base: &[Value], schema: SchemaAt<'_>) {
        let keys = schema.list_keys();
        let identities = identities(value, &keys).filter(|own| identities(base, &keys).as_ref() == Some(own));
        if let Some(identities) = identities {
            for ((identity, value), base) in identities.into_iter().zip(value).zip(base) {
                self.path.push(Step::Element(identity));
                self.compare(Some(value), Some(base), schema.element());
                self.path.pop();
            }
        } else if value.len() == base.len() {
            self.push(None, None, equal_elements(value, base));
        } else {
            self.push(Some(value.into()), Some(base.into()), Vec::new());
        }
    }

    fn push(&mut self, value: Option<Value>, base: Option<Value>, elements: Vec<LostElements>) {
        self.lost.push(LostField {
            path: self.path.clone(),
            base,
            value,
            elements,
        });
    }
}

/// Whether the only field of an enum's variant is its name, so that its data cannot be restored into another variant. A tag is not a name: all
/// variants have it.
fn is_named_by_field(value: &Map<String, Value>, schema: SchemaAt<'_>) -> bool {
    let mut names = value.keys();
    matches!((names.next(), names.next()), (Some(name), None) if !schema.is_required(name))
}

/// Returns the fields that identify each element; none unless every element has them and differs in them from the others.
fn identities(elements: &[Value], keys: &[&str]) -> Option<Vec<BTreeMap<String, Value>>> {
    let identity = |element: &Value| {
        let field = |key: &&str| {
            let value = element.get(*key)?;
            (!value.is_object() && !value.is_array()).then(|| ((*key).to_owned(), value.clone()))
        };
        keys.iter().map(field).collect::<Option<BTreeMap<_, _>>>()
    };
    let found: Vec<_> = elements.iter().map(identity).collect::<Option<_>>()?;
    let mut distinct: Vec<String> = found
        .iter()
        .map(|identity| serde_json::to_string(identity).unwrap_or_default())
        .collect();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == found.len()).then_some(found)
}

/// Returns the elements whose base differs from them, with all elements of the same base.
fn equal_elements(value: &[Value], base: &[Value]) -> Vec<LostElements> {
    let mut lost: Vec<LostElements> = Vec::new();
    for (at, own_base) in base.iter().enumerate() {
        let is_lost = !equal(&value[at], own_base);
        if !is_lost || lost.iter().any(|known| equal(&known.base, own_base)) {
            continue;
        }
        let same = base.iter().zip(value).filter(|(base, _)| equal(base, own_base));
        lost.push(LostElements {
            base: own_base.clone(),
            values: same.map(|(_, value)| value.clone()).collect(),
        });
    }
    lost
}

/// Restores the values in an object of their version where it still has their base. Returns whether one was restored.
pub(super) fn restore(lost: Vec<LostField>, object: &mut Map<String, Value>) -> bool {
    let mut any = false;
    for mut field in lost {
        let path = std::mem::take(&mut field.path);
        let Some((Step::Field(first), rest)) = path.split_first() else {
            continue;
        };
        if !UNTOUCHED.contains(&first.as_str()) {
            any |= restore_field(object, first, rest, field);
        }
    }
    any
}

fn restore_field(fields: &mut Map<String, Value>, name: &str, rest: &[Step], lost: LostField) -> bool {
    if !rest.is_empty() || !lost.elements.is_empty() {
        return fields
            .get_mut(name)
            .is_some_and(|nested| restore_at(nested, rest, lost));
    }
    let is_unchanged = match (fields.get(name), &lost.base) {
        (Some(current), Some(base)) => equal(current, base),
        (current, base) => current.is_none() && base.is_none(),
    };
    if is_unchanged {
        match lost.value {
            Some(value) => fields.insert(name.to_owned(), value),
            None => fields.remove(name),
        };
    }
    is_unchanged
}

fn restore_at(at: &mut Value, path: &[Step], lost: LostField) -> bool {
    match (path.split_first(), at) {
        (Some((Step::Field(name), rest)), Value::Object(fields)) => restore_field(fields, name, rest, lost),
        (Some((Step::Element(identity), rest)), Value::Array(elements)) => {
            let has_identity = |element: &&mut Value| {
                let mut fields = identity.iter();
                fields.all(|(key, value)| element.get(key).is_some_and(|found| equal(found, value)))
            };
            let mut found = elements.iter_mut().filter(has_identity);
            match (found.next(), found.next()) {
                (Some(element), None) => restore_at(element, rest, lost),
                _ => false,
            }
        }
        (None, Value::Array(elements)) if !lost.elements.is_empty() => {
            restore_elements(elements, lost.elements)
        }
        (None, at) => {
            let is_unchanged = lost.base.as_ref().is_some_and(|base| equal(at, base));
            if let (true, Some(value)) = (is_unchanged, lost.value) {
                *at = value;
            }
            is_unchanged
        }
        _ => false,
    }
}

/// Restores elements that are still equal to their base, in their order. If some of the equal ones were removed and their values differ, it
/// is unknown which are left, and none is restored.
fn restore_elements(elements: &mut [Value], lost: Vec<LostElements>) -> bool {
    let mut restored = Vec::new();
    for LostElements { base, values } in lost {
        let found: Vec<usize> = (0..elements.len())
            .filter(|&at| equal(&elements[at], &base))
            .collect();
        let all_are_one = values.windows(2).all(|pair| pair[0] == pair[1]);
        if found.len() >= values.len() || all_are_one {
            restored.extend(found.into_iter().zip(values));
        }
    }
    let any = !restored.is_empty();
    for (at, value) in restored {
        elements[at] = value;
    }
    any
}
