//! Names the object that could not be scanned, for logs.

use std::fmt;

use super::object::ScanError;
use crate::line_decoder::LineDecoder;

/// Bytes that are searched for a name. The API server may send the same bytes again and again.
const MAX_SEARCHED_BYTES: usize = 1 << 20;
/// Characters of the longest name in Kubernetes.
const MAX_NAME_CHARS: usize = 253;

/// A [`ScanError`] with the name of the object, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cache) struct ScanFailure {
    /// `namespace/name`, or the name.
    pub(in crate::cache) object: Option<String>,
    pub(in crate::cache) error: ScanError,
}

impl ScanFailure {
    /// The failure of a list item, or of an object by itself.
    #[cold]
    pub(super) fn item(error: ScanError, json: &[u8]) -> Self {
        let object = name_in(json, 1);
        Self { object, error }
    }

    /// The failure of a watch line.
    #[cold]
    pub(super) fn line(error: ScanError, line: &[u8]) -> Self {
        let object = name_in(line, 2);
        Self { object, error }
    }
}

impl ScanFailure {
    /// Fails if the watch line that is being received is too long.
    pub(in crate::cache) fn check_line_length(lines: &LineDecoder) -> Result<(), Self> {
        lines
            .check_length()
            .map_err(|error| Self::line(ScanError(error.to_string()), lines.partial()))
    }
}

impl From<ScanError> for ScanFailure {
    fn from(error: ScanError) -> Self {
        Self { object: None, error }
    }
}

impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        self.error.fmt(f)
    }
}

impl std::error::Error for ScanFailure {}

/// The first name in the `metadata` at nesting depth `level`. The bytes may be truncated and need not be UTF-8.
fn name_in(json: &[u8], level: usize) -> Option<String> {
    let json = &json[..json.len().min(MAX_SEARCHED_BYTES)];
    let (mut namespace, mut name) = (None, None);
    let (mut depth, mut is_metadata, mut key, mut at) = (0_usize, false, None, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                is_metadata |= depth == level && key == Some(&b"metadata"[..]);
                depth += 1;
                key = None;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                is_metadata &= depth > level;
            }
            b',' => key = None,
            b'"' => {
                let text = until_quote(&json[at..]);
                at += text.len() + 1;
                match key.take() {
                    None => key = Some(text),
                    Some(b"name") if is_metadata && depth == level + 1 => name = name.or(Some(text)),
                    Some(b"namespace") if is_metadata && depth == level + 1 => {
                        namespace = namespace.or(Some(text));
                    }
                    Some(_) => {}
                }
            }
            _ => {}
        }
    }
    let shown = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        let shown = text.chars().filter(|character| !character.is_control());
        shown.take(MAX_NAME_CHARS).collect::<String>()
    };
    let name = name.map(shown)?;
    Some(match namespace {
        Some(namespace) => format!("{}/{name}", shown(namespace)),
        None => name,
    })
}

/// The bytes up to the closing quote, or to the end.
fn until_quote(json: &[u8]) -> &[u8] {
    let mut is_escaped = false;
    let end = json.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    &json[..end.unwrap_or(json.len())]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line_decoder::MAX_LINE_BYTES;

    #[test]
    fn name_is_found_in_damaged_json() {
        for (json, expected) in [
            (&br#"{"metadata":{"name":"spy","namespace":"shop"}}"#[..], Some("shop/spy")),
            (br#"{"metadata":{"name":"spy","namespace":"shop","uid":"#, Some("shop/spy")),
            (br#"{"metadata":{"namespace":"shop","name":"sp"#, Some("shop/sp")),
            (b"{\"data\":\"\xff\",\"metadata\":{\"name\":\"s\xffy\"}}", Some("s\u{fffd}y")),
            (br#"{"metadata" : { "name" : "spy", "name" : "other" } }"#, Some("spy")),
            (br#"{"spec":{"metadata":{"name":"x"}},"metadata":{"labels":{"name":"y"},"name":"spy"}}"#, Some("spy")),
            (br#"{"a":"\",\"metadata\":{\"name\":\"x\"","metadata":{"ownerReferences":[{"name":"x"}],"name":"spy"}}"#, Some("spy")),
            (br#"{"metadata":{"labels":{}},"data":{"name":"x"}}"#, None),
            (br#"{"metadata":"x","name":"x"}"#, None),
            (b"\x1f\x8b\x08\x00\"\"\"", None),
        ] {
            let line = [b"{\"type\":\"ADDED\",\"object\":", json].concat();
            let shown = String::from_utf8_lossy(json);
            assert_eq!(name_in(json, 1).as_deref(), expected, "{shown}");
            assert_eq!(name_in(&line, 2).as_deref(), expected, "{shown}");
        }
        let long = format!(r#"{{"metadata":{{"name":"{}"#, "x\n".repeat(5000));
        assert_eq!(name_in(long.as_bytes(), 1), Some("x".repeat(MAX_NAME_CHARS)));
    }

    #[test]
    fn line_that_is_too_long_is_reported_with_the_name_of_its_object() {
        let mut lines = LineDecoder::default();
        let begin = br#"{"type":"ADDED","object":{"metadata":{"name":"spy","namespace":"shop"},"data":""#;
        lines.push(begin, |_| Ok::<_, ()>(())).unwrap();
        assert!(ScanFailure::check_line_length(&lines).is_ok());
        lines
            .push(&vec![b' '; MAX_LINE_BYTES], |_| Ok::<_, ()>(()))
            .unwrap();
        let failure = ScanFailure::check_line_length(&lines).unwrap_err();
        assert_eq!(failure.object.as_deref(), Some("shop/spy"));
    }

    proptest! {
        #[test]
        fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), json in r#"[{}\[\]",:\\metadata name]{0,80}"#) {
            name_in(&bytes, 1);
            name_in(json.as_bytes(), 1);
        }
    }
}
