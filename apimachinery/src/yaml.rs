//! YAML input and output. Input is read in three steps: `tree` has the nodes that the parser finds, `scalar` the values of their texts, and
//! `decode` makes them JSON.

mod decode;
mod scalar;
mod scalar_style;
mod tree;
mod write;

pub use write::write;

use decode::Decoder;
use serde_json::Value;
use tree::Tree;

/// A parsed document.
#[derive(Debug)]
pub struct ParsedYaml {
    /// The first document. Of duplicate keys, the last one wins.
    pub value: Value,
    /// The strict decoding errors of the duplicate keys: `line 2: key "a" already set in map`.
    pub strict_errors: Vec<String>,
}

/// Parses the first document: up to 250 levels deep, with those of its aliases, and up to 500,000 values. Errors are like those of Go:
/// `yaml: line 2: mapping values are not allowed in this context`.
pub fn parse(text: &str) -> Result<ParsedYaml, String> {
    if text.trim_start_matches([' ', '\n', '\r']).starts_with('\t') {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    let tree = Tree::read(text)?;
    let mut decoder = Decoder::new(&tree);
    let value = tree.root().map_or(Ok(Value::Null), |root| decoder.value(root))?;
    Ok(ParsedYaml {
        value,
        strict_errors: decoder.strict_errors,
    })
}

/// Returns Go's message about the strict decoding errors of a document.
#[must_use]
pub fn unmarshal_errors(strict_errors: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", strict_errors.join("\n  "))
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
    fn aliases_and_merge_keys_are_resolved() {
        let text = "base: &b {x: 1, y: 2}\na: *b\nm: {<<: *b, y: 3}\nlist: {<<: [*b, {x: 9, z: 8}]}\nquoted: {'<<': 1}\n";
        let parsed = parse(text).unwrap();
        let (base, merged) = (json!({ "x": 1, "true": 2 }), json!({ "x": 1, "true": 3 }));
        let expected = json!({
            "base": base, "a": base, "m": merged, "list": { "x": 1, "true": 2, "z": 8 }, "quoted": { "<<": 1 },
        });
        assert_eq!(parsed.value, expected);
        assert_eq!(
            parsed.strict_errors,
            [
                "line 3: key true already set in map",
                r#"line 1: key "x" already set in map"#
            ]
        );
        for (bad, why) in [
            ("[*a]", "yaml: unknown anchor 'a' referenced"),
            ("&a [*a]", "yaml: anchor 'a' value contains itself"),
            ("&a {<<: *a}", "yaml: anchor 'a' value contains itself"),
            (
                "<<: 1",
                "yaml: map merge requires map or sequence of maps as the value",
            ),
            (
                "<<: [[{a: 1}]]",
                "yaml: map merge requires map or sequence of maps as the value",
            ),
            ("[a]: 1", "yaml: invalid map key: [\"a\"]"),
        ] {
            assert_eq!(parse(bad).unwrap_err(), why, "{bad}");
        }
    }

    #[test]
    fn blocks_at_the_end_have_the_line_breaks_that_were_sent() {
        for (text, expected) in [
            ("a: |\n  x\n  y", "x\ny"),
            ("a: |\n  x\n  y\n", "x\ny\n"),
            ("a: >\n  x\n  y", "x y"),
            ("a: |-\n  x\n", "x"),
            ("a: |+\n  x\n\n", "x\n\n"),
            ("a: |\n", ""),
            ("a: |\n  x\n  ", "x\n"),
            ("a: >\n  x\n ", "x\n"),
            ("a: |+\n  x\n\n  ", "x\n\n"),
            ("a: |+\n\n  ", "\n"),
            ("a: |\n  x\n   ", "x\n "),
            ("a: |\r\n  x\r\n  ", "x\n"),
        ] {
            assert_eq!(parse(text).unwrap().value, json!({ "a": expected }), "{text}");
        }
    }

    #[test]
    fn repeated_keys_are_reported_where_their_values_start() {
        for (text, expected) in [
            ("a: 1\na: |\n", "line 2: key \"a\" already set in map"),
            ("a: 1\ra: |\r  x\r", "line 2: key \"a\" already set in map"),
            ("a: 1\na: &x\n  b: 1", "line 2: key \"a\" already set in map"),
            ("a: 1\na: !!map\n  b: 1", "line 2: key \"a\" already set in map"),
            ("a: 1\na:\n  !!str |\n  b", "line 3: key \"a\" already set in map"),
            ("1e6: a\n1e6: b", "line 2: key 1e+06 already set in map"),
            (".inf: a\n.inf: b", "line 2: key +Inf already set in map"),
            ("0.0: a\n-0.0: b", "line 2: key -0 already set in map"),
            ("a: 1\na:\n  |\n", "line 3: key \"a\" already set in map"),
            (
                "\"a\\0\": 1\n\"a\\0\": 1",
                "line 2: key \"a\\x00\" already set in map",
            ),
        ] {
            assert_eq!(parse(text).unwrap().strict_errors, [expected], "{text}");
        }
        for text in ["1: a\n1.0: b", ".nan: a\n.nan: b"] {
            assert_eq!(parse(text).unwrap().strict_errors, [""; 0], "{text}");
        }
        assert_eq!(parse("1e300: 1").unwrap().value, json!({ ".inf": 1 }));
    }

    /// Each level nests the one before it by an alias.
    #[test]
    fn aliases_count_as_depth() {
        let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(200), "]".repeat(200));
        let link = |link: u32| format!("- &a{link} {}\n", nested(&format!("*a{}", link - 1)));
        let text = format!("- &a0 {}\n{}", nested("x"), (1..60).map(link).collect::<String>());
        assert_eq!(parse(&text).unwrap_err(), "yaml: exceeded max depth of 250");
        let merge = |link: u32| format!("- &a{link} {{<<: *a{}}}\n", link - 1);
        let text = format!("- &a0 {{x: 1}}\n{}", (1..400).map(merge).collect::<String>());
        assert_eq!(parse(&text).unwrap_err(), "yaml: exceeded max depth of 250");
    }

    #[test]
    fn texts_in_aliases_and_numbers_of_values_are_limited() {
        let text = format!("a: &a {}\nb: [{}]", "x".repeat(500_000), "*a, ".repeat(3000));
        assert_eq!(
            parse(&text).unwrap_err(),
            "yaml: document contains excessive aliasing"
        );
        let many = format!("[{}]", "a,".repeat(500_000));
        assert_eq!(parse(&many).unwrap_err(), "yaml: line 1: more than 500000 values");
    }

    #[test]
    fn documents_of_aliases_are_rejected() {
        let bomb = |levels: u32| {
            let level = |at: u32| format!("l{at}: &l{at} [{}]\n", format!("*l{}, ", at - 1).repeat(9));
            format!("l0: &l0 [a]\n{}", (1..=levels).map(level).collect::<String>())
        };
        assert!(parse(&bomb(2)).is_ok());
        assert_eq!(
            parse(&bomb(9)).unwrap_err(),
            "yaml: document contains excessive aliasing"
        );
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
                let beginnings = ["yaml: ", "json: ", "unsupported map key of type: "];
                prop_assert!(beginnings.iter().any(|beginning| why.starts_with(beginning)), "{}", why);
            }
        }
    }
}
