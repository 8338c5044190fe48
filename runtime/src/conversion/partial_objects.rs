//! Objects that lack required fields. In a server-side apply the API server removes the fields that a field manager no longer owns, and
//! converts the object with the other fields, to get their names in other versions.

use kubewright_api_types::{allowed_values, has_variants, one_variant, strings};
use serde_json::{Map, Value};

use super::{
    ConvertError,
    schema_at::SchemaAt,
    version::{ConvertObject, RoundTrip},
};
use crate::{panics::caught_silently, random_values::Random};

/// How often an object is completed and converted, with other values of the absent fields each time.
const COMPLETIONS: u32 = 32;

/// How many of these conversions must succeed: a few may have the same value of an absent field by chance. It is no more, because types that
/// parse texts accept few.
const MIN_CONVERTED: usize = 4;

/// If none of so many conversions succeeds, the object itself is the reason.
const MAX_FAILED: usize = 8;

/// How many variants of an enum are tried until one has all fields of an object.
const VARIANT_ATTEMPTS: usize = 64;

/// Converts an object that lacks required fields, and so failed with `error`. They get values by the schema, other ones in each of several
/// conversions. The result is what all that succeed have in common: values that depend on an absent field differ, and are not in it. One that
/// is the same with all these values is in it, such as the result of a function that uses the field only in rare cases.
///
/// # Errors
/// `error` if the object lacks no required field, or if too few conversions succeed; but the error of all conversions if they have the
/// same, which is that of a field that the object has.
pub(super) fn convert(
    object: &Map<String, Value>,
    schema: SchemaAt<'_>,
    convert: ConvertObject,
    error: ConvertError,
) -> Result<Map<String, Value>, ConvertError> {
    let mut converted = Vec::new();
    let mut errors = Vec::new();
    for number in 0..COMPLETIONS {
        let Some(completed) = complete(object, schema, number) else {
            return Err(error);
        };
        match caught_silently(|| convert(&completed)) {
            Ok(Ok(RoundTrip { there, .. })) => converted.push(there),
            Ok(Err(error)) => errors.push(error),
            // The function does not expect such a value.
            Err(_) => {}
        }
        if converted.is_empty() && number as usize >= MAX_FAILED {
            break;
        }
    }
    if converted.len() >= MIN_CONVERTED {
        let common = converted.into_iter().reduce(common_fields);
        return common.ok_or(error);
    }
    let is_same = converted.is_empty() && errors.windows(2).all(|pair| pair[0] == pair[1]);
    Err(errors.pop().filter(|_| is_same).unwrap_or(error))
}

/// Returns the object with all required fields; none if it has them already. `number` selects one of several values of each.
fn complete(object: &Map<String, Value>, schema: SchemaAt<'_>, number: u32) -> Option<Map<String, Value>> {
    let mut object = object.clone();
    let random = Random::new(number.into()).with_numbers_as_texts(number);
    let mut completion = Completion {
        // Without optional fields in some: types may refuse them more often.
        random: random.with_optional_depth(number as usize / 8),
        is_changed: false,
    };
    completion.complete_fields(&mut object, schema.0?);
    completion.is_changed.then_some(object)
}

struct Completion {
    random: Random,
    is_changed: bool,
}

impl Completion {
    fn complete(&mut self, value: &mut Value, schema: &Value) {
        match value {
            Value::Object(fields) => self.complete_fields(fields, schema),
            Value::Array(elements) => {
                for element in elements {
                    self.complete(element, &schema["items"]);
                }
            }
            _ => {}
        }
    }

    fn complete_fields(&mut self, fields: &mut Map<String, Value>, schema: &Value) {
        let variant = has_variants(schema).then(|| self.variant_of(fields, schema));
        let schema = variant.as_ref().unwrap_or(schema);
        for (name, value) in fields.iter_mut() {
            if let Some(schema) = SchemaAt(Some(schema)).field(name).0 {
                self.complete(value, schema);
            }
        }
        for name in strings(schema.get("required")) {
            if !fields.contains_key(name) {
                let value = self.random.value(&schema["properties"][name]);
                fields.insert(name.to_owned(), value);
                self.is_changed = true;
            }
        }
    }

    /// Returns the schema of a variant that has all fields of the object, or of any if none was found.
    fn variant_of(&mut self, fields: &Map<String, Value>, schema: &Value) -> Value {
        let mut variants =
            (0..VARIANT_ATTEMPTS).map(|_| one_variant(schema, |count| self.random.below(count)));
        let found = variants.find(|variant| {
            let has_field = |(name, value): (&String, &Value)| {
                let property = SchemaAt(Some(variant)).field(name).0;
                property.is_some_and(|property| allows(property, value))
            };
            variant["x-kubernetes-preserve-unknown-fields"] == true || fields.iter().all(has_field)
        });
        found.unwrap_or_else(|| one_variant(schema, |count| self.random.below(count)))
    }
}

/// Whether a value may be one of the schema, by its type and the values that the schema lists, as those of a tag.
fn allows(schema: &Value, value: &Value) -> bool {
    let is_listed = allowed_values(schema).is_none_or(|values| values.contains(&value));
    let has_type = match (schema["type"].as_str(), value) {
        (None, _) | (_, Value::Null) => true,
        (Some(name), Value::Object(_)) => name == "object",
        (Some(name), Value::Array(_)) => name == "array",
        (Some(name), Value::String(_)) => name == "string",
        (Some(name), Value::Bool(_)) => name == "boolean",
        (Some(name), Value::Number(_)) => matches!(name, "integer" | "number"),
    };
    value.is_null() || is_listed && has_type
}

/// Returns what two values have in common. None if they have nothing in common.
fn common(one: Value, other: Value) -> Option<Value> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let was_empty = one.is_empty() && other.is_empty();
            let common = common_fields(one, other);
            (was_empty || !common.is_empty()).then(|| common.into())
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let elements = one.into_iter().zip(other);
            // All elements have something in common: they have no identity but their place.
            elements
                .map(|(one, other)| common(one, other))
                .collect::<Option<Vec<Value>>>()
                .map(Value::from)
        }
        (one, other) => (one == other).then_some(one),
    }
}

fn common_fields(one: Map<String, Value>, mut other: Map<String, Value>) -> Map<String, Value> {
    let fields = one.into_iter();
    let common = fields.filter_map(|(name, one)| {
        let common = common(one, other.remove(&name)?)?;
        Some((name, common))
    });
    common.collect()
}
