//! Lifts the fields of an enum's variants to the enum, and leaves in `oneOf` and `anyOf` what each variant restricts.
//!
//! schemars makes `oneOf` of tagged enums, `anyOf` of untagged ones, and `allOf` of several enums that a struct flattens.

use kubewright_api_types::{is_restriction, restrict, strings};
use serde_json::{Value, json};

use super::{
    int_or_string::lift_int_or_string,
    keywords::{Fields, KEEPS_UNKNOWN_FIELDS, field_path, names, only_restricts},
    merge::{Merged, Variant, merge},
    references::RUST_TYPE,
    structural::Place,
    variant_errors::{check_variants_without_data, explain},
};

/// Lifts the fields of all alternatives of a schema. Those within the alternatives are lifted before.
pub(super) fn lift(fields: &mut Fields, place: Place<'_>) -> Result<(), String> {
    let alternatives = ["allOf", "anyOf", "oneOf"].map(|keyword| (keyword, fields.remove(keyword)));
    for (keyword, schemas) in alternatives {
        if let Some(Value::Array(schemas)) = schemas {
            lift_alternatives(fields, keyword, schemas, place)?;
        }
    }
    Ok(())
}

fn lift_alternatives(
    fields: &mut Fields,
    keyword: &str,
    schemas: Vec<Value>,
    place: Place<'_>,
) -> Result<(), String> {
    if schemas.iter().all(only_restricts) {
        restrict(fields, keyword, schemas.into());
        return Ok(());
    }
    let schemas = schemas.into_iter().filter_map(|schema| match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    });
    // A variant without data of an untagged enum is null.
    let (nulls, mut schemas): (Vec<Fields>, Vec<Fields>) = schemas.partition(is_null);
    check_variants_without_data(fields, &nulls, &schemas, place)?;
    if !nulls.is_empty() {
        fields.insert("nullable".to_owned(), true.into());
    }
    if keyword == "oneOf" && is_externally_tagged(&schemas) {
        schemas.iter_mut().for_each(prepare_externally_tagged);
    }
    if let [only] = schemas.as_mut_slice()
        && !fields.contains_key("properties")
    {
        for (keyword, value) in std::mem::take(only) {
            if is_restriction(&keyword) {
                restrict(fields, &keyword, value);
            } else {
                fields.entry(keyword).or_insert(value);
            }
        }
        return Ok(());
    }
    let variants: Vec<Variant> = schemas
        .into_iter()
        .enumerate()
        .map(|(at, schema)| Variant {
            name: variant_name(&schema).unwrap_or_else(|| format!("number {}", at + 1)),
            schema,
        })
        .collect();
    let keeps_any_value = fields.get(KEEPS_UNKNOWN_FIELDS) == Some(&Value::Bool(true));
    if keyword == "anyOf" && !keeps_any_value && lift_int_or_string(fields, &variants) {
        return Ok(());
    }
    let are_objects = variants
        .iter()
        .all(|variant| variant.schema.get("type").is_some_and(|ty| ty == "object"));
    match merge(variants, place.path) {
        Ok(merged) => insert(fields, keyword, merged, place),
        Err(_) if keeps_any_value => {
            if are_objects {
                fields.insert("type".to_owned(), "object".into());
            }
            Ok(())
        }
        Err(conflict) => Err(explain(&conflict, keyword, place)),
    }
}

pub(super) fn is_null(schema: &Fields) -> bool {
    schema.get("enum").is_some_and(|values| *values == json!([null]))
}

/// Returns whether each variant is an object with one field, the variant's name: what serde makes of an enum without attributes.
fn is_externally_tagged(schemas: &[Fields]) -> bool {
    let names: Vec<_> = schemas.iter().filter_map(only_field).collect();
    let is_unique = |name| names.iter().filter(|other| *other == name).count() == 1;
    names.len() == schemas.len() && names.iter().all(is_unique)
}

pub(super) fn only_field(schema: &Fields) -> Option<&str> {
    let properties = schema.get("properties")?.as_object()?;
    let is_required = *schema.get("required")? == json!([properties.keys().next()?]);
    let name = properties.keys().next().filter(|_| properties.len() == 1)?;
    is_required.then_some(name)
}

/// `oneOf` excludes the fields of other variants. The description of the variant becomes that of its field.
fn prepare_externally_tagged(schema: &mut Fields) {
    schema.remove("additionalProperties");
    let description = schema.remove("description");
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let property = properties.and_then(|properties| properties.values_mut().next());
    if let (Some(description), Some(Value::Object(property))) = (description, property) {
        property.insert("description".to_owned(), description);
    }
}

