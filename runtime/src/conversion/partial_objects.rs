//! Objects that lack required fields. In a server-side apply the API server removes the fields that a field manager no longer owns, and
//! converts the object with the other fields, to get their names in other versions.

use kubewright_api_types::{has_variants, one_variant};
use serde_json::{Map, Value};

use super::{
    ConvertError,
    schema_at::SchemaAt,
    version::{ConvertObject, RoundTrip},
};

/// How often an object is converted, with other values of the absent fields. Two may give the same, such as two variants of an enum.
const FILLS: usize = 4;

/// Converts an object that may lack required fields. They get values by the schema, other ones in each of several conversions. The result is what
/// all have in common: a value that depends on an absent field is not in it.
///
/// # Errors
/// That of the object as it is, if it lacks no required field, or cannot be converted with them either.
pub(super) fn convert(
    object: &Map<String, Value>,
    schema: SchemaAt<'_>,
    convert: ConvertObject,
) -> Result<RoundTrip, ConvertError> {
    convert(object).or_else(|error| {
        let completed = (0..FILLS).map_while(|fill| complete(object, schema, fill));
        let converted: Result<Vec<RoundTrip>, ConvertError> =
            completed.map(|object| convert(&object)).collect();
        let converted = converted.unwrap_or_default().into_iter();
        let common = converted.reduce(|one, other| RoundTrip {
            there: common_fields(one.there, &other.there),
            back: common_fields(one.back, &other.back),
        });
        common.ok_or(error)
    })
}

/// Returns the object with all required fields; none if it has them already. `fill` selects one of several values.
fn complete(object: &Map<String, Value>, schema: SchemaAt<'_>, fill: usize) -> Option<Map<String, Value>> {
    let mut object = object.clone();
    complete_fields(&mut object, schema.0?, fill).then_some(object)
}

fn complete_value(value: &mut Value, schema: &Value, fill: usize) -> bool {
    match value {
        Value::Object(fields) => complete_fields(fields, schema, fill),
        Value::Array(elements) => elements.iter_mut().fold(false, |is_changed, element| {
            complete_value(element, &schema["items"], fill) | is_changed
        }),
        _ => false,
    }
}

fn complete_fields(fields: &mut Map<String, Value>, schema: &Value, fill: usize) -> bool {
    let mut is_changed = false;
    for (name, value) in fields.iter_mut() {
        is_changed |= complete_value(
            value,
            SchemaAt(Some(schema)).field(name).0.unwrap_or(&Value::Null),
            fill,
        );
    }
    for name in required(schema) {
        if !fields.contains_key(name) {
            fields.insert(name.to_owned(), value(&schema["properties"][name], fill));
            is_changed = true;
        }
    }
    is_changed
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// Returns a value that decodes as a type with this schema. Ranges, lengths and patterns are not kept: types do not check them.
fn value(schema: &Value, fill: usize) -> Value {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
        let at = fill.checked_rem(values.len());
        return at.map_or(Value::Null, |at| values[at].clone());
    }
    match schema["type"].as_str() {
        Some("boolean") => (fill % 2 == 1).into(),
        Some("integer" | "number") => {
            let minimum = schema["minimum"].as_f64().unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "minimums of types are integers")]
            let minimum = minimum.ceil() as i64;
            minimum.saturating_add_unsigned(fill as u64).into()
        }
        Some("array") => {
            let count = schema["minItems"]
                .as_u64()
                .unwrap_or_default()
                .max(fill as u64 % 2);
            (0..count).map(|_| value(&schema["items"], fill)).collect()
        }
        Some("object") => object(schema, fill),
        _ => text(schema["format"].as_str(), fill).into(),
    }
}

fn object(schema: &Value, fill: usize) -> Value {
    let narrowed = has_variants(schema).then(|| one_variant(schema, |count| fill % count));
    let schema = narrowed.as_ref().unwrap_or(schema);
    let values = &schema["additionalProperties"];
    if values.is_object() {
        let keys = (0..fill % 2).map(|_| "a".to_owned());
        return keys
            .map(|key| (key, value(values, fill)))
            .collect::<Map<_, _>>()
            .into();
    }
    let fields = required(schema).map(|name| (name.to_owned(), value(&schema["properties"][name], fill)));
    fields.collect::<Map<_, _>>().into()
}

fn text(format: Option<&str>, fill: usize) -> String {
    match format {
        Some("date-time") => format!("{}-01-01T00:00:00Z", 2000 + fill),
        // Base64.
        Some("byte") => ["MA==", "MQ==", "Mg==", "Mw=="][fill % FILLS].to_owned(),
        // Also numbers and quantities.
        _ => fill.to_string(),
    }
}

/// Returns what two values have in common. None if they have nothing in common.
fn common(one: Value, other: &Value) -> Option<Value> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let was_empty = one.is_empty() && other.is_empty();
            let common = common_fields(one, other);
            (was_empty || !common.is_empty()).then(|| common.into())
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let was_empty = one.is_empty();
            let elements = one.into_iter().zip(other);
            let common: Vec<Value> = elements.filter_map(|(one, other)| common(one, other)).collect();
            (was_empty || !common.is_empty()).then(|| common.into())
        }
        (one, other) => (one == *other).then_some(one),
    }
}

fn common_fields(one: Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
    let fields = one.into_iter();
    let common = fields.filter_map(|(name, one)| {
        let common = common(one, other.get(&name)?)?;
        Some((name, common))
    });
    common.collect()
}
