//! The keys that a mapping has more than once.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::collections::HashSet;
use std::fmt;

/// The repeated keys below a node: those of a value before its own key.
#[derive(Default)]
pub(super) struct RepeatedKeys {
    keys: Vec<RepeatedKey>,
    /// The node is a text.
    is_text: bool,
}

struct RepeatedKey {
    key: Key,
    /// The line where the repeated value starts; the first line of text, if it is a block.
    line: u64,
    has_text: bool,
}

/// A key of a mapping, as Go prints it: a text in quotes, a number or another value without.
#[derive(PartialEq, Eq, Hash)]
struct Key(String);

impl RepeatedKeys {
    /// Returns Go's errors, such as `line 2: key "a" already set in map`.
    pub(super) fn errors(&self, text: &str) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let error = |repeated: &RepeatedKey| {
            let block = repeated
                .has_text
                .then(|| header_line(&lines, repeated.line))
                .flatten();
            let line = block.unwrap_or(repeated.line);
            repeated_key_error(line, &repeated.key.0)
        };
        self.keys.iter().map(error).collect()
    }
}

/// Returns Go's error about the repetition of an integer, which the parser itself reports as a text.
pub(super) fn repeated_integer_error(line: u64, key: &str) -> String {
    let is_integer = key.parse::<i128>().is_ok();
    let key = if is_integer {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    repeated_key_error(line, &key)
}

fn repeated_key_error(line: u64, key: &str) -> String {
    format!("line {line}: key {key} already set in map")
}

/// Returns the line of the `|` or `>` of the block whose text starts on this line; None if no block starts there.
fn header_line(lines: &[&str], first: u64) -> Option<u64> {
    let above = lines.get(..usize::try_from(first).ok()?.checked_sub(1)?)?;
    let at = above.iter().rposition(|line| !line.trim().is_empty())?;
    let line = above[at].split(" #").next().unwrap_or_default().trim_end();
    let start = line.trim_end_matches(|character: char| matches!(character, '+' | '-' | '1'..='9'));
    let before = start.strip_suffix(['|', '>'])?;
    let is_header = before.is_empty() || before.ends_with([' ', '\t']);
    is_header.then(|| at as u64 + 1)
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Key, E> {
        Ok(Key(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Key, E> {
        Ok(Key(format!("{value:?}")))
    }
}

impl<'de> Deserialize<'de> for RepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = RepeatedKeys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RepeatedKeys, A::Error> {
        let mut seen = HashSet::new();
        let mut found = RepeatedKeys::default();
        while let Some((key, value)) = map.next_entry::<Key, Spanned<RepeatedKeys>>()? {
            let line = value.referenced.line();
            let has_text = value.value.is_text;
            found.keys.extend(value.value.keys);
            if let Some(key) = seen.replace(key) {
                found.keys.push(RepeatedKey { key, line, has_text });
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RepeatedKeys, A::Error> {
        let mut found = RepeatedKeys::default();
        while let Some(item) = items.next_element::<RepeatedKeys>()? {
            found.keys.extend(item.keys);
        }
        Ok(found)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RepeatedKeys, D::Error> {
        RepeatedKeys::deserialize(deserializer)
    }

    fn visit_str<E>(self, _: &str) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys {
            is_text: true,
            ..RepeatedKeys::default()
        })
    }

    // Scalars have no keys.
    fn visit_bool<E>(self, _: bool) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_unit<E>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }

    fn visit_none<E>(self) -> Result<RepeatedKeys, E> {
        Ok(RepeatedKeys::default())
    }
}
