//! Random texts of a schema.

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};
use serde_json::Value;

use super::random::{MAX_ITEMS, Random, TextStyle};

/// Two values of each format that the API server checks, and of `ip`, which it does not know.
const FORMATS: [(&str, [&str; 2]); 12] = [
    ("byte", ["aGk=", "MA=="]),
    ("cidr", ["10.0.0.0/8", "192.0.2.0/24"]),
    ("date", ["2026-01-02", "1999-12-31"]),
    ("date-time", ["2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z"]),
    ("duration", ["5m", "1h"]),
    ("email", ["a@example.com", "b@example.org"]),
    ("hostname", ["example.com", "a.example.org"]),
    ("ip", ["10.0.0.1", "192.0.2.7"]),
    ("ipv4", ["10.0.0.1", "192.0.2.7"]),
    ("ipv6", ["::1", "2001:db8::7"]),
    ("uri", ["https://example.com/a", "http://example.org"]),
    (
        "uuid",
        [
            "9b2c1f0e-7d3a-4c58-8f61-2a4b6c8d0e1f",
            "00000000-0000-4000-8000-000000000000",
        ],
    ),
];

impl Random {
    /// Returns a text of the pattern, the format and the length that the schema wants, as far as they fit together.
    pub(super) fn string(&mut self, schema: &Value) -> String {
        let limit = |key: &str| schema[key].as_u64().and_then(|limit| usize::try_from(limit).ok());
        let (least, most) = (
            limit("minLength").unwrap_or(0),
            limit("maxLength").unwrap_or(usize::MAX),
        );
        if let Some(pattern) = schema["pattern"].as_str()
            && let Ok(pattern) = regex_syntax::parse(pattern)
        {
            // More repetitions until it is long enough.
            for longest in (0..32).map(|attempt| MAX_ITEMS + attempt * attempt) {
                let mut text = String::new();
                let is_written = self.matching(&pattern, longest, &mut text).is_some();
                if is_written && (least..=most).contains(&text.chars().count()) {
                    return text;
                }
            }
        }
        let format = schema["format"].as_str();
        if let Some((_, values)) = FORMATS.iter().find(|(name, _)| Some(*name) == format) {
            return (*self.pick(values)).to_owned();
        }
        let text = match self.text_style.as_mut().map(TextStyle::next_is_number) {
            None => (*self.pick(&["", "a", "b", "c:1", "12"])).to_owned(),
            Some(true) => self.below(100).to_string(),
            Some(false) => {
                let separator = self.pick(&[":", ":", ":", "/", "=", "-"]);
                format!("{}{separator}{}", self.below(100), self.below(100))
            }
        };
        let padding = std::iter::repeat_n('x', least.saturating_sub(text.len()));
        text.chars().chain(padding).take(most).collect()
    }

    /// Writes a string that matches. None if there is none of a simple form.
    fn matching(&mut self, pattern: &Hir, longest: usize, text: &mut String) -> Option<()> {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => {
                text.push_str(std::str::from_utf8(&literal.0).ok()?);
                Some(())
            }
            HirKind::Class(Class::Unicode(class)) => {
                let printable: Vec<char> = (' '..='~')
                    .filter(|c| {
                        class
                            .ranges()
                            .iter()
                            .any(|range| (range.start()..=range.end()).contains(c))
                    })
                    .collect();
                let other = class.ranges().first().map(ClassUnicodeRange::start);
                text.push(if printable.is_empty() {
                    other?
                } else {
                    *self.pick(&printable)
                });
                Some(())
            }
            HirKind::Class(Class::Bytes(class)) => {
                text.push(char::from(class.ranges().first()?.start()));
                Some(())
            }
            HirKind::Repetition(repetition) => {
                let least = usize::try_from(repetition.min).ok()?;
                let most = repetition.max.and_then(|max| usize::try_from(max).ok());
                let most = most.unwrap_or(usize::MAX).min(least.saturating_add(longest));
                let count = least + self.below(most - least + 1);
                (0..count).try_for_each(|_| self.matching(&repetition.sub, MAX_ITEMS, text))
            }
            HirKind::Capture(capture) => self.matching(&capture.sub, longest, text),
            HirKind::Concat(parts) => parts
                .iter()
                .try_for_each(|part| self.matching(part, longest, text)),
            HirKind::Alternation(parts) => {
                let part = self.pick(parts);
                self.matching(part, longest, text)
            }
        }
    }
}
