//! A JSON decoder with the error messages of Go's, which also reports duplicate fields.

use super::unstructured::float_to_integer;
use crate::quote::quoted;
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// Maximum nesting depth of a document. kube-apiserver allows 10,000 levels, but Go's stacks grow. This server's threads have stacks of 2
/// MiB, and objects are visited recursively, even to clone and drop them.
pub(crate) const MAX_DEPTH: usize = 400;

/// The most strict decoding errors that are reported, as by Go's decoder.
pub(super) const MAX_STRICT_ERRORS: usize = 100;

/// Returns the name that Go's decoder uses for a value's type in error messages.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A decoded document with the problems that strict decoding reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The value; of a duplicate field, the last occurrence.
    pub value: Value,
    /// The paths of duplicate fields, such as `spec.replicas` or `spec.containers[0].name`, in order and once each.
    pub duplicates: Vec<String>,
}

/// Decodes one document. The error is Go's message, such as `unexpected end of JSON input`. Invalid UTF-8 in strings is replaced as Go
/// does.
pub fn decode(bytes: &[u8]) -> Result<Decoded, String> {
    decode_with_limit(bytes, false, MAX_DEPTH)
}

/// Decodes a document of a kind with known types. Numbers that are too large are clamped here, so that the type check rejects them, not the
/// syntax.
pub fn decode_typed(bytes: &[u8]) -> Result<Decoded, String> {
    decode_with_limit(bytes, true, MAX_DEPTH)
}

/// Decodes an object that this server encoded, without a depth limit: paths in `managedFields` nest deeper than the fields themselves.
pub fn decode_stored(bytes: &[u8]) -> Result<Value, String> {
    decode_with_limit(bytes, true, usize::MAX).map(|decoded| decoded.value)
}

/// Returns where the first two occurrences of each of these fields are in the document; their paths are in quotes. Nothing if the document
/// is invalid.
pub(super) fn field_positions(
    bytes: &[u8],
    paths: impl Iterator<Item = String>,
) -> HashMap<String, Vec<usize>> {
    let mut reader = JsonReader::new(bytes, true, MAX_DEPTH);
    reader.positions = paths.map(|path| (path, vec![])).collect();
    reader.skip_space();
    match reader.value() {
        Ok(_) => reader.positions,
        Err(_) => HashMap::new(),
    }
}

fn decode_with_limit(bytes: &[u8], clamp_numbers: bool, max_depth: usize) -> Result<Decoded, String> {
    let mut reader = JsonReader::new(bytes, clamp_numbers, max_depth);
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(Decoded {
            value,
            duplicates: reader.duplicates,
        }),
        Some(_) => Err(reader.unexpected("after top-level value")),
    }
}

/// Converts floats without a fraction to integers, as Go writes them: 2.0 becomes 2. Call it before storing, because a stored object has
/// been encoded and decoded once.
pub fn floats_to_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && number.abs() < 9.0e18)
            {
                *value = float_to_integer(whole).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(floats_to_integers),
        Value::Object(fields) => fields.values_mut().for_each(floats_to_integers),
        _ => {}
    }
}

struct JsonReader<'a> {
    bytes: &'a [u8],
    /// Whether too large numbers are clamped instead of rejected.
    clamp_numbers: bool,
    at: usize,
    /// How many more levels of nesting are allowed.
    levels_left: usize,
    path: String,
    duplicates: Vec<String>,
    /// Where fields are, for those that are asked for.
    positions: HashMap<String, Vec<usize>>,
}

