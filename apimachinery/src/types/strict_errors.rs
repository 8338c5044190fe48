//! The order of strict decoding errors: that of the fields in the document, since Go decodes and checks it in one pass.

use super::json;

/// A strict decoding error about a field: its path in quotes.
enum FieldError<'a> {
    Unknown(&'a str),
    Duplicate(&'a str),
}

impl<'a> FieldError<'a> {
    fn parse(error: &'a str) -> Option<Self> {
        let error = error.strip_prefix("json patch ").unwrap_or(error);
        let unknown = error.strip_prefix("unknown field ").map(Self::Unknown);
        unknown.or_else(|| error.strip_prefix("duplicate field ").map(Self::Duplicate))
    }
}

/// Sorts errors such as `unknown field "spec.a"` and `duplicate field "spec.b"` by where a JSON document has the fields. An unknown field is
/// skipped whole: that it, or a field in it, occurs twice is no error.
pub fn sort_strict_errors(errors: &mut Vec<String>, document: &[u8]) {
    if errors.len() < 2 {
        return;
    }
    let paths = errors.iter().filter_map(|error| match FieldError::parse(error)? {
        FieldError::Unknown(path) | FieldError::Duplicate(path) => Some(path.to_owned()),
    });
    let occurrences = json::field_positions(document, paths);
    let unknown = errors.iter().filter_map(|error| match FieldError::parse(error) {
        Some(FieldError::Unknown(path)) => Some(path.trim_matches('"').to_owned()),
        _ => None,
    });
    let unknown: Vec<String> = unknown.collect();
    let is_skipped = |path: &str| {
        let path = path.trim_matches('"');
        unknown.iter().any(|unknown| {
            let rest = path.strip_prefix(unknown.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    errors.retain(|error| match FieldError::parse(error) {
        Some(FieldError::Duplicate(path)) => !is_skipped(path),
        _ => true,
    });
    // A duplicate is noticed at its second occurrence. Errors about anything else come last.
    errors.sort_by_key(|error| {
        let at = |path: &str, nth: usize| occurrences.get(path).and_then(|found| found.get(nth)).copied();
        let at = match FieldError::parse(error) {
            Some(FieldError::Unknown(path)) => at(path, 0),
            Some(FieldError::Duplicate(path)) => at(path, 1),
            None => None,
        };
        at.unwrap_or(usize::MAX)
    });
    errors.truncate(json::MAX_STRICT_ERRORS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_the_order_of_the_document() {
        let document =
            br#"{"b": {"z": 1, "x": 1, "y": [{"d": 1, "d": 2}]}, "a": 1, "c": 1, "c": {"e": 1, "e": 2}}"#;
        let mut errors = [
            r#"duplicate field "b.y[0].d""#,
            r#"duplicate field "c""#,
            r#"duplicate field "c.e""#,
            r#"unknown field "a""#,
            r#"unknown field "b.x""#,
            r#"unknown field "b.z""#,
        ]
        .map(str::to_owned)
        .to_vec();
        sort_strict_errors(&mut errors, document);
        let expected = [
            r#"unknown field "b.z""#,
            r#"unknown field "b.x""#,
            r#"duplicate field "b.y[0].d""#,
            r#"unknown field "a""#,
            r#"duplicate field "c""#,
            r#"duplicate field "c.e""#,
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn duplicates_of_and_in_unknown_fields_are_no_errors() {
        let document = br#"{"a": 1, "a": {"b": 1, "b": 2}, "ab": 1, "ab": 2}"#;
        let all = [
            r#"duplicate field "a""#,
            r#"duplicate field "a.b""#,
            r#"duplicate field "ab""#,
            r#"unknown field "a""#,
        ];
        let mut errors = all.map(str::to_owned).to_vec();
        sort_strict_errors(&mut errors, document);
        assert_eq!(errors, [r#"unknown field "a""#, r#"duplicate field "ab""#]);
    }
}
