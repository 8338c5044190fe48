//! The grammar of index paths: `spec.nodeName`, `metadata.labels['a.b/c']`, `spec.ports[*].name`.

use std::fmt;

/// A parsed path; never empty, and its first segment is a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JsonPath(pub(crate) Vec<Segment>);

/// A step of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// The value of a field.
    Field(String),
    /// Every element of a list.
    Each,
}

/// A syntax error in a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathError {
    text: String,
    /// Byte offset of the error.
    at: usize,
    expected: &'static str,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, at, expected } = self;
        match text.get(*at..).filter(|rest| !rest.is_empty()) {
            Some(rest) => write!(f, "`{text}` is not a valid path: expected {expected} at `{rest}`"),
            None => write!(f, "`{text}` is not a valid path: expected {expected} at the end"),
        }
    }
}

const FIELD: &str = "the name of a field";
const FIELD_WITHOUT_DOLLAR: &str = "the name of a field, without the `$` or `.` of JSONPath,";
const BRACKET: &str = "`[*]` or a quoted field `['a.b/c']`";

impl JsonPath {
    /// Parses the grammar:
    ///
    /// ```text
    /// path    = field *( "." field / "['" 1*any "']" / "[*]" )
    /// field   = ( letter / "_" ) *( letter / digit / "_" / "-" )
    /// any     = any character but "'"
    /// ```
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let error = |rest: &str, expected| PathError {
            text: text.to_owned(),
            at: text.len() - rest.len(),
            expected,
        };
        if text.starts_with(['.', '$']) {
            return Err(error(text, FIELD_WITHOUT_DOLLAR));
        }
        let (first, mut rest) = field(text).ok_or_else(|| error(text, FIELD))?;
        let mut segments = vec![first];
        while !rest.is_empty() {
            let (segment, behind) = if let Some(name) = rest.strip_prefix('.') {
                field(name).ok_or_else(|| error(name, FIELD))?
            } else if let Some(behind) = rest.strip_prefix("[*]") {
                (Segment::Each, behind)
            } else if rest.starts_with('[') {
                quoted(rest).ok_or_else(|| error(rest, BRACKET))?
            } else {
                return Err(error(rest, "`.` or `[`"));
            };
            segments.push(segment);
            rest = behind;
        }
        Ok(Self(segments))
    }

    /// Returns the names of the fields before the first `[*]`.
    pub(crate) fn leading_fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map_while(|segment| match segment {
            Segment::Field(name) => Some(name.as_str()),
            Segment::Each => None,
        })
    }
}

fn field(text: &str) -> Option<(Segment, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        .then(|| (Segment::Field(name.to_owned()), rest))
}

fn quoted(text: &str) -> Option<(Segment, &str)> {
    let (name, rest) = text.strip_prefix("['")?.split_once('\'')?;
    let rest = rest.strip_prefix(']')?;
    (!name.is_empty()).then(|| (Segment::Field(name.to_owned()), rest))
}

#[cfg(test)]
mod tests {
    use super::{JsonPath, Segment};

    fn fields(names: &[&str]) -> Vec<Segment> {
        names
            .iter()
            .map(|&name| {
                if name == "[*]" {
                    Segment::Each
                } else {
                    Segment::Field(name.to_owned())
                }
            })
            .collect()
    }

    #[test]
    fn parses_fields_quoted_fields_and_lists() {
        for (text, expected) in [
            ("metadata", &["metadata"][..]),
            ("spec.nodeName", &["spec", "nodeName"]),
            ("spec.x-kubernetes_1", &["spec", "x-kubernetes_1"]),
            ("metadata.labels['a.b/c']", &["metadata", "labels", "a.b/c"]),
            ("metadata['labels']['ä ]'].x", &["metadata", "labels", "ä ]", "x"]),
            ("spec.ports[*].name", &["spec", "ports", "[*]", "name"]),
            ("spec.grid[*][*]", &["spec", "grid", "[*]", "[*]"]),
        ] {
            assert_eq!(JsonPath::parse(text).unwrap().0, fields(expected), "{text}");
        }
    }

    #[test]
    fn errors_name_the_expected_token_and_position() {
        for (text, message) in [
            (
                "",
                "`` is not a valid path: expected the name of a field at the end",
            ),
            (
                "spec.",
                "`spec.` is not a valid path: expected the name of a field at the end",
            ),
            (
                "spec..a",
                "`spec..a` is not a valid path: expected the name of a field at `.a`",
            ),
            (
                "1spec",
                "`1spec` is not a valid path: expected the name of a field at `1spec`",
            ),
            (
                "spec.a b",
                "`spec.a b` is not a valid path: expected `.` or `[` at ` b`",
            ),
            (
                "spec.ä",
                "`spec.ä` is not a valid path: expected the name of a field at `ä`",
            ),
            (
                "spec.a[0]",
                "`spec.a[0]` is not a valid path: expected `[*]` or a quoted field `['a.b/c']` at `[0]`",
            ),
            (
                "spec.a['b",
                "`spec.a['b` is not a valid path: expected `[*]` or a quoted field `['a.b/c']` at `['b`",
            ),
            (
                "spec.a['']",
                "`spec.a['']` is not a valid path: expected `[*]` or a quoted field `['a.b/c']` at `['']`",
            ),
            (
                "spec.a[\"b\"]",
                "`spec.a[\"b\"]` is not a valid path: expected `[*]` or a quoted field `['a.b/c']` at `[\"b\"]`",
            ),
            (
                ".spec.a",
                "`.spec.a` is not a valid path: expected the name of a field, without the `$` or `.` of JSONPath, at `.spec.a`",
            ),
            (
                "$.spec.a",
                "`$.spec.a` is not a valid path: expected the name of a field, without the `$` or `.` of JSONPath, at `$.spec.a`",
            ),
        ] {
            assert_eq!(JsonPath::parse(text).unwrap_err().to_string(), message);
        }
    }
}
