//! The schema of one variant of an enum.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::restrictions::{is_restriction, restrict, strings};

/// The keywords with alternative or further schemas of the same value.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns whether a schema has alternatives, as that of an enum with data has.
pub fn has_variants(schema: &Value) -> bool {
    ALTERNATIVES.iter().any(|keyword| schema[keyword].is_array())
}

/// Returns the schema without alternatives, restricted by one of each, and without the fields that only the others name. `choose` gets their
/// count and returns the index of one.
pub fn one_variant(schema: &Value, mut choose: impl FnMut(usize) -> usize) -> Value {
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    let mut pending = alternatives(schema);
    while let Some((keyword, schemas)) = pending.pop() {
        let only =
            (keyword != "allOf" && !schemas.is_empty()).then(|| choose(schemas.len()).min(schemas.len() - 1));
        for (at, schema) in schemas.iter().enumerate() {
            if only.is_none_or(|only| at == only) {
                pending.extend(alternatives(schema));
                chosen.push(without_alternatives(schema));
            } else {
                others.push(schema);
            }
        }
    }
    let chosen: Vec<&Value> = chosen.iter().collect();
    let named = AlternativesAt {
        possible: chosen.clone(),
        others: expanded(others),
        chosen,
    };
    let mut narrowed = without_alternatives(schema);
    narrow(&mut narrowed, &named);
    narrowed
}

/// Returns the keywords with alternatives, and these.
fn alternatives(schema: &Value) -> Vec<(&'static str, &Vec<Value>)> {
    let of_keyword = |keyword: &&'static str| Some((*keyword, schema[*keyword].as_array()?));
    ALTERNATIVES.iter().filter_map(of_keyword).collect()
}

fn without_alternatives(schema: &Value) -> Value {
    let fields = schema.as_object().into_iter().flatten();
    let kept = fields.filter(|(keyword, _)| !ALTERNATIVES.contains(&keyword.as_str()));
    let kept: Map<_, _> = kept
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    kept.into()
}

/// The schemas that alternatives contain for one value.
struct AlternativesAt<'v> {
    /// Those of the chosen alternatives, which restrict the value.
    chosen: Vec<&'v Value>,
    /// `chosen`, and those of alternatives among which no choice was made so far.
    possible: Vec<&'v Value>,
    /// Those of the alternatives that were not chosen.
    others: Vec<&'v Value>,
}

impl<'v> AlternativesAt<'v> {
    /// Returns what they have for a field, or for the elements.
    fn at(&self, nested: impl Fn(&'v Value) -> Option<&'v Value>) -> Self {
        let nested = |schemas: &[&'v Value]| schemas.iter().filter_map(|schema| nested(schema)).collect();
        Self {
            chosen: nested(&self.chosen),
            possible: expanded(nested(&self.possible)),
            others: expanded(nested(&self.others)),
        }
    }

    /// Adds alternatives that the schema of the value has itself.
    fn with_possible<'o>(&self, own: &'o [Value]) -> AlternativesAt<'o>
    where
        'v: 'o,
    {
        AlternativesAt {
            chosen: self.chosen.clone(),
            possible: self
                .possible
                .iter()
                .copied()
                .chain(expanded(own.iter().collect()))
                .collect(),
            others: self.others.clone(),
        }
    }

    fn fields(&self) -> BTreeSet<&'v str> {
        let schemas = self.chosen.iter().chain(&self.others);
        let properties = schemas.filter_map(|schema| schema["properties"].as_object());
        properties.flat_map(Map::keys).map(String::as_str).collect()
    }
}

/// Adds the alternatives within schemas.
fn expanded(mut schemas: Vec<&Value>) -> Vec<&Value> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at) {
        let nested = alternatives(schema);
        schemas.extend(nested.into_iter().flat_map(|(_, schemas)| schemas));
        at += 1;
    }
    schemas
}

/// Restricts a schema to what the chosen alternatives accept. Alternatives within its fields are chosen when a variant of these is asked for.
/// Schemas that no alternative names are not visited.
fn narrow(schema: &mut Value, named: &AlternativesAt<'_>) {
    let own: Vec<Value> = alternatives(schema)
        .into_iter()
        .flat_map(|(_, schemas)| schemas)
        .cloned()
        .collect();
    let named = &named.with_possible(&own);
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    remove_fields_of_others(fields, named);
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for name in named.fields() {
            if let Some(property) = properties.get_mut(name) {
                narrow(property, &named.at(|schema| schema["properties"].get(name)));
            }
        }
    }
    if let Some(items) = fields.get_mut("items") {
        narrow(items, &named.at(|schema| schema.get("items")));
    }
    for (keyword, value) in named
        .chosen
        .iter()
        .filter_map(|schema| schema.as_object())
        .flatten()
    {
        match keyword.as_str() {
            "properties" | "items" if fields.contains_key(keyword) => {}
            "anyOf" | "oneOf" => restrict(fields, "allOf", json!([{ keyword: value }])),
            keyword if keyword == "required" || is_restriction(keyword) => {
                restrict(fields, keyword, value.clone());
            }
            _ => {
                fields.insert(keyword.clone(), value.clone());
            }
        }
    }
}

fn remove_fields_of_others(fields: &mut Map<String, Value>, named: &AlternativesAt<'_>) {
    let mut removed: BTreeSet<&str> = named
        .others
        .iter()
        .flat_map(|schema| named_fields(schema))
        .collect();
    for name in named.possible.iter().flat_map(|schema| named_fields(schema)) {
        removed.remove(name);
    }
    for name in strings(fields.get("required")) {
        removed.remove(name);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.retain(|name, _| !removed.contains(name.as_str()));
    }
}

