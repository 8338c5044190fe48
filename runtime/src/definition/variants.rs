//! Lifts the fields of an enum's variants to the enum, and leaves in `oneOf` and `anyOf` what each variant restricts.
//!
//! schemars makes `oneOf` of tagged enums, `anyOf` of untagged ones, and `allOf` of several enums that a struct flattens.

use serde_json::{Value, json};

use super::{
    keywords::{
        Fields, INT_OR_STRING, KEEPS_UNKNOWN_FIELDS, field_path, is_restriction, only_restricts, restrict,
        strings,
    },
    merge::{Conflict, Merged, Variant, kind_of_value, merge},
    references::RUST_TYPE,
    structural::Place,
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
    if has_several_kinds(&variants) {
        if fields.get(KEEPS_UNKNOWN_FIELDS) == Some(&Value::Bool(true)) {
            return Ok(());
        }
        if keyword == "anyOf" && lift_int_or_string(fields, &variants) {
            return Ok(());
        }
    }
    let merged = merge(variants, place.path).map_err(|conflict| explain(&conflict, keyword, place))?;
    insert(fields, keyword, merged, place)
}

fn is_null(schema: &Fields) -> bool {
    schema.get("enum").is_some_and(|values| *values == json!([null]))
}

/// Returns whether each variant is an object with one field, the variant's name: what serde makes of an enum without attributes.
fn is_externally_tagged(schemas: &[Fields]) -> bool {
    let names: Vec<_> = schemas.iter().filter_map(only_field).collect();
    let is_unique = |name| names.iter().filter(|other| *other == name).count() == 1;
    names.len() == schemas.len() && names.iter().all(is_unique)
}

fn only_field(schema: &Fields) -> Option<&str> {
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
fn variant_name(schema: &Fields) -> Option<String> {
    if let Some(title) = schema.get("title").and_then(Value::as_str) {
        return Some(title.to_owned());
    }
    let tag = |schema: &Value| match schema.get("enum")?.as_array()?.as_slice() {
        [Value::String(tag)] => Some(tag.clone()),
        _ => None,
    };
    let mut required = strings(schema.get("required")).into_iter();
    required
        .find_map(|name| tag(schema.get("properties")?.get(&name)?))
        .or_else(|| only_field(schema).map(str::to_owned))
}

fn has_several_kinds(variants: &[Variant]) -> bool {
    let mut kinds = variants
        .iter()
        .filter_map(|variant| kind_of_value(&variant.schema));
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}

/// Lifts untagged variants that are integers and strings, if nothing restricts them but what applies to one of the two.
fn lift_int_or_string(fields: &mut Fields, variants: &[Variant]) -> bool {
    let [one, other] = variants else { return false };
    let kinds = [&one.schema, &other.schema].map(kind_of_value);
    let is_restricted = |variant: &Variant| variant.schema.contains_key("enum");
    let is_either = matches!(
        kinds,
        [Some("an integer"), Some("a string")] | [Some("a string"), Some("an integer")]
    );
    if !is_either || variants.iter().any(is_restricted) {
        return false;
    }
    for (keyword, value) in variants.iter().flat_map(|variant| &variant.schema) {
        if is_restriction(keyword) && keyword != "format" {
            restrict(fields, keyword, value.clone());
        }
    }
    fields.insert(INT_OR_STRING.to_owned(), true.into());
    fields.insert(
        "anyOf".to_owned(),
        json!([{"type": "integer"}, {"type": "string"}]),
    );
    true
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
            ("properties", Value::Object(properties)) => insert_properties(fields, properties, place)?,
            ("required", value @ Value::Array(_)) if fields.contains_key("required") => {
                let names = &strings(fields.get("required")) | &strings(Some(&value));
                fields.insert(key, json!(names));
            }
            (_, value) if is_restriction(&key) => restrict(fields, &key, value),
            (_, value) => {
                fields.entry(key).or_insert(value);
            }
        }
    }
    if !restrict_nothing(&restrictions.iter().collect::<Vec<_>>()) {
        let schemas = restrictions.drain(..).map(Value::Object);
        restrict(fields, keyword, schemas.collect());
    }
    Ok(())
}

/// Returns whether the alternatives have only the values of an enum, or of its tag, which are those of the common schema.
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

fn insert_properties(fields: &mut Fields, properties: Fields, place: Place<'_>) -> Result<(), String> {
    let own = fields.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(own) = own else { return Ok(()) };
    for (name, property) in properties {
        let existing = own.get(&name).and_then(Value::as_object);
        // schemars inserts empty schemas for the fields that variants have.
        if existing.is_none_or(Fields::is_empty) {
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

/// Returns the error of variants that have no common schema.
fn explain(conflict: &Conflict, keyword: &str, place: Place<'_>) -> String {
    let Conflict {
        path,
        variants: [one, other],
        values: [value, other_value],
    } = conflict;
    let Place { rust_type, .. } = place;
    let is_whole_value = path == place.path;
    if is_whole_value && keyword == "oneOf" && (value == "a string") != (other_value == "a string") {
        return format!(
            "{path}: enum {rust_type} has variants with and without data, and a schema of a custom resource has one type for all: give each \
             variant data (`Name {{}}`), or none"
        );
    }
    let fix = if is_whole_value {
        "give all variants named fields and the enum a tag, as with `#[serde(tag = \"type\")]`, or accept any value with \
         `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` at the enum"
    } else {
        "give the field one type in both, or rename it in one; with `#[serde(content = …)]`, give both variants named fields"
    };
    format!(
        "{path} has different schemas in the variants {one} and {other} of enum {rust_type} ({value}, {other_value}), and a schema of a custom \
         resource has one for all: {fix}"
    )
}

#[cfg(test)]
#[path = "variants_tests.rs"]
mod tests;
