//! Merges the schemas that variants of an enum have for one value: what is common to all, and what each variant restricts.

use std::collections::BTreeSet;

use kubewright_api_types::{is_restriction, restrict};
use serde_json::{Value, json};

use super::{
    keywords::{Fields, INT_OR_STRING, KEEPS_UNKNOWN_FIELDS, RULES, field_path, limits_of_format, names},
    references::{BUILT_IN, RUST_TYPE, insert_built_in},
};

/// The formats of numbers. Of those of one type, a later one has all values of an earlier one; the API server does not know the last two.
const NUMBER_FORMATS: [&str; 6] = ["float", "double", "int32", "int64", "uint64", "uint"];

/// The schema that a variant has for the value.
#[derive(Clone)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) schema: Fields,
}

/// What the variants' schemas have in common, with the fields of all, and what each restricts.
pub(super) struct Merged {
    pub(super) common: Fields,
    pub(super) restrictions: Vec<Fields>,
}

/// Two variants have schemas for one value that cannot be merged.
pub(super) struct Conflict {
    pub(super) path: String,
    pub(super) variants: [String; 2],
    pub(super) difference: Difference,
}

/// Why the schemas of two variants cannot be merged.
pub(super) enum Difference {
    /// What the value is in each of the variants.
    Values([String; 2]),
    /// The CEL rules.
    Rules,
}

/// Merges the schemas of the value at a path.
pub(super) fn merge(mut variants: Vec<Variant>, path: &str) -> Result<Merged, Conflict> {
    let is_equal = |pair: &[Variant]| pair[0].schema == pair[1].schema;
    if variants.windows(2).all(is_equal) {
        let restrictions = vec![Fields::new(); variants.len()];
        let common = variants.pop().map(|variant| variant.schema).unwrap_or_default();
        return Ok(Merged { common, restrictions });
    }
    if !all_equal(&variants, BUILT_IN) {
        for variant in &mut variants {
            insert_built_in(&mut variant.schema);
        }
    }
    if keep_any_value(&variants) {
        return Ok(Merged {
            common: Fields::from_iter([(KEEPS_UNKNOWN_FIELDS.to_owned(), true.into())]),
            restrictions: vec![Fields::new(); variants.len()],
        });
    }
    check_values(&variants, path)?;
    let mut merger = Merger {
        common: Fields::new(),
        restrictions: vec![Fields::new(); variants.len()],
        variants: &variants,
        path,
    };
    merger.merge_keywords();
    merger.merge_required();
    merger.merge_properties()?;
    merger.merge_elements()?;
    Ok(Merged {
        common: merger.common,
        restrictions: merger.restrictions,
    })
}

/// Returns what a value is by its schema, for errors. None: the schema has no type.
pub(super) fn kind_of_value(schema: &Fields) -> Option<&'static str> {
    let is_marked = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
    if is_marked(INT_OR_STRING) {
        return Some("an integer or a string");
    }
    let Some(ty) = schema.get("type") else {
        return is_marked(KEEPS_UNKNOWN_FIELDS).then_some("any value");
    };
    Some(match ty.as_str()? {
        "object" if schema.get("additionalProperties").is_some_and(Value::is_object) => "a map",
        "object" => "an object",
        "array" => "a list",
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "a boolean",
        _ => return None,
    })
}

/// Returns whether the value has several kinds.
fn has_several_kinds(variants: &[Variant]) -> bool {
    let mut kinds = variants
        .iter()
        .filter_map(|variant| kind_of_value(&variant.schema));
    let first = kinds.next();
    kinds.any(|kind| Some(kind) != first)
}

/// Returns whether the value has several kinds, and all variants have the mark that accepts them.
fn keep_any_value(variants: &[Variant]) -> bool {
    let is_marked = |variant: &Variant| variant.schema.get(KEEPS_UNKNOWN_FIELDS) == Some(&Value::Bool(true));
    variants.iter().all(is_marked) && has_several_kinds(variants)
}

