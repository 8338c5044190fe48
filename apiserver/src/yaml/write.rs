//! Values as YAML, to the byte as Go's library writes them: keys in its order, quotes only where they are needed, long texts in lines.

use super::plain::{self, Allowed};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Where a text is broken, at its next space.
const WIDTH: usize = 80;
/// A longer key stands on a line of its own.
const LONGEST_KEY: usize = 128;

/// One document.
pub(crate) fn write(value: &Value) -> String {
    let mut writer = Writer {
        text: String::new(),
        column: 0,
    };
    writer.value(value, 0, Place::Root);
    writer.put("\n");
    writer.text
}

/// What stands before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
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

    /// A value whose collection is indented so far.
    fn value(&mut self, value: &Value, indent: usize, place: Place) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let indent = if place == Place::Root { 0 } else { indent + 2 };
                self.fields(fields, indent, place);
            }
            Value::Array(items) if !items.is_empty() => {
                // A list in an object is not indented.
                let inner = if place == Place::Item { indent + 2 } else { indent };
                for (at, item) in items.iter().enumerate() {
                    if place == Place::Key || at > 0 {
                        self.line(inner);
                    } else if place == Place::Item {
                        self.put(" ");
                    }
                    self.put("-");
                    self.value(item, inner, Place::Item);
                }
            }
            scalar => {
                if place == Place::Item || place == Place::Key {
                    self.put(" ");
                }
                self.scalar(scalar, indent + 2, false);
            }
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, indent: usize, place: Place) {
        let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
        fields.sort_by(|(a, _), (b, _)| order(a, b));
        for (at, (key, value)) in fields.into_iter().enumerate() {
            if place == Place::Key || at > 0 {
                self.line(indent);
            } else if place == Place::Item {
                self.put(" ");
            }
            if key.len() > LONGEST_KEY {
                self.put("? ");
                self.string(key, indent + 2, false);
                self.line(indent);
            } else {
                self.string(key, indent + 2, true);
            }
            self.put(":");
            self.value(value, indent, Place::Key);
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize, is_key: bool) {
        match value {
            Value::String(text) => self.string(text, indent, is_key),
            Value::Array(_) => self.put("[]"),
            other => self.put(&other.to_string()),
        }
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) {
        let allowed = Allowed::of(text);
        if text.contains('\n') && allowed.block && !is_key {
            self.block(text, indent);
        } else if !plain::is_string(text) || text.contains('\n') || !allowed.plain && !allowed.single {
            self.put("\"");
            self.folded(text, indent, !is_key, escaped, "\\");
            self.put("\"");
        } else if allowed.plain {
            self.folded(text, indent, !is_key, String::from, "");
        } else {
            self.put("'");
            let doubled = |character: char| {
                if character == '\'' {
                    "''".to_owned()
                } else {
                    character.to_string()
                }
            };
            self.folded(text, indent, !is_key, doubled, "");
            self.put("'");
        }
    }

    /// A text in lines; `escape` stands before a second space at the beginning of a line, where there can be one.
    fn folded(
        &mut self,
        text: &str,
        indent: usize,
        breaks: bool,
        shown: impl Fn(char) -> String,
        escape: &str,
    ) {
        let characters: Vec<char> = text.chars().collect();
        let mut after_space = false;
        for (at, &character) in characters.iter().enumerate() {
            if character == ' ' {
                let doubled = characters.get(at + 1) == Some(&' ');
                let inner = at > 0 && at + 1 < characters.len();
                let folds = breaks && !after_space && self.column > WIDTH && inner;
                if folds && (!doubled || !escape.is_empty()) {
                    self.line(indent);
                    if doubled {
                        self.put(escape);
                    }
                } else {
                    self.put(" ");
                }
            } else {
                self.put(&shown(character));
            }
            after_space = character == ' ';
        }
    }

    /// A text of several lines, each as it is.
    fn block(&mut self, text: &str, indent: usize) {
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

fn escaped(character: char) -> String {
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
        _ if plain::is_printable(character) => character.to_string(),
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

/// The order of keys: numbers within them by their value, and what is no letter before letters.
fn order(a: &str, b: &str) -> Ordering {
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
    // A zero within a number is not a leading one.
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
    fn writes_what_go_writes() {
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
    fn long_texts_are_folded_at_the_next_space() {
        let words = vec!["word"; 30].join(" ");
        let text = write(&json!({ "key": words }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() > WIDTH && lines[0].len() < WIDTH + 6 && lines[1].starts_with("  word"));
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let value = json!({ "a": ["y", "1", "", " a ", "x: y", "é", "\u{1f600}", "a\n b\n", "#", "- -"], "k": { "1": 2.5 } });
        assert_eq!(crate::yaml::read(&write(&value)).unwrap().value, value);
    }
}