/// Returns the name of a variant: the title of an untagged one, the value of the tag, or the only field.
pub(super) fn variant_name(schema: &Fields) -> Option<String> {
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return Some(title.to_owned());
    }
    let tag = |schema: &Value| match (
        schema.get("const"),
        strings(schema.get("enum")).collect::<Vec<_>>().as_slice(),
    ) {
        (Some(tag), _) => tag.as_str().map(str::to_owned),
        (None, [tag]) => Some((*tag).to_owned()),
        _ => None,
    };
    let mut required = strings(schema.get("required"));
    required
        .find_map(|name| tag(schema.get("properties")?.get(name)?))
        .or_else(|| only_field(schema).map(str::to_owned))
}

/// Inserts what the variants have in common, and the alternatives, unless they restrict nothing.
fn insert(fields: &mut Fields, keyword: &str, merged: Merged, place: Place<'_>) -> Result<(), String> {
    let Merged {
        common,
        mut restrictions,
    } = merged;
    for (key, value) in common {
        match (key.as_str(), value) {
            // They are those of a variant.
            ("description" | "default" | "example" | "title" | RUST_TYPE, _) => {}
            // A struct that flattens the enum has fields beside it.
            ("additionalProperties", Value::Bool(false)) if fields.contains_key("properties") => {}
            ("properties", Value::Object(properties)) => insert_properties(fields, properties, place)?,
            ("required", value @ Value::Array(_)) if fields.contains_key("required") => {
                let names = &names(fields.get("required")) | &names(Some(&value));
                fields.insert(key, json!(names));
            }
            (_, value) if is_restriction(&key) => restrict(fields, &key, value),
            (_, value) => {
                fields.entry(key).or_insert(value);
            }
        }
    }
    let restrict_nothing = match keyword {
        // The common schema has the values that any of them lists.
        "allOf" => {
            restrictions.iter_mut().for_each(remove_names);
            restrictions.iter().all(Fields::is_empty)
        }
        _ => restrict_nothing(&restrictions.iter().collect::<Vec<_>>()),
    };
    if !restrict_nothing {
        let schemas = restrictions.drain(..).map(Value::Object);
        restrict(fields, keyword, schemas.collect());
    }
    Ok(())
}

/// Returns whether the alternatives, of which one applies, have only the values of an enum, or of its tag, which are those of the common schema.
fn restrict_nothing(alternatives: &[&Fields]) -> bool {
    let mut nested = Vec::new();
    for fields in alternatives {
        let mut keywords = fields.iter();
        match (keywords.next(), keywords.next()) {
            (None, _) => {}
            (Some((keyword, _)), None) if keyword == "enum" => {}
            (Some((keyword, Value::Object(properties))), None) if keyword == "properties" => {
                nested.push(properties);
            }
            _ => return false,
        }
    }
    let mut names = nested.iter().flat_map(|properties| properties.keys());
    let first = names.next();
    let is_one_field = names.all(|name| Some(name) == first);
    let values: Vec<_> = nested.iter().flat_map(|properties| properties.values()).collect();
    let values: Vec<_> = values.into_iter().filter_map(Value::as_object).collect();
    is_one_field && (values.is_empty() || (values.len() == alternatives.len() && restrict_nothing(&values)))
}

/// Removes the fields that a restriction only names, which shows which of several variants has them.
fn remove_names(restriction: &mut Fields) {
    let Some(Value::Object(properties)) = restriction.get_mut("properties") else {
        return;
    };
    properties
        .values_mut()
        .filter_map(Value::as_object_mut)
        .for_each(remove_names);
    properties.retain(|_, property| *property != json!({}));
    if properties.is_empty() {
        restriction.remove("properties");
    }
}

fn insert_properties(fields: &mut Fields, properties: Fields, place: Place<'_>) -> Result<(), String> {
    // schemars inserts empty schemas for the fields that variants have, beside whether there may be others.
    let are_inserted = fields.contains_key("additionalProperties");
    let own = fields.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(own) = own else { return Ok(()) };
    for (name, property) in properties {
        let existing = own.get(&name);
        if existing.is_none_or(|existing| are_inserted && *existing == json!({})) {
            own.insert(name, property);
        } else if own[&name] != property {
            return Err(format!(
                "{} is a field of {} and of a variant of an enum that it flattens: rename one of them",
                field_path(place.path, &name),
                place.rust_type
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "variants_tests.rs"]
mod tests;
