//! Go's formatting of JSON values and type names, for error messages.

use serde_json::Value;
use std::fmt::Write as _;

/// Formats the value like `%v`: `map[a:1 b:[x y]]`.
#[must_use]
pub fn show(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::String(string) => text.push_str(string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => show_map(text, fields),
        Value::Number(number) if !number.is_i64() => {
            text.push_str(&float(number.as_f64().unwrap_or_default()));
        }
        // Writing to a string cannot fail.
        other => drop(write!(text, "{other}")),
    }
}

fn show_map(text: &mut String, fields: &serde_json::Map<String, Value>) {
    // Go sorts map keys when it prints; serde_json's map is sorted, too, unless its `preserve_order` feature is on.
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort();
    text.push_str("map[");
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(name);
        text.push(':');
        write_value(text, &fields[name]);
    }
    text.push(']');
}

/// Formats a float like `%v`: large and small ones with an exponent.
pub(crate) fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    match exponent {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => number.to_string(),
    }
}

/// The name of the Go type that the value is decoded into.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if !number.is_i64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
