//! Resolves scalars to values as Go's YAML library does: by YAML 1.1, without sexagesimal numbers.

use super::tree::Scalar;
use crate::quote::quoted;
use crate::{go_float, go_format};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

/// As Go's: the last bits may be any.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScalarValue {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer that is too large for 64 bits with a sign.
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl ScalarValue {
    /// Reads a scalar. Fails if its tag requires another value.
    pub(super) fn of(scalar: &Scalar) -> Result<Self, String> {
        let text = scalar.text.as_str();
        let keep = || Ok(Self::Text(text.to_owned()));
        match scalar.tag {
            None if scalar.is_plain => Ok(Self::untagged(text)),
            Some("binary") => {
                let bytes = BASE64.decode(text.replace(['\n', '\r'], ""));
                let bytes = bytes.map_err(|_| "yaml: !!binary value contains invalid base64 data")?;
                Ok(Self::Text(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Some(tag @ ("bool" | "int" | "float" | "null")) => match (tag, Self::untagged(text)) {
                #[expect(clippy::cast_precision_loss, reason = "as Go does")]
                ("float", Self::Integer(integer)) => Ok(Self::Float(integer as f64)),
                (tag, value) if value.tag() == tag => Ok(value),
                (tag, value) => Err(format!(
                    "yaml: cannot decode !!{} `{text}` as a !!{tag}",
                    value.tag()
                )),
            },
            // Quoted, a block, or of a tag that says nothing of the value.
            _ => keep(),
        }
    }

    /// Reads a plain text without a tag.
    pub(super) fn untagged(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                Self::Bool(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
                Self::Bool(false)
            }
            ".nan" | ".NaN" | ".NAN" => Self::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Self::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Self::Float(f64::NEG_INFINITY),
            _ if text.starts_with('.') => {
                go_float::parse(text).map_or_else(|| Self::Text(text.to_owned()), Self::Float)
            }
            _ if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-')) => {
                let digits = text.replace('_', "");
                let number = integer(&digits).or_else(|| decimal(&digits));
                number.unwrap_or_else(|| Self::Text(text.to_owned()))
            }
            _ => Self::Text(text.to_owned()),
        }
    }

    /// Returns the implicit tag of the value.
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) | Self::Unsigned(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
        }
    }

    /// Returns a key that equal values share. None for NaN, which equals nothing.
    pub(super) fn identity(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Float(float) if float.is_nan() => None,
            Self::Float(0.0) => Some((self.tag(), "0".to_owned())),
            _ => Some((self.tag(), self.shown())),
        }
    }

    /// Returns the value as JSON, which has no infinite numbers.
    pub(super) fn into_json(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => truth.into(),
            Self::Integer(integer) => integer.into(),
            #[expect(clippy::cast_precision_loss, reason = "as Go does")]
            Self::Unsigned(integer) => (integer as f64).into(),
            Self::Float(float) if !float.is_finite() => {
                let name = if float.is_nan() {
                    "NaN"
                } else if float > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                return Err(format!("json: unsupported value: {name}"));
            }
            // Go writes the fewest digits that stand for the float, and reads an integer if there is no point among them.
            Self::Float(float) => float
                .to_string()
                .parse()
                .map_or_else(|_| float.into(), |integer: i64| integer.into()),
            Self::Text(text) => text.into(),
        })
    }

    /// Returns the value as a key of a JSON object, which has this value.
    pub(super) fn into_key(self, value: &Value) -> Result<String, String> {
        let unsupported = |ty: &str, key: &str| {
            Err(format!(
                "unsupported map key of type: {ty}, key: {key}, value: {value}"
            ))
        };
        match self {
            Self::Text(text) => Ok(text),
            Self::Null => unsupported("%!s(<nil>)", "<nil>"),
            Self::Unsigned(integer) => unsupported("uint64", &format!("{integer:#x}")),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "Go writes it with the precision of 32 bits"
            )]
            Self::Float(float) => Ok(match float as f32 {
                short if short.is_nan() => ".nan".to_owned(),
                f32::INFINITY => ".inf".to_owned(),
                f32::NEG_INFINITY => "-.inf".to_owned(),
                short => go_format::float(short.to_string().parse().unwrap_or(float)),
            }),
            other => Ok(other.shown()),
        }
    }

    /// Returns the value as Go's `%#v` shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "<nil>".to_owned(),
            Self::Bool(truth) => truth.to_string(),
            Self::Integer(integer) => integer.to_string(),
            Self::Unsigned(integer) => format!("{integer:#x}"),
            Self::Float(f64::INFINITY) => "+Inf".to_owned(),
            Self::Float(f64::NEG_INFINITY) => "-Inf".to_owned(),
            Self::Float(float) => go_format::float(*float),
            Self::Text(text) => quoted(text),
        }
    }
}

/// Reads an integer: binary, octal, hexadecimal or decimal by its prefix.
fn integer(text: &str) -> Option<ScalarValue> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&unsigned[2..], 16),
        [b'0', b'b' | b'B', ..] => (&unsigned[2..], 2),
        [b'0', b'o' | b'O', ..] => (&unsigned[2..], 8),
        [b'0', _, ..] => (&unsigned[1..], 8),
        _ => (unsigned, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    if let Ok(integer) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
        return Some(ScalarValue::Integer(integer));
    }
    // Go reads unsigned integers without a sign.
    let has_sign = unsigned.len() < text.len();
    let integer = u64::from_str_radix(digits, radix).ok()?;
    (!has_sign).then_some(ScalarValue::Unsigned(integer))
}

/// Reads a decimal number.
fn decimal(text: &str) -> Option<ScalarValue> {
    let is_decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let number = text.bytes().all(is_decimal).then(|| go_float::parse(text));
    number.flatten().map(ScalarValue::Float)
}

#[cfg(test)]
#[path = "scalar_tests.rs"]
mod tests;
