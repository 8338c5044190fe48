//! Finds fields that two versions share and a conversion does not carry over. A round trip does not show them: what a conversion loses is kept in
//! an annotation, and two fields that are swapped are swapped back.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conversion::equal;

/// The fewest objects that show what becomes of a field. With fewer, small values are equal by chance.
const MIN_OBJECTS: usize = 20;

/// Returns the error of the first field that both schemas have, with the same type and description, and whose value is lost or gets into another
/// field. `objects` are pairs: an object of the first version, and what it is in the second. With another description it is another field.
pub(super) fn misplaced(
    objects: &[(Value, Value)],
    schemas: [&Value; 2],
    [from, to]: [&str; 2],
) -> Option<String> {
    let [fields, others] = schemas.map(|schema| {
        let mut fields = BTreeMap::new();
        for part in ["spec", "status"] {
            collect(&schema["properties"][part], &format!("/{part}"), &mut fields);
        }
        fields
    });
    let shared = fields
        .iter()
        .filter(|(path, schema)| others.get(*path) == Some(*schema));
    shared.map(|(path, _)| path).find_map(|path| {
        let values = |path: &str| {
            let with_value = objects.iter().filter_map(|(object, there)| {
                let value = object.pointer(path)?;
                Some((value, there))
            });
            with_value.collect::<Vec<_>>()
        };
        let values = values(path);
        let is_carried = |to: &str| values.iter().all(|(value, there)| is_at(there, to, value));
        if values.len() < MIN_OBJECTS || !varies(values.iter().map(|(value, _)| Some(*value))) || is_carried(path) {
            return None;
        }
        let name = dotted(path);
        let fix = format!(
            "which has a {name} of the same type and description: correct the conversion, or describe the fields as different"
        );
        if let Some(other) = others.keys().find(|other| *other != path && is_carried(other)) {
            return Some(format!("{name} of {from} becomes {} of {to}, {fix}", dotted(other)));
        }
        let is_lost = !varies(values.iter().map(|(_, there)| there.pointer(path)));
        is_lost.then(|| format!("{name} of {from} has no effect in {to}, {fix}"))
    })
}

/// Collects the fields below a schema that have no fields themselves.
fn collect<'s>(schema: &'s Value, path: &str, fields: &mut BTreeMap<String, &'s Value>) {
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, property) in properties {
                // The names that pointers escape do not occur in structs.
                collect(property, &format!("{path}/{name}"), fields);
            }
        }
        None if schema.is_object() => drop(fields.insert(path.to_owned(), schema)),
        None => {}
    }
}

fn is_at(object: &Value, path: &str, value: &Value) -> bool {
    object.pointer(path).is_some_and(|found| equal(found, value))
}

/// Whether not all values are equal.
fn varies<'v>(mut values: impl Iterator<Item = Option<&'v Value>>) -> bool {
    let first = values.next().flatten();
    values.any(|value| match (first, value) {
        (Some(one), Some(other)) => !equal(one, other),
        (one, other) => one.is_some() != other.is_some(),
    })
}

fn dotted(path: &str) -> String {
    path.trim_start_matches('/').replace('/', ".")
}