impl<'a> JsonReader<'a> {
    fn new(bytes: &'a [u8], clamp_numbers: bool, max_depth: usize) -> Self {
        Self {
            bytes,
            clamp_numbers,
            at: 0,
            levels_left: max_depth,
            path: String::new(),
            duplicates: Vec::new(),
            positions: HashMap::new(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The error for the next byte.
    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => syntax_error(byte, context),
        }
    }

    /// The error for the next byte within a token, where the end of input counts as a space.
    fn unexpected_within(&self, context: &str) -> String {
        syntax_error(self.peek().unwrap_or(b' '), context)
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        if self.levels_left == 0 {
            return Err(self.unexpected("exceeded max depth"));
        }
        self.levels_left -= 1;
        self.at += 1;
        self.skip_space();
        let value = parse(self)?;
        self.levels_left += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut fields = Map::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let name = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.skip_space();
            let outer = self.path.len();
            if outer > 0 {
                self.path.push('.');
            }
            self.path.push_str(&name);
            if fields.contains_key(&name)
                && self.duplicates.len() < MAX_STRICT_ERRORS
                && !self.duplicates.contains(&self.path)
            {
                self.duplicates.push(self.path.clone());
            }
            if !self.positions.is_empty()
                && let Some(found) = self.positions.get_mut(&quoted(&self.path))
                && found.len() < 2
            {
                found.push(self.at);
            }
            let value = self.value()?;
            self.path.truncate(outer);
            fields.insert(name, value);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair")),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(Value::Object(fields))
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            let outer = self.path.len();
            self.path = format!("{}[{}]", self.path, items.len());
            items.push(self.value()?);
            self.path.truncate(outer);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element")),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(
                    self.unexpected_within(&format!("in literal {word} (expecting '{}')", char::from(byte)))
                );
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected_within(context));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]);
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Value::from(number));
        }
        let number = text.parse::<f64>().ok().map(|number| {
            if self.clamp_numbers {
                number.clamp(f64::MIN, f64::MAX)
            } else {
                number
            }
        });
        number
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| format!("json: cannot unmarshal number {text} into Go value of type float64"))
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.unexpected("")),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let mut buffer = [0; 4];
                    text.extend_from_slice(self.escape()?.encode_utf8(&mut buffer).as_bytes());
                }
                Some(byte) if byte < 0x20 => return Err(self.unexpected("in string literal")),
                Some(_) => {
                    let rest = &self.bytes[self.at..];
                    let ends_run = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
                    let plain = rest.iter().position(ends_run).unwrap_or(rest.len());
                    text.extend_from_slice(&rest[..plain]);
                    self.at += plain;
                }
            }
        }
        self.at += 1;
        Ok(String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn escape(&mut self) -> Result<char, String> {
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.unexpected_within("in string escape code")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Decodes `\u` and four hexadecimal digits, or a surrogate pair of two such escapes; a lone surrogate becomes the replacement
    /// character.
    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hexadecimal()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before_escape = self.at;
            self.at += 2;
            let second = self.hexadecimal()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before_escape;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.unexpected_within("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

fn syntax_error(byte: u8, context: &str) -> String {
    let quoted = quoted(&char::from(byte).to_string());
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => format!("'{}'", quoted.trim_matches('"')),
    };
    format!("invalid character {shown} {context}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    // The messages were observed on a kube-apiserver v1.36.3.
    #[test]
    fn syntax_errors_match_kube_apiserver() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("[1,", "unexpected end of JSON input"),
            ("\"a", "unexpected end of JSON input"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("{\"a\":}", "invalid character '}' looking for beginning of value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{'a'}",
                "invalid character '\\'' looking for beginning of object key string",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            ("[1 2]", "invalid character '2' after array element"),
            ("-", "invalid character ' ' in numeric literal"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
        ];
        for (text, message) in cases {
            assert_eq!(decode(text.as_bytes()), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn last_duplicate_field_wins_and_is_reported_once() {
        let decoded = decode(br#"[{"op":1,"op":2,"op":3},{"a":{"b":1,"b":2}}]"#).unwrap();
        assert_eq!(decoded.value, json!([{"op": 3}, {"a": {"b": 2}}]));
        assert_eq!(decoded.duplicates, ["[0].op", "[1].a.b"]);
    }

    #[test]
    fn integers_that_fit_64_bits_stay_integers() {
        let value = |text: &str| decode(text.as_bytes()).unwrap().value;
        assert_eq!(value("9223372036854775807"), json!(i64::MAX));
        assert_eq!(value("9223372036854775808"), json!(9_223_372_036_854_775_808.0));
        assert_eq!(value("1.0"), json!(1.0));
        assert!(decode(b"1e999").is_err());
    }

    #[test]
    fn floats_without_fraction_become_integers() {
        let mut value = json!({"a": [2.0, 2.5, -0.0, 1e300], "b": 3});
        floats_to_integers(&mut value);
        assert_eq!(value, json!({"a": [2, 2.5, 0, 1e300], "b": 3}));
    }

    #[test]
    fn typed_decoding_clamps_too_large_numbers() {
        assert!(decode(b"1e400").unwrap_err().contains("1e400"));
        assert_eq!(decode_typed(b"-1e400").unwrap().value, Value::from(f64::MIN));
    }

    #[test]
    fn deep_nesting_is_rejected_without_crashing() {
        let deep = "[".repeat(100_000);
        assert_eq!(
            decode(deep.as_bytes()),
            Err("invalid character '[' exceeded max depth".to_owned())
        );
        let allowed = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
        assert!(decode(allowed.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(bytes in "[\\[\\]{}:,\"\\\\ue0-9a.tfn -]{0,24}") {
            // Go writes -0 as an integer, serde_json as a float.
            let shown = |value: &Value| value.to_string().replace("-0.0", "0");
            let ours = decode(bytes.as_bytes());
            if let Ok(theirs) = serde_json::from_str::<Value>(&bytes) {
                prop_assert_eq!(ours.map(|decoded| shown(&decoded.value)), Ok(shown(&theirs)));
            } else if let Ok(decoded) = ours {
                // Go replaces a lone surrogate, serde_json rejects it.
                prop_assert!(decoded.value.to_string().contains('\u{fffd}'), "{:?}", bytes);
            }
        }
    }
}
