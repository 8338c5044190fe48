//! Strings and JSON as Go writes them: `%q` escapes unprintable characters, `encoding/json` escapes HTML.

use serde_json::Value;
use std::fmt::Write as _;

/// Quotes a string as Go's `strconv.Quote`.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            // Writing to a string cannot fail.
            ..' ' | '\u{7f}' => drop(write!(quoted, "\\x{:02x}", u32::from(character))),
            other if is_printable(other) => quoted.push(other),
            ..='\u{ffff}' => drop(write!(quoted, "\\u{:04x}", u32::from(character))),
            _ => drop(write!(quoted, "\\U{:08x}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether Go considers a character printable. Combining marks are: Rust escapes them only at the start of a text.
pub fn is_printable(c: char) -> bool {
    if c.is_control() {
        return false;
    }
    let mut bytes = *b"a\0\0\0\0";
    let length = c.encode_utf8(&mut bytes[1..]).len();
    let text = std::str::from_utf8(&bytes[..=length]).unwrap_or_default();
    c.is_ascii() || text.escape_debug().nth(1) != Some('\\')
}

/// Serializes a value as Go's `encoding/json`, which escapes `<`, `>` and `&`.
pub fn json(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_quoted_as_in_go() {
        assert_eq!(quoted("a\"\\\u{7}\0\u{7f}\u{85}é"), r#""a\"\\\a\x00\x7f\u0085é""#);
    }
}
