//! YAML input and output.

mod repeated_keys;
mod scalar_style;
mod write;

pub use write::write;

use repeated_keys::{RepeatedKeys, repeated_integer_error};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use std::panic::resume_unwind;
use std::thread;

/// Maximum nesting depth of a document: the parser reads at most 255 levels of `[` and `{`.
const MAX_DEPTH: usize = 250;

/// The levels that any thread can parse.
const PLAIN_DEPTH: usize = 64;

/// The stack of a thread that parses deeper documents. A level takes up to 32 KiB in a debug build.
const STACK_BYTES: usize = 32 << 20;

/// A parsed document.
#[derive(Debug)]
pub struct ParsedYaml {
    /// The first document. Of duplicate keys, the last one wins.
    pub value: Value,
    /// The strict decoding errors of the duplicate keys: `line 2: key "a" already set in map`.
    pub strict_errors: Vec<String>,
}

/// Parses the first document, up to 250 levels deep. Errors are like `yaml: line 1: mapping values are
/// not allowed in this context`.
pub fn parse(text: &str) -> Result<ParsedYaml, String> {
    if text.trim_start_matches([' ', '\n', '\r']).starts_with('\t') {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    let mut parsed = parse_first(text, DuplicateKeyPolicy::Error);
    let mut strict_errors = vec![];
    if let Err((line, why)) = &parsed
        && let Some(key) = why.strip_prefix("duplicate mapping key: ")
    {
        let key = key.split(", set Dup").next().unwrap_or(key);
        let repeated = parse_first::<RepeatedKeys>(text, DuplicateKeyPolicy::LastWins);
        strict_errors = repeated.map_or(vec![], |repeated| repeated.errors(text));
        // The parser itself selects among repeated integers. What follows the first document does not count.
        if strict_errors.is_empty() && !text.contains("\n---") {
            strict_errors.push(repeated_integer_error(*line, key));
        }
        parsed = parse_first(text, DuplicateKeyPolicy::LastWins);
    }
    match parsed {
        Ok(value) => Ok(ParsedYaml { value, strict_errors }),
        Err((line, why)) => Err(format!("yaml: line {line}: {why}")),
    }
}

/// Returns Go's message about the strict decoding errors of a document.
#[must_use]
pub fn unmarshal_errors(strict_errors: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", strict_errors.join("\n  "))
}

/// Parses the first document; the error has the line and the message.
fn parse_first<T: Default + DeserializeOwned + Send>(
    text: &str,
    duplicate_keys: DuplicateKeyPolicy,
) -> Result<T, (u64, String)> {
    let parse = |max_depth| parse_to_depth(text, duplicate_keys, max_depth);
    match parse(PLAIN_DEPTH) {
        Err((_, why)) if why.contains("budget breached: Depth") => thread::scope(|scope| {
            let parser = thread::Builder::new().stack_size(STACK_BYTES);
            // Fails if the system has no more threads.
            let parser = parser.spawn_scoped(scope, || parse(MAX_DEPTH));
            parser.map_or_else(
                |error| Err((1, error.to_string())),
                |parser| parser.join().unwrap_or_else(|panic| resume_unwind(panic)),
            )
        }),
        parsed => parsed,
    }
}

fn parse_to_depth<T: Default + DeserializeOwned>(
    text: &str,
    duplicate_keys: DuplicateKeyPolicy,
    max_depth: usize,
) -> Result<T, (u64, String)> {
    let options = || {
        serde_saphyr::options! {
            duplicate_keys: duplicate_keys,
            budget: serde_saphyr::budget! { max_depth: max_depth },
        }
    };
    let parsed = match serde_saphyr::from_str_with_options(text, options()) {
        Err(error) if line_and_message(&error).1.starts_with("multiple YAML documents") => {
            serde_saphyr::from_multiple_with_options::<T>(text, options())
                .map(|documents| documents.into_iter().next().unwrap_or_default())
        }
        parsed => parsed,
    };
    parsed.map_err(|error| line_and_message(&error))
}

/// Returns the line and the message of an error, which is formatted as `error: line 1 column 5: why` and an excerpt.
fn line_and_message(error: &serde_saphyr::Error) -> (u64, String) {
    let line = error.location().map_or(1, |location| location.line());
    let text = error.to_string();
    let first_line = text.lines().next().unwrap_or_default();
    let why = first_line.strip_prefix("error: ").unwrap_or(first_line);
    let why = match why.split_once(": ") {
        Some((place, why)) if place.starts_with("line ") => why,
        _ => why,
    };
    (line, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn the_first_document_and_the_last_duplicate_key_win() {
        let two = parse("---\na: 1\n---\nb: 2\n").unwrap();
        assert_eq!(two.value, json!({ "a": 1 }));
        let twice = parse("a: 1\na: 2\n").unwrap();
        assert_eq!(twice.value, json!({ "a": 2 }));
        assert_eq!(twice.strict_errors, [r#"line 2: key "a" already set in map"#]);
        let text = "a: 1\nb:\n  c: 1\n  c:\n    - 2\na: {d: 1, d: [{e: 1, 'e': 2}]}\na:\n";
        let expected = [
            r#"line 5: key "c" already set in map"#,
            r#"line 6: key "e" already set in map"#,
            r#"line 6: key "d" already set in map"#,
            r#"line 6: key "a" already set in map"#,
            r#"line 7: key "a" already set in map"#,
        ];
        assert_eq!(parse(text).unwrap().strict_errors, expected);
        let second = parse("a: 1\n---\nb: 1\nb: 2\n").unwrap();
        assert_eq!(second.value, json!({ "a": 1 }));
        assert!(second.strict_errors.is_empty());
        let numbers = parse("1: a\n1: b").unwrap();
        assert_eq!(numbers.strict_errors, ["line 2: key 1 already set in map"]);
        let text = "true: a\ntrue: b\n1.5: a\n1.5: >-\n\n  b\na: x\na:\n  | # |\n  b\na:\n  b\n";
        let expected = [
            "line 2: key true already set in map",
            "line 4: key 1.5 already set in map",
            r#"line 9: key "a" already set in map"#,
            r#"line 12: key "a" already set in map"#,
        ];
        assert_eq!(parse(text).unwrap().strict_errors, expected);
        assert_eq!(parse("").unwrap().value, Value::Null);
        assert_eq!(
            parse("a: b: c").unwrap_err(),
            "yaml: line 1: mapping values are not allowed in this context"
        );
        for bad in ["a: [", "&a [*a]", "\t"] {
            assert!(parse(bad).unwrap_err().starts_with("yaml: "), "{bad}");
        }
    }

    #[test]
    fn documents_deeper_than_250_levels_are_rejected() {
        for levels in [60, 70, 250, 260, 20_000] {
            for text in [
                "[".repeat(levels) + &"]".repeat(levels),
                "- ".repeat(levels) + "a",
                "{a: ".repeat(levels) + &"}".repeat(levels),
            ] {
                assert_eq!(parse(&text).is_ok(), levels <= 250, "{levels}: {text:.20}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected_without_panicking(text in "[-:{}&*!|>\\[\\] \n\ta-z0-9]{0,64}") {
            if let Err(why) = parse(&text) {
                prop_assert!(why.starts_with("yaml: "), "{}", why);
            }
        }
    }
}
