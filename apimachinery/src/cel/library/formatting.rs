//! The function `format`.

use super::conversions::text_of;
use super::string_format::{self, Clause, Form, Mismatch};
use crate::cel::functions::{add, operands};
use crate::cel::type_values;
use crate::go_format;
use crate::quote::quoted;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};
use std::fmt::Write as _;

/// The digits behind the point, if a clause does not say how many.
const PRECISION: usize = 6;
/// The most digits that are written.
const MAX_PRECISION: usize = 1000;

/// Adds the function.
pub(super) fn register(context: &mut Context<'_>) {
    add(context, "format", format);
}

fn format(call: &mut FunctionContext<'_, '_>) -> Result<Value, ExecutionError> {
    let operands = operands(call)?;
    let [Value::String(format), Value::List(arguments)] = &operands[..] else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let text = string_format::replace(format, arguments.len(), |clause| {
        write(clause, &arguments[clause.argument])
    });
    let text = text.map_err(|(_, why)| ExecutionError::function_error("@format", why))?;
    Ok(Value::String(text.into()))
}

fn write(clause: Clause, value: &Value) -> Result<String, Mismatch> {
    let precision = clause.precision.unwrap_or(PRECISION).min(MAX_PRECISION);
    let written = match (clause.form, value) {
        (Form::Text, value) => return text(value),
        (Form::Decimal, Value::Int(number)) => number.to_string(),
        (Form::Decimal, Value::UInt(number)) => number.to_string(),
        (Form::Binary, Value::Int(number)) => signed(*number, |number| format!("{number:b}")),
        (Form::Binary, Value::UInt(number)) => format!("{number:b}"),
        (Form::Binary, Value::Bool(truth)) => u8::from(*truth).to_string(),
        (Form::Octal, Value::Int(number)) => signed(*number, |number| format!("{number:o}")),
        (Form::Octal, Value::UInt(number)) => format!("{number:o}"),
        (Form::Hex { is_upper }, value) => {
            let hex = match value {
                Value::Int(number) => signed(*number, |number| format!("{number:x}")),
                Value::UInt(number) => format!("{number:x}"),
                Value::String(text) => of_bytes(text.as_bytes()),
                Value::Bytes(bytes) => of_bytes(bytes),
                _ => return Err(mismatch(clause.form, value)),
            };
            if is_upper { hex.to_uppercase() } else { hex }
        }
        (Form::Fixed | Form::Scientific, value) => {
            let number = match value {
                Value::Float(number) => *number,
                Value::String(text) => match text.as_str() {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    _ => return Err(mismatch(clause.form, value)),
                },
                _ => return Err(mismatch(clause.form, value)),
            };
            if !number.is_finite() {
                let sign = if number < 0.0 { "-" } else { "" };
                if number.is_nan() {
                    "NaN".to_owned()
                } else {
                    format!("{sign}∞")
                }
            } else if clause.form == Form::Fixed {
                grouped(&format!("{number:.precision$}"))
            } else {
                scientific(&format!("{number:.precision$e}"))
            }
        }
        (form, value) => return Err(mismatch(form, value)),
    };
    Ok(written)
}

fn mismatch(form: Form, value: &Value) -> Mismatch {
    (None, form.mismatch(type_values::name_of(value)))
}

fn signed(number: i64, write: fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", write(number.unsigned_abs()))
}

fn of_bytes(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes commas between groups of three digits, as in English.
fn grouped(number: &str) -> String {
    let (sign, number) = number
        .strip_prefix('-')
        .map_or(("", number), |number| ("-", number));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut grouped = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if !fraction.is_empty() {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// Writes an exponent of at least two digits as a power of ten.
fn scientific(number: &str) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let (digits, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(("", exponent), |exponent| ("⁻", exponent));
    let exponent = format!("{exponent:0>2}");
    let power = exponent
        .chars()
        .filter_map(|digit| DIGITS.get(digit.to_digit(10)? as usize));
    format!("{digits}×10{sign}{}", power.collect::<String>())
}

fn text(value: &Value) -> Result<String, Mismatch> {
    Ok(match value {
        Value::List(_) | Value::Map(_) => literal(value)?,
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err((
                None,
                "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string"
                    .to_owned(),
            )),
        },
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Duration(_) | Value::Float(_) | Value::Timestamp(_) => {
            text_of(value).unwrap_or_default()
        }
        value => match type_values::type_named_by(value) {
            Some(name) => name.to_owned(),
            None => return Err(mismatch(Form::Text, value)),
        },
    })
}

/// Writes a value within a list or map, as expressions would write it.
fn literal(value: &Value) -> Result<String, Mismatch> {
    Ok(match value {
        Value::List(items) => {
            let items = items.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut entries = vec![];
            for (key, value) in map.map.iter() {
                entries.push((literal(&Value::from(key))?, literal(value)?));
            }
            entries.sort();
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::String(text) => quoted(text),
        Value::Bytes(_) => format!("b{}", quoted(&text(value)?)),
        Value::Float(number) if number.is_finite() => format!("{number:.PRECISION$}"),
        Value::Float(number) => quoted(&go_format::float(*number)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&text(value)?)),
        Value::Duration(_) => format!("duration({})", quoted(&text(value)?)),
        value if text(value).is_ok() => text(value)?,
        value => {
            let name = type_values::name_of(value);
            return Err((None, format!("no formatting function for {name}")));
        }
    })
}
