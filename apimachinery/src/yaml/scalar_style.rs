//! Decides which strings need quotes: those that the YAML version of Go's library would read as another type.

use super::scalar::ScalarValue;
use jiff::civil::{Date, DateTime};
use regex::Regex;
use std::sync::LazyLock;

/// Sexagesimal numbers (`12:30:45`), numbers in old YAML versions.
static SEXAGESIMAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$").ok());

/// Whether an unquoted text is read as a string, by all versions of YAML.
pub(super) fn is_string(text: &str) -> bool {
    let is_sexagesimal = || SEXAGESIMAL.as_ref().is_some_and(|pattern| pattern.is_match(text));
    matches!(ScalarValue::untagged(text), ScalarValue::Text(_)) && !is_sexagesimal() && !is_time(text)
}

/// Whether the text is a date or a timestamp.
fn is_time(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    if year != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return false;
    }
    text.parse::<Date>().is_ok()
        || text.parse::<jiff::Timestamp>().is_ok()
        || text.parse::<DateTime>().is_ok()
}

/// The scalar styles in which a text can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AllowedStyles {
    /// Unquoted.
    pub(super) plain: bool,
    /// Single-quoted.
    pub(super) single: bool,
    /// As a block.
    pub(super) block: bool,
}

impl AllowedStyles {
    /// Determines the allowed styles from the characters of a text.
    pub(super) fn of(text: &str) -> Self {
        let (mut has_indicator, mut has_special, mut has_break) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        if text.starts_with("---") || text.starts_with("...") {
            has_indicator = true;
        }
        let characters: Vec<char> = text.chars().collect();
        for (at, &character) in characters.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| characters[before]);
            let after = characters.get(at + 1);
            let ends = after.is_none_or(|after| after.is_whitespace());
            has_indicator |= match character {
                '#' => before.is_none_or(char::is_whitespace),
                ':' => ends,
                '?' | '-' => before.is_none() && ends,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    before.is_none()
                }
                _ => false,
            };
            has_special |= !is_printable(character);
            has_break |= is_break(character);
            break_space |= character == ' ' && before.is_some_and(is_break);
            space_break |= is_break(character) && before == Some(' ');
        }
        let is_blank = |character: Option<&char>| character.is_some_and(|&c| c == ' ' || is_break(c));
        let has_outer_blank = is_blank(characters.first()) || is_blank(characters.last());
        let quoted_only = has_special || space_break;
        Self {
            plain: !quoted_only && !has_indicator && !has_outer_blank && !has_break && !break_space,
            single: !quoted_only && !break_space,
            block: !quoted_only && characters.last() != Some(&' '),
        }
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character can be written unescaped.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_other_types_are_not_strings() {
        for text in [
            "",
            "y",
            "1",
            "-1.5e3",
            "0x1f",
            "1_000",
            "1:30",
            "2026-01-02",
            "2026-01-02T03:04:05Z",
            "null",
            ".5",
        ] {
            assert!(!is_string(text), "{text}");
        }
        for text in [
            "1.2.3.4",
            "10.1.0.0/24",
            "v1",
            "1Gi",
            "a",
            "-",
            "80/TCP",
            "100m",
            "0b2",
            "2026-x",
            "yess",
            "<<",
            "1e400",
        ] {
            assert!(is_string(text), "{text}");
        }
    }

    #[test]
    fn indicator_characters_need_quotes() {
        for text in [
            "*/5 * * * *",
            "a: b",
            "a #b",
            "- a",
            "'a",
            " a",
            "a ",
            "a:",
            "---",
        ] {
            let allowed = AllowedStyles::of(text);
            assert!(!allowed.plain && allowed.single, "{text}");
        }
        for text in ["a-b", "f:a", "k:{\"name\":\"c\"}", ".", "a'b", "-a", "é"] {
            assert!(AllowedStyles::of(text).plain, "{text}");
        }
        assert!(!AllowedStyles::of("a\tb").single && !AllowedStyles::of("\u{1f600}").plain);
    }
}
