//! YAML output, identical to that of Go's library: its key order, quotes only where needed, long strings folded.

use super::scalar_style::{self, AllowedStyles};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Column after which a string is folded at its next space.
const FOLD_COLUMN: usize = 80;
/// Longer keys are written as complex keys (`? key`).
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// Writes one document.
pub fn write(value: &Value) -> String {
    let mut writer = Writer {
        text: String::new(),
        column: 0,
    };
    writer.value(value, 0, ValuePosition::Root);
    writer.put("\n");
    writer.text
}

/// The position of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    Root,
    /// `key:`.
    Key,
    /// `- `.
    Item,
}

struct Writer {
    text: String,
    /// Characters since the last line break.
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column = match text.rfind('\n') {
            Some(at) => text[at + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
    }

    fn line(&mut self, indent: usize) {
        self.put("\n");
        self.put(&" ".repeat(indent));
    }

    /// Writes a value; `indent` is the indentation of a collection.
    fn value(&mut self, value: &Value, indent: usize, position: ValuePosition) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let indent = if position == ValuePosition::Root {
                    0
                } else {
                    indent + 2
                };
                self.fields(fields, indent, position);
            }
            Value::Array(items) if !items.is_empty() => {
                // A list in an object is not indented.
                let inner = if position == ValuePosition::Item {
                    indent + 2
                } else {
                    indent
                };
                for (at, item) in items.iter().enumerate() {
                    self.start_entry(at, inner, position);
                    self.put("-");
                    self.value(item, inner, ValuePosition::Item);
                }
            }
            scalar => {
                if position != ValuePosition::Root {
                    self.put(" ");
                }
                match scalar {
                    Value::String(text) => self.string(text, indent + 2, false),
                    other => self.put(&other.to_string()),
                }
            }
        }
    }

    /// Starts an entry of a collection: the first one at the position of the collection, the others on lines of their own.
    fn start_entry(&mut self, at: usize, indent: usize, position: ValuePosition) {
        if position == ValuePosition::Key || at > 0 {
            self.line(indent);
        } else if position == ValuePosition::Item {
            self.put(" ");
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, indent: usize, position: ValuePosition) {
        let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
        fields.sort_by(|(a, _), (b, _)| compare_keys(a, b));
        for (at, (key, value)) in fields.into_iter().enumerate() {
            self.start_entry(at, indent, position);
            if key.len() > MAX_SIMPLE_KEY_BYTES {
                self.put("? ");
                self.string(key, indent + 2, false);
                self.line(indent);
            } else {
                self.string(key, indent + 2, true);
            }
            self.put(":");
            self.value(value, indent, ValuePosition::Key);
        }
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) {
        let allowed = AllowedStyles::of(text);
        if text.contains('\n') && allowed.block && !is_key {
            self.write_block(text, indent);
        } else if !scalar_style::is_string(text) || text.contains('\n') || !allowed.plain && !allowed.single {
            let escaped: String = text.chars().map(escape_char).collect();
            self.put("\"");
            self.write_folded(&escaped, indent, !is_key, "\\");
            self.put("\"");
        } else if allowed.plain {
            self.write_folded(text, indent, !is_key, "");
        } else {
            self.put("'");
            self.write_folded(&text.replace('\'', "''"), indent, !is_key, "");
            self.put("'");
        }
    }

    /// Writes a folded string. `escape` is written before a double space at the start of a line; without an escape, it is not folded there.
    fn write_folded(&mut self, text: &str, indent: usize, breaks: bool, escape: &str) {
        let characters: Vec<char> = text.chars().collect();
        let mut after_space = false;
        for (at, &character) in characters.iter().enumerate() {
            if character == ' ' {
                let doubled = characters.get(at + 1) == Some(&' ');
                let inner = at > 0 && at + 1 < characters.len();
                let folds = breaks && !after_space && self.column > FOLD_COLUMN && inner;
                if folds && (!doubled || !escape.is_empty()) {
                    self.line(indent);
                    if doubled {
                        self.put(escape);
                    }
                } else {
                    self.put(" ");
                }
            } else {
                self.put(character.encode_utf8(&mut [0; 4]));
            }
            after_space = character == ' ';
        }
    }

    /// Writes a string in block style, line by line.
    fn write_block(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        if !text.ends_with('\n') {
            self.put("-");
        } else if text == "\n" || text.ends_with("\n\n") {
            self.put("+");
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if line.is_empty() {
                self.put("\n");
            } else {
                self.line(indent);
                self.put(line);
            }
        }
    }
}

fn escape_char(character: char) -> String {
    let code = u32::from(character);
    match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\0' => "\\0".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\r' => "\\r".to_owned(),
        '\u{1b}' => "\\e".to_owned(),
        '\u{85}' => "\\N".to_owned(),
        '\u{2028}' => "\\L".to_owned(),
        '\u{2029}' => "\\P".to_owned(),
        _ if scalar_style::is_printable(character) => character.to_string(),
        _ => {
            let mut text = String::new();
            let _ = match code {
                ..=0xff => write!(text, "\\x{code:02X}"),
                0x100..=0xffff => write!(text, "\\u{code:04X}"),
                _ => write!(text, "\\U{code:08X}"),
            };
            text
        }
    }
}

/// Compares keys: numbers within them by value, and non-letters before letters.
fn compare_keys(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    let (one, other) = (a[at], b[at]);
    match (one.is_alphabetic(), other.is_alphabetic()) {
        (true, true) => return one.cmp(&other),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number is not a leading zero.
    let within = (one == '0' || other == '0')
        && a[..at]
            .iter()
            .rev()
            .take_while(|c| c.is_ascii_digit())
            .any(|c| *c != '0');
    let number = |text: &[char]| {
        let digits = text[at..].iter().map_while(|c| c.to_digit(10));
        let start = (i64::from(within), 0_usize);
        digits.fold(start, |(value, count), digit| {
            (value.wrapping_mul(10).wrapping_add(i64::from(digit)), count + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(one.cmp(&other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn output_equals_gos() {
        let value = json!({
            "b": { "list": [{ "a": 1, "b": [] }, "x", ["y", ["z"]]], "none": null, "empty": {} },
            "a10": "1", "a9": "*/5 *", "text": "one\ntwo\n", "end": "one\n\ntwo", "q": "it's: so", "t": "a\tb", "-x": true,
        });
        let expected = "\
-x: true
a9: '*/5 *'
a10: \"1\"
b:
  empty: {}
  list:
  - a: 1
    b: []
  - x
  - - \"y\"
    - - z
  none: null
end: |-
  one

  two
q: 'it''s: so'
t: \"a\\tb\"
text: |
  one
  two
";
        assert_eq!(write(&value), expected);
        assert_eq!(write(&json!({})), "{}\n");
        assert_eq!(write(&json!(["a"])), "- a\n");
    }

    #[test]
    fn long_strings_are_folded_at_the_next_space() {
        let words = vec!["word"; 30].join(" ");
        let text = write(&json!({ "key": words }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].len() > FOLD_COLUMN
                && lines[0].len() < FOLD_COLUMN + 6
                && lines[1].starts_with("  word")
        );
    }

    #[test]
    fn output_is_parsed_to_the_same_value() {
        let value = json!({ "a": ["y", "1", "", " a ", "x: y", "é", "\u{1f600}", "a\n b\n", "#", "- -"], "k": { "1": 2.5 } });
        assert_eq!(crate::yaml::parse(&write(&value)).unwrap().value, value);
    }
}
