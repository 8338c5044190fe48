//! Path elements: the steps of a path to a field.

use crate::types::floats_to_integers;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// One element of a path: a field of an object, or an item of a list.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field.
    Field(String),
    /// The item with these values in the list's key fields.
    Key(BTreeMap<String, Value>),
    /// The item with this value.
    Value(Value),
    /// The item at this index.
    Index(i64),
}

impl PathElement {
    /// Encodes the element as a key of `fieldsV1`.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => format!("k:{}", escaped(&json!(fields))),
            Self::Value(value) => {
                let mut value = value.clone();
                floats_to_integers(&mut value);
                format!("v:{}", escaped(&value))
            }
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Decodes a key of `fieldsV1`; none if it is malformed.
    pub fn decode(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once(':')?;
        Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(serde_json::from_str(rest).ok()?),
            "k" => Self::Key(serde_json::from_str(rest).ok()?),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

/// JSON with Go's HTML escaping.
pub(super) fn escaped(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out
}

impl fmt::Display for PathElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(fields) => {
                formatter.write_str("[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(formatter, "{comma}{name}={}", show(value))?;
                }
                formatter.write_str("]")
            }
            Self::Value(value) => write!(formatter, "[={}]", show(value)),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// Formats a value within a path.
fn show(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", show(value)))
                .collect();
            fields.concat()
        }
        other => other.to_string(),
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |element: &Self| match element {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        };
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_fields(left.iter(), right.iter()),
            (Self::Value(left), Self::Value(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// Orders values: numbers (integers and floats by value), strings, booleans, lists, objects, null.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left
                .as_f64()
                .partial_cmp(&right.as_f64())
                .unwrap_or(Ordering::Equal),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let items = left.iter().zip(right).map(|(left, right)| compare(left, right));
            first_difference(items).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => compare_fields(left.iter(), right.iter()),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_fields<'a>(
    left: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
    right: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    let fields = left
        .zip(right)
        .map(|((name, value), (other_name, other))| name.cmp(other_name).then_with(|| compare(value, other)));
    first_difference(fields).then(lengths)
}

fn first_difference(mut orderings: impl Iterator<Item = Ordering>) -> Ordering {
    orderings
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}
