//! YAML, read and written in one place.

mod plain;
mod write;

pub(crate) use write::write;

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

/// A document, and what a strict decoder holds against it.
#[derive(Debug)]
pub(crate) struct Read {
    /// The first document; of a key that stands twice, the last.
    pub(crate) value: Value,
    /// The first key that stands twice: `line 2: key "a" already set in map`.
    pub(crate) strict_errors: Vec<String>,
}

/// Reads the first document, up to 64 levels: the library takes more of the stack for each than others do. The error is like
/// `yaml: line 1: mapping values are not allowed in this context`.
pub(crate) fn read(text: &str) -> Result<Read, String> {
    if text.trim_start_matches([' ', '\n', '\r']).starts_with('\t') {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    let mut read = first(text, DuplicateKeyPolicy::Error);
    let mut strict_errors = vec![];
    if let Err((line, why)) = &read
        && let Some(key) = why.strip_prefix("duplicate mapping key: ")
    {
        let key = key.split(", set Dup").next().unwrap_or(key);
        strict_errors.push(format!("line {line}: key {key:?} already set in map"));
        read = first(text, DuplicateKeyPolicy::LastWins);
    }
    match read {
        Ok(value) => Ok(Read { value, strict_errors }),
        Err((line, why)) => Err(format!("yaml: line {line}: {why}")),
    }
}

/// The first document, or where and why it is none.
fn first(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Value, (u64, String)> {
    let options = || serde_saphyr::options! { duplicate_keys: duplicate_keys };
    let read = match serde_saphyr::from_str_with_options(text, options()) {
        Err(error) if words(&error).1.starts_with("multiple YAML documents") => {
            serde_saphyr::from_multiple_with_options::<Value>(text, options())
                .map(|documents| documents.into_iter().next().unwrap_or_default())
        }
        read => read,
    };
    read.map_err(|error| words(&error))
}

/// The line and the complaint, out of `error: line 1 column 5: why` and an excerpt.
fn words(error: &serde_saphyr::Error) -> (u64, String) {
    let line = error.location().map_or(1, |location| location.line());
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let why = first.strip_prefix("error: ").unwrap_or(first);
    let why = match why.split_once(": ") {
        Some((place, why)) if place.starts_with("line ") => why,
        _ => why,
    };
    (line, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::read;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn the_first_document_is_read_and_the_last_of_two_keys() {
        let two = read("---\na: 1\n---\nb: 2\n").unwrap();
        assert_eq!(two.value, json!({ "a": 1 }));
        let twice = read("a: 1\na: 2\n").unwrap();
        assert_eq!(twice.value, json!({ "a": 2 }));
        assert_eq!(twice.strict_errors, [r#"line 2: key "a" already set in map"#]);
        assert_eq!(read("").unwrap().value, Value::Null);
        assert_eq!(
            read("a: b: c").unwrap_err(),
            "yaml: line 1: mapping values are not allowed in this context"
        );
        for bad in ["a: [", "&a [*a]", "\t"] {
            assert!(read(bad).unwrap_err().starts_with("yaml: "), "{bad}");
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        for levels in [60, 70, 300, 20_000] {
            for text in [
                "[".repeat(levels) + &"]".repeat(levels),
                "- ".repeat(levels) + "a",
                "{a: ".repeat(levels) + &"}".repeat(levels),
            ] {
                assert_eq!(read(&text).is_ok(), levels == 60, "{levels}: {text:.20}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_the_text_it_is_read_or_refused(text in "[-:{}&*!|>\\[\\] \n\ta-z0-9]{0,64}") {
            if let Err(why) = read(&text) {
                prop_assert!(why.starts_with("yaml: "), "{}", why);
            }
        }
    }
}