/// Checks that all variants have the same JSON type, and the same keywords that only a value as a whole can have.
fn check_values(variants: &[Variant], path: &str) -> Result<(), Conflict> {
    let conflict = |one: &Variant, other: &Variant, difference| {
        Err(Conflict {
            path: path.to_owned(),
            variants: [one.name.clone(), other.name.clone()],
            difference,
        })
    };
    let mut typed = variants
        .iter()
        .filter_map(|variant| Some((variant, kind_of_value(&variant.schema)?)));
    if let Some((first, kind)) = typed.next()
        && let Some((other, other_kind)) = typed.find(|(_, other)| *other != kind)
    {
        let values = [kind.to_owned(), other_kind.to_owned()];
        return conflict(first, other, Difference::Values(values));
    }
    let keywords = variants.iter().flat_map(|variant| variant.schema.keys());
    let whole =
        keywords.filter(|keyword| keyword.starts_with("x-kubernetes-") && *keyword != KEEPS_UNKNOWN_FIELDS);
    let is_tuple = |variant: &Variant| variant.schema.get("items").is_some_and(Value::is_array);
    let tuples = variants.iter().any(is_tuple).then_some("items");
    for keyword in whole.map(String::as_str).chain(tuples) {
        let value = |variant: &Variant| variant.schema.get(keyword).cloned();
        let first = &variants[0];
        if let Some(other) = variants.iter().find(|other| value(other) != value(first)) {
            let text = |variant| match value(variant) {
                Some(value) => format!("`{keyword}` {value}"),
                None => format!("no `{keyword}`"),
            };
            let difference = match keyword {
                RULES => Difference::Rules,
                _ => Difference::Values([text(first), text(other)]),
            };
            return conflict(first, other, difference);
        }
    }
    Ok(())
}

/// Returns whether all variants have the same value of a keyword.
fn all_equal(variants: &[Variant], keyword: &str) -> bool {
    variants
        .windows(2)
        .all(|pair| pair[0].schema.get(keyword) == pair[1].schema.get(keyword))
}

struct Merger<'a> {
    common: Fields,
    restrictions: Vec<Fields>,
    variants: &'a [Variant],
    path: &'a str,
}

