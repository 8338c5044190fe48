use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn quotes_strings_that_yaml_1_1_parses_as_other_types() {
    for text in [
        "on",
        "yes",
        "y",
        "no",
        "off",
        "1:30",
        "0755",
        "1e3",
        "null",
        "~",
        "2020-01-01",
        "",
    ] {
        let yaml = write(&json!({ "a": text })).unwrap();
        let value = yaml.trim_end().strip_prefix("a: ").unwrap();
        assert!(value.starts_with(['"', '\'']), "{yaml}");
    }
}

#[test]
fn reads_several_documents_as_kubectl_does() {
    let text = "---\na: 1\n---\n# nothing\n---\nb: yes\n";
    assert_eq!(read_all(text).unwrap(), [json!({"a": 1}), json!({"b": true})]);
}

#[test]
fn errors_have_a_line_and_a_short_message() {
    for (text, line, message) in [
        ("a: [\n", 1, "unclosed bracket '['"),
        (
            "a: 1\n  b: 2\n",
            2,
            "mapping values are not allowed in this context",
        ),
        ("a: 1\na: 2\n", 2, "duplicate mapping key: a"),
    ] {
        let error = read_all(text).unwrap_err();
        assert_eq!((error.line(), &*error.to_string()), (Some(line), message));
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let blocks = |depth: usize| {
        let lines = (0..depth).map(|level| format!("{}a:\n", " ".repeat(level)));
        lines.collect::<Vec<_>>().concat()
    };
    for text in [nested(250), blocks(250)] {
        assert_eq!(read_all(&text).unwrap().len(), 1);
    }
    for text in [nested(251), blocks(251), nested(100_000)] {
        let error = read_all(&text).unwrap_err();
        let message = "lists and maps are nested deeper than 250 levels";
        assert_eq!(error.to_string(), message);
    }
}

proptest! {
    #[test]
    fn strings_round_trip(text in any::<String>()) {
        let value = json!({ "a": [text] });
        let yaml = write(&value).unwrap();
        prop_assert_eq!(read_all(&yaml).unwrap(), [value], "{}", yaml);
    }
}
