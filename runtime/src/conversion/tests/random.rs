//! Random objects of a schema.

use serde_json::{Map, Value, json};

/// A generator of numbers: the same seed gives the same object.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `limit` (splitmix64).
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns a value that the schema accepts. Objects may have fields that it does not know, as types can lack some of the schema.
    pub(super) fn value(&mut self, schema: &Value) -> Value {
        if schema["nullable"] == true && self.one_in(3) {
            return Value::Null;
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
            return (*self.pick(&values)).clone();
        }
        match schema["type"].as_str().unwrap() {
            "object" if schema["x-kubernetes-preserve-unknown-fields"] == true => self.anything(3),
            "object" => self.object(schema),
            "array" => self.array(schema),
            "string" if schema["format"] == "date-time" => json!("2026-01-02T03:04:05Z"),
            "string" => json!(self.pick(&["", "a", "b", "c:1"])),
            "integer" => json!(self.below(3)),
            "number" => self.pick(&[json!(1), json!(1.5), json!(0.25)]).clone(),
            "boolean" => json!(self.one_in(2)),
            other => panic!("no values of type {other}"),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        if let Some(values) = schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            let count = self.below(3);
            let names = ["x", "y", "z/w"];
            return (0..count)
                .map(|at| (names[at].to_owned(), self.value(values)))
                .collect::<Map<_, _>>()
                .into();
        }
        let mut required: Vec<&str> = strings(&schema["required"]);
        let variants = schema["oneOf"].as_array();
        if let Some(variants) = variants {
            required = strings(&self.pick(variants)["required"]);
        }
        let mut fields = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if is_required || (variants.is_none() && self.one_in(2)) {
                fields.insert(name.clone(), self.value(schema));
            }
        }
        if variants.is_none() && self.one_in(8) {
            fields.insert("unknown".to_owned(), self.anything(2));
        }
        fields.into()
    }

    fn array(&mut self, schema: &Value) -> Value {
        let keys = strings(&schema["x-kubernetes-list-map-keys"]);
        let mut elements: Vec<Value> = Vec::new();
        for _ in 0..self.below(4) {
            let element = self.value(&schema["items"]);
            let has_key = |other: &Value| keys.iter().all(|key| other[key] == element[key]);
            if keys.is_empty() || !elements.iter().any(has_key) {
                elements.push(element);
            }
        }
        elements.into()
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

    pub(super) fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.below(last + 1));
        }
    }
}

fn strings(values: &Value) -> Vec<&str> {
    values
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