impl Merger<'_> {
    /// Merges the keywords that have no schemas of fields or elements.
    fn merge_keywords(&mut self) {
        for (at, variant) in self.variants.iter().enumerate() {
            for (keyword, value) in &variant.schema {
                match keyword.as_str() {
                    "properties" | "required" | "items" | "additionalProperties" | "title" => {}
                    // The API server checks formats of numbers only beside a type.
                    "format" if !all_equal(self.variants, keyword) && is_number_format(value) => {
                        self.restrictions[at].extend(
                            limits_of_format(&variant.schema)
                                .map(|(keyword, limit)| (keyword.to_owned(), limit)),
                        );
                    }
                    // The API server would set it in objects of the other variants.
                    "default" | "example" | RUST_TYPE if !all_equal(self.variants, keyword) => {}
                    keyword if !is_restriction(keyword) || all_equal(self.variants, keyword) => {
                        self.common.entry(keyword).or_insert_with(|| value.clone());
                    }
                    keyword => {
                        self.restrictions[at].insert(keyword.to_owned(), value.clone());
                    }
                }
            }
        }
        if let Some(format) = self.widest_format() {
            self.common.insert("format".to_owned(), format.into());
        }
        let enums = self.variants.iter().map(|variant| variant.schema.get("enum"));
        if let Some(enums) = enums.collect::<Option<Vec<_>>>() {
            let mut values: Vec<Value> = Vec::new();
            for value in enums.into_iter().filter_map(Value::as_array).flatten() {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            self.common.insert("enum".to_owned(), values.into());
        }
    }

    /// Returns the format of numbers that has the values of all variants' formats.
    fn widest_format(&self) -> Option<&'static str> {
        let position = |format: &str| NUMBER_FORMATS.iter().position(|other| *other == format);
        let formats = self
            .variants
            .iter()
            .map(|variant| position(variant.schema.get("format")?.as_str()?));
        let widest = formats.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(NUMBER_FORMATS[widest])
    }

    fn merge_required(&mut self) {
        let names = |variant: &Variant| names(variant.schema.get("required"));
        let mut required = self.variants.iter().map(names);
        let first = required.next().unwrap_or_default();
        let common: BTreeSet<String> = required.fold(first, |common, names| &common & &names);
        for (variant, restrictions) in self.variants.iter().zip(&mut self.restrictions) {
            let own = &names(variant) - &common;
            if !own.is_empty() {
                restrictions.insert("required".to_owned(), json!(own));
            }
        }
        if !common.is_empty() {
            self.common.insert("required".to_owned(), json!(common));
        }
    }

    fn merge_properties(&mut self) -> Result<(), Conflict> {
        let mut names: Vec<&String> = Vec::new();
        for name in self
            .variants
            .iter()
            .flat_map(|variant| properties(&variant.schema))
            .map(|(name, _)| name)
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut merged = Fields::new();
        for name in &names {
            merged.insert((*name).clone(), self.merge_property(name)?.into());
        }
        if !merged.is_empty() {
            self.common.insert("properties".to_owned(), merged.into());
        }
        self.exclude_unknown(&names);
        Ok(())
    }

    /// Merges a field. If the restrictions of a variant name it, those of all variants in which it is optional do, so that they show which variants
    /// have the field.
    fn merge_property(&mut self, name: &str) -> Result<Fields, Conflict> {
        let having: Vec<(usize, Variant)> = self
            .variants
            .iter()
            .enumerate()
            .filter_map(|(at, variant)| {
                let property = variant.schema.get("properties")?.get(name)?;
                let property = Variant {
                    name: variant.name.clone(),
                    schema: property.as_object().cloned().unwrap_or_default(),
                };
                Some((at, property))
            })
            .collect();
        let is_in_all = having.len() == self.variants.len();
        let (at, schemas): (Vec<usize>, Vec<Variant>) = having.into_iter().unzip();
        let mut property = merge(schemas, &field_path(self.path, name))?;
        if !is_in_all {
            property.common.remove("default");
        }
        // The API server does not accept restrictions of a field of this name.
        if name == "metadata" {
            return Ok(property.common);
        }
        let is_required = |fields: &Fields| names(fields.get("required")).contains(name);
        let is_restricted = property.restrictions.iter().any(|fields| !fields.is_empty())
            || self.restrictions.iter().any(is_required);
        let is_named_if_optional = (!is_in_all || is_restricted) && !is_required(&self.common);
        for (at, restriction) in at.into_iter().zip(property.restrictions) {
            let restrictions = &mut self.restrictions[at];
            if !restriction.is_empty() || (is_named_if_optional && !is_required(restrictions)) {
                let properties = restrictions.entry("properties").or_insert_with(|| json!({}));
                properties[name] = restriction.into();
            }
        }
        Ok(property.common)
    }

    /// Excludes the fields of other variants from those that deny unknown fields. If all do, so does the enum: where it is a field in variants of
    /// another enum, it excludes the fields that others have there.
    fn exclude_unknown(&mut self, names: &[&String]) {
        let denies =
            |variant: &Variant| variant.schema.get("additionalProperties") == Some(&Value::Bool(false));
        if !names.is_empty() && self.variants.iter().all(denies) {
            self.common
                .insert("additionalProperties".to_owned(), false.into());
        }
        for (variant, restrictions) in self.variants.iter().zip(&mut self.restrictions) {
            if !denies(variant) {
                continue;
            }
            let known: Vec<&String> = properties(&variant.schema).map(|(name, _)| name).collect();
            let unknown = names.iter().filter(|name| !known.contains(name));
            let mut excluded: Vec<Value> = unknown.map(|name| json!({ "required": [name] })).collect();
            match excluded.len() {
                0 => {}
                1 => restrict(restrictions, "not", excluded.remove(0)),
                _ => restrict(restrictions, "not", json!({ "anyOf": excluded })),
            }
        }
    }

    /// Merges the elements of lists and maps. Restrictions cannot contain those of a map's values.
    fn merge_elements(&mut self) -> Result<(), Conflict> {
        let path = format!("{}[]", self.path);
        for keyword in ["items", "additionalProperties"] {
            let mut at = Vec::new();
            let mut schemas = Vec::new();
            for (index, variant) in self.variants.iter().enumerate() {
                match variant.schema.get(keyword) {
                    Some(Value::Object(schema)) => {
                        at.push(index);
                        schemas.push(Variant {
                            name: variant.name.clone(),
                            schema: schema.clone(),
                        });
                    }
                    // Equal tuples, or whether unknown fields are kept.
                    Some(Value::Bool(false)) | None => {}
                    Some(value) => {
                        self.common.insert(keyword.to_owned(), value.clone());
                    }
                }
            }
            if schemas.is_empty() {
                continue;
            }
            let elements = merge(schemas, &path)?;
            self.common.insert(keyword.to_owned(), elements.common.into());
            for (at, restriction) in at.into_iter().zip(elements.restrictions) {
                if keyword == "items" && !restriction.is_empty() {
                    self.restrictions[at].insert(keyword.to_owned(), restriction.into());
                }
            }
        }
        Ok(())
    }
}

fn is_number_format(format: &Value) -> bool {
    format
        .as_str()
        .is_some_and(|format| NUMBER_FORMATS.contains(&format))
}

fn properties(schema: &Fields) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}