fn named_fields(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    properties
        .map(String::as_str)
        .chain(strings(schema.get("required")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_its_fields_and_restrictions() {
        let schema = json!({"type": "object", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["A", "B"]}, "size": {"type": "integer"}, "zone": {"type": "string"},
                "data": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
                "shared": {"type": "string"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["A"]}, "zone": {}, "data": {"required": ["x"]}}, "required": ["size"]},
                {"properties": {"type": {"enum": ["B"]}, "data": {"required": ["y"]}}, "required": ["data"]},
            ],
        });
        assert_eq!(
            one_variant(&schema, |_| 0),
            json!({"type": "object", "required": ["type", "size"],
                "properties": {
                    "type": {"type": "string", "enum": ["A"]}, "size": {"type": "integer"}, "zone": {"type": "string"},
                    "data": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                    "shared": {"type": "string"},
                },
            })
        );
        let other = one_variant(&schema, |count| count - 1);
        let names: Vec<_> = other["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["data", "shared", "type"]);
    }

    #[test]
    fn alternatives_within_others_are_chosen_as_well() {
        let schema = json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}},
            "allOf": [{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}],
            "anyOf": [{"oneOf": [{"required": ["c"]}, {"required": ["d"]}]}, {}],
        });
        let narrowed = one_variant(&schema, |_| 0);
        assert_eq!(narrowed["properties"], json!({"a": {}, "c": {}}));
        assert_eq!(narrowed["required"].as_array().unwrap().len(), 2);
        let narrowed = one_variant(&schema, |count| count - 1);
        assert_eq!(
            narrowed,
            json!({"type": "object", "properties": {"b": {}}, "required": ["b"]})
        );
        assert!(has_variants(&schema) && !has_variants(&narrowed));
    }

    #[test]
    fn fields_of_inner_objects_stay_where_the_variant_has_them() {
        // Both variants have `y`; the second requires it.
        let schema = json!({"type": "object", "properties": {
                "inner": {"type": "object", "required": ["x"], "properties": {"x": {}, "y": {}, "z": {}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {}, "y": {}}}},
            },
            "oneOf": [
                {"properties": {"inner": {"properties": {"y": {}}}}},
                {"properties": {"inner": {"required": ["y"], "properties": {"z": {}}}, "list": {"items": {"required": ["y"]}}}},
            ],
        });
        let narrowed = one_variant(&schema, |_| 0);
        assert_eq!(
            narrowed["properties"]["inner"]["properties"],
            json!({"x": {}, "y": {}})
        );
        assert_eq!(narrowed["properties"]["inner"]["required"], json!(["x"]));
        let other = one_variant(&schema, |_| 1);
        assert_eq!(other["properties"]["inner"]["required"], json!(["x", "y"]));
        assert_eq!(other["properties"]["list"]["items"]["required"], json!(["y"]));
    }

    #[test]
    fn restrictions_are_combined() {
        let schema = json!({"type": "object", "properties": {"size": {"type": "integer", "minimum": 2, "maximum": 9}, "mode": {"enum": ["a", "b"]}},
            "anyOf": [{"properties": {"size": {"minimum": 1, "maximum": 5}, "mode": {"enum": ["b", "c"]}}}],
            "allOf": [{"properties": {"size": {"maximum": 7}}}],
        });
        assert_eq!(
            one_variant(&schema, |_| 0)["properties"],
            json!({"size": {"type": "integer", "minimum": 2, "maximum": 5}, "mode": {"enum": ["b"]}})
        );
    }

    #[test]
    fn field_that_several_enums_have_stays_if_one_variant_has_it() {
        let schema = json!({"type": "object", "properties": {"a": {}, "b": {}, "size": {}},
            "allOf": [
                {"oneOf": [{"required": ["a"]}, {"required": ["size"]}]},
                {"oneOf": [{"required": ["size"]}, {"required": ["b"]}]},
            ],
        });
        // The last enum is the first of which a variant is chosen.
        let mut choices = [0, 0].into_iter();
        let narrowed = one_variant(&schema, |_| choices.next().unwrap());
        assert_eq!(narrowed["properties"], json!({"a": {}, "size": {}}));
    }

    #[test]
    fn fields_of_alternatives_within_the_chosen_one_stay() {
        let schema = json!({"type": "object", "properties": {"data": {"type": "object", "properties": {
                "kind": {}, "place": {"type": "object", "properties": {"text": {}, "size": {}}},
            }}},
            "oneOf": [
                {"properties": {"data": {"oneOf": [{"properties": {"kind": {"enum": ["A"]}}}, {"properties": {"place": {"required": ["text"]}}}]}}},
                {"properties": {"data": {"anyOf": [{"properties": {"place": {"required": ["text", "size"]}}}]}}},
            ],
        });
        let data = one_variant(&schema, |_| 0)["properties"]["data"].take();
        assert_eq!(data["properties"]["place"]["properties"], json!({"text": {}}));
        let place = one_variant(&data, |_| 1)["properties"]["place"].take();
        assert_eq!(place["required"], json!(["text"]));
    }

    #[test]
    fn fields_that_own_alternatives_require_stay() {
        let schema = json!({"type": "object", "properties": {"choice": {"type": "object", "properties": {"size": {}, "zone": {}},
                "oneOf": [{"required": ["size"]}, {}]}},
            "oneOf": [{}, {"properties": {"choice": {"properties": {"size": {"minimum": 1}, "zone": {"minLength": 1}}}}}],
        });
        let choice = one_variant(&schema, |_| 0)["properties"].take();
        assert_eq!(choice, json!({}), "the other variant names it");
        let schema = json!({"type": "object", "required": ["choice"], "properties": schema["properties"], "oneOf": schema["oneOf"]});
        let choice = one_variant(&schema, |_| 0)["properties"]["choice"].take();
        assert_eq!(choice["properties"], json!({"size": {}}));
    }
}
