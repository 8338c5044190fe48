//! A generator of values of a schema.

use kubewright_api_types::{allowed_values, has_variants, one_variant, strings};
use serde_json::{Map, Value, json};

/// Longest list, map or repetition, unless the schema wants a longer one.
pub(super) const MAX_ITEMS: usize = 3;

/// A generator of values: the same seed gives the same values.
pub struct Random {
    state: u64,
    has_unknown_fields: bool,
    /// What texts without a pattern and a format are; words if none.
    pub(super) text_style: Option<TextStyle>,
    /// Down to which depth objects have optional fields.
    optional_depth: usize,
    depth: usize,
}

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed,
            has_unknown_fields: false,
            text_style: None,
            optional_depth: usize::MAX,
            depth: 0,
        }
    }

    /// Makes texts that types which check more than their schema are likely to accept. If the bit of a text in `mask` is 0, it is a number;
    /// otherwise two with a separator. With the masks from 0 to 31, all combinations of five successive texts occur.
    pub(crate) fn with_numbers_as_texts(mut self, mask: u32) -> Self {
        self.text_style = Some(TextStyle { mask, made: 0 });
        self
    }

    /// Makes optional fields only in objects that are in fewer than `depth` others: smaller values.
    pub(crate) fn with_optional_depth(mut self, depth: usize) -> Self {
        self.optional_depth = depth;
        self
    }

    /// Adds fields to some objects that the schema does not have, as if the API server did not prune them.
    #[cfg(test)]
    pub(crate) fn with_unknown_fields(mut self) -> Self {
        self.has_unknown_fields = true;
        self
    }

    /// Returns a number below `limit` (splitmix64).
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap_or_default()
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    #[cfg(test)]
    pub(crate) fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.below(last + 1));
        }
    }

    /// Returns a value that the schema accepts. CEL rules, `not`, and alternatives of values that are not objects, are not evaluated.
    pub fn value(&mut self, schema: &Value) -> Value {
        if schema["nullable"] == true && self.one_in(3) {
            return Value::Null;
        }
        if let Some(values) = allowed_values(schema) {
            let values: Vec<_> = values.into_iter().filter(|value| !value.is_null()).collect();
            return if values.is_empty() {
                Value::Null
            } else {
                (*self.pick(&values)).clone()
            };
        }
        let is_int_or_string = schema["x-kubernetes-int-or-string"] == true;
        match schema["type"].as_str() {
            Some("object") => {
                self.depth += 1;
                let object = self.object(schema);
                self.depth -= 1;
                object
            }
            Some("array") => self.array(schema),
            Some("string") => self.string(schema).into(),
            Some("integer") => self.integer(schema).into(),
            Some("number") => self.number(schema),
            Some("boolean") => self.one_in(2).into(),
            // Quantities are strings in Rust.
            _ if is_int_or_string && (schema.get("pattern").is_some() || self.one_in(2)) => {
                self.string(schema).into()
            }
            _ if is_int_or_string => self.integer(schema).into(),
            _ => self.anything(3),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            let keys = ["x", "y", "z/w"].map(str::to_owned).into_iter();
            let keys = keys.chain((3..).map(|number| format!("key-{number}")));
            let count = self.count(schema, "minProperties", "maxProperties");
            let entries = keys.take(count).map(|key| (key, self.value(values)));
            return entries.collect::<Map<_, _>>().into();
        }
        // An enum with data: one of its variants.
        let is_variant = has_variants(schema);
        let narrowed = is_variant.then(|| one_variant(schema, |count| self.below(count)));
        let schema = narrowed.as_ref().unwrap_or(schema);
        let mut fields = Map::new();
        let required = strings(schema.get("required")).collect::<Vec<_>>();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || (self.depth <= self.optional_depth && self.one_in(2)) {
                fields.insert(name.clone(), self.value(property));
            }
        }
        if schema["x-kubernetes-embedded-resource"] == true {
            for (name, value) in [
                ("apiVersion", json!("v1")),
                ("kind", json!("ConfigMap")),
                ("metadata", json!({"name": "a"})),
            ] {
                fields.insert(name.to_owned(), value);
            }
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == true
            && let Value::Object(unknown) = self.anything(3)
        {
            for (name, value) in unknown {
                fields.entry(name).or_insert(value);
            }
        }
        if self.has_unknown_fields && !is_variant && self.one_in(8) {
            fields.insert("unknown".to_owned(), self.anything(2));
        }
        fields.into()
    }

    fn array(&mut self, schema: &Value) -> Value {
        let keys = strings(schema.get("x-kubernetes-list-map-keys")).collect::<Vec<_>>();
        let is_set = schema["x-kubernetes-list-type"] == "set" || schema["uniqueItems"] == true;
        let mut elements: Vec<Value> = Vec::new();
        let count = self.count(schema, "minItems", "maxItems");
        // Equal elements are left out, and are likely.
        for _ in 0..count.saturating_mul(4) {
            if elements.len() == count {
                break;
            }
            let element = self.value(&schema["items"]);
            let has_key = |other: &Value| keys.iter().all(|key| other[key] == element[key]);
            let is_equal =
                |other: &Value| (is_set && *other == element) || (!keys.is_empty() && has_key(other));
            if !elements.iter().any(is_equal) {
                elements.push(element);
            }
        }
        elements.into()
    }

    /// Returns a count within two limits of the schema.
    fn count(&mut self, schema: &Value, least: &str, most: &str) -> usize {
        let limit = |key: &str| schema[key].as_u64().and_then(|limit| usize::try_from(limit).ok());
        let least = limit(least).unwrap_or(0);
        let most = limit(most)
            .unwrap_or(usize::MAX)
            .min(least.saturating_add(MAX_ITEMS));
        least + self.below(most.saturating_sub(least) + 1)
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        let (least, most) = match schema["format"].as_str() {
            Some("int8") => (i8::MIN.into(), i8::MAX.into()),
            Some("int16") => (i16::MIN.into(), i16::MAX.into()),
            Some("int32") => (i32::MIN.into(), i32::MAX.into()),
            Some("uint8") => (0, u8::MAX.into()),
            Some("uint16") => (0, u16::MAX.into()),
            Some("uint32") => (0, u32::MAX.into()),
            Some("uint" | "uint64") => (0, i64::MAX),
            _ => (i64::MIN, i64::MAX),
        };
        let excluded = |key: &str| i64::from(schema[key] == true);
        let least = bound(&schema["minimum"]).map_or(least, |bound| {
            bound.saturating_add(excluded("exclusiveMinimum")).max(least)
        });
        let most = bound(&schema["maximum"]).map_or(most, |bound| {
            bound.saturating_sub(excluded("exclusiveMaximum")).min(most)
        });
        let small = i64::try_from(self.below(3)).unwrap_or_default();
        let value = match self.below(8) {
            0 => least,
            1 => most,
            _ => small.saturating_add(least.max(0)),
        };
        let value = value.clamp(least, most.max(least));
        match bound(&schema["multipleOf"]) {
            Some(step) if step > 0 => {
                let multiple = value.saturating_sub(value.rem_euclid(step));
                if multiple < least {
                    multiple.saturating_add(step)
                } else {
                    multiple
                }
            }
            _ => value,
        }
    }

    fn number(&mut self, schema: &Value) -> Value {
        let value: f64 = *self.pick(&[1.0, 1.5, 0.25, 7.0]);
        let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
        let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
        let value = value.clamp(least, most.max(least));
        // As the API server writes it.
        #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
        if value.fract() == 0.0 && value.abs() < 1e9 {
            return (value as i64).into();
        }
        value.into()
    }

    /// Returns an object without a schema.
    fn anything(&mut self, depth: usize) -> Value {
        let mut fields = Map::new();
        for name in ["name", "k", "l"] {
            let value = match self.below(5) {
                0 => Value::Null,
                1 if depth > 0 => self.anything(depth - 1),
                2 if depth > 0 => json!([self.anything(depth - 1), self.anything(depth - 1)]),
                3 => json!(self.below(3)),
                _ => continue,
            };
            fields.insert(name.to_owned(), value);
        }
        fields.into()
    }
}

/// See [`Random::with_numbers_as_texts`].
pub(super) struct TextStyle {
    mask: u32,
    made: u32,
}

impl TextStyle {
    /// Whether the next text is a number.
    pub(super) fn next_is_number(&mut self) -> bool {
        let bit = self.made % 5;
        self.made += 1;
        (self.mask >> bit).is_multiple_of(2)
    }
}

/// Returns a limit of integers, which schemas may have as a float.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn bound(limit: &Value) -> Option<i64> {
    limit
        .as_i64()
        .or_else(|| limit.as_f64().map(|limit| limit as i64))
}

#[cfg(test)]
#[path = "random_tests.rs"]
mod tests;
