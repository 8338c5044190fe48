//! Messages of expressions that fail to evaluate: kube-cel's errors translated into the real server's, where they contain enough.

use regex::Regex;
use std::sync::LazyLock;

/// Patterns of kube-cel's messages, and the real server's messages.
static MESSAGES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let words = [
        (r"^No such key", "no such key"),
        (r"^No such overload$", "no such overload"),
        // The functions of this project have messages of their own.
        (r"^Error executing function '@\w+': (?s)(.*)$", "$1"),
        (r"(?i)^.*remainder.*by zero.*$", "modulus by zero"),
        (r"(?i)^.*by zero.*$", "division by zero"),
        (
            r"^Index out of bounds: \w+\((-?\d+)\)$",
            "index out of bounds: $1",
        ),
        (
            r"^Overflow from binary operator '\w+': UInt.*$",
            "unsigned integer overflow",
        ),
        (
            r"^Overflow from binary operator '\w+': Int.*$",
            "integer overflow",
        ),
        (r"^Error executing function '\w+': (.*integer overflow)$", "$1"),
        (
            r"^Error executing function '(int|uint|double)': string parse error.*$",
            "type conversion error from 'string' to '$1'",
        ),
        (
            r"^Error executing function '(?:bool|lists\.range|replace|url)': (.*)$",
            "$1",
        ),
        (
            r"^Error executing function 'flatten': depth must be non-negative$",
            "level must be non-negative",
        ),
        (
            r"^Error executing function 'timestamp': (timestamp overflow)$",
            "$1",
        ),
        (
            r"^Error executing function 'timestamp': .*$",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            r"^Error executing function 'duration': .*$",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        (
            r"^Error executing function 'charAt': .*?index (-?\d+) out of range.*$",
            "index out of range: $1",
        ),
    ];
    words
        .into_iter()
        .filter_map(|(pattern, words)| Some((Regex::new(pattern).ok()?, words)))
        .collect()
});

/// Translates a message of kube-cel.
pub(crate) fn translate(text: &str) -> String {
    let known = MESSAGES.iter().find(|(pattern, _)| pattern.is_match(text));
    known.map_or_else(
        || text.to_owned(),
        |(pattern, words)| pattern.replace(text, *words).into_owned(),
    )
}
