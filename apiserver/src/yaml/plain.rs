//! Which texts need quotes: those that YAML would read as something else, in the version of YAML that Go's library speaks.

use jiff::civil::{Date, DateTime};
use regex::Regex;
use std::sync::LazyLock;

/// Words that are no strings.
const WORDS: &[&str] = &[
    "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
    "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", ".nan", ".NaN", ".NAN",
    ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", "<<",
];

static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let whole = "[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)";
    let broken = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?";
    Regex::new(&format!("^({whole}|{broken})$")).ok()
});

/// Minutes and seconds, once numbers of base 60.
static SEXAGESIMAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$").ok());

/// Whether a text is read as a string without quotes.
pub(super) fn is_string(text: &str) -> bool {
    if WORDS.contains(&text) {
        return false;
    }
    let is =
        |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text));
    match text.as_bytes()[0] {
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            !is(&NUMBER, &text.replace('_', "")) && !is(&SEXAGESIMAL, text) && !is_time(text)
        }
        _ => true,
    }
}

/// A day, or a moment.
fn is_time(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    if year != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return false;
    }
    text.parse::<Date>().is_ok()
        || text.parse::<jiff::Timestamp>().is_ok()
        || text.parse::<DateTime>().is_ok()
}

/// How a text may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// As it is.
    pub(super) plain: bool,
    /// In single quotes.
    pub(super) single: bool,
    /// Line by line.
    pub(super) block: bool,
}

impl Allowed {
    /// What the characters of a text allow.
    pub(super) fn of(text: &str) -> Self {
        let (mut indicates, mut special, mut breaks) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        if text.starts_with("---") || text.starts_with("...") {
            indicates = true;
        }
        let characters: Vec<char> = text.chars().collect();
        for (at, &character) in characters.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| characters[before]);
            let after = characters.get(at + 1);
            let ends = after.is_none_or(|after| after.is_whitespace());
            indicates |= match character {
                '#' => before.is_none_or(char::is_whitespace),
                ':' => ends,
                '?' | '-' => before.is_none() && ends,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    before.is_none()
                }
                _ => false,
            };
            special |= !is_printable(character);
            breaks |= is_break(character);
            break_space |= character == ' ' && before.is_some_and(is_break);
            space_break |= is_break(character) && before == Some(' ');
        }
        let is_blank = |character: Option<&char>| character.is_some_and(|&c| c == ' ' || is_break(c));
        let blank = is_blank(characters.first()) || is_blank(characters.last());
        let none = special || space_break;
        Self {
            plain: !none && !indicates && !blank && !breaks && !break_space,
            single: !none && !break_space,
            block: !none && characters.last() != Some(&' '),
        }
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character stands in a text as it is.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_as_something_else_is_no_string() {
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
        ] {
            assert!(is_string(text), "{text}");
        }
    }

    #[test]
    fn characters_that_mean_something_need_quotes() {
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
            let allowed = Allowed::of(text);
            assert!(!allowed.plain && allowed.single, "{text}");
        }
        for text in ["a-b", "f:a", "k:{\"name\":\"c\"}", ".", "a'b", "-a", "é"] {
            assert!(Allowed::of(text).plain, "{text}");
        }
        assert!(!Allowed::of("a\tb").single && !Allowed::of("\u{1f600}").plain);
    }
}
