//! Splits the body of a list into its items as it arrives.

use serde::{Deserialize, de::IgnoredAny};

use super::{blocks::Blocks, object::ScanError, scan_failure::ScanFailure};
use crate::line_decoder::MAX_LINE_BYTES;

/// Bytes of the longest accepted item.
const MAX_ITEM_BYTES: usize = MAX_LINE_BYTES;

/// Hands out the items of a list one by one. Buffers at most one item and the list without its items.
///
/// It only counts brackets; the [`Scanner`](super::Scanner) checks the items.
#[derive(Debug)]
pub(in crate::cache) struct ListSplitter {
    /// The list without its items.
    envelope: Vec<u8>,
    /// The beginning of the item that is being received.
    partial: Vec<u8>,
    /// The nesting depth within that item; zero between items.
    item_depth: usize,
    blocks: Blocks,
    /// The nesting depth within the envelope.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The start and the length of the last string in the envelope, without its quotes.
    last_string: (usize, usize),
    /// The last byte between items that is not white space; none outside of the items.
    between: Option<u8>,
}

/// The list without its items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cache) struct Envelope {
    /// The resource version of the list; empty if the server sends none.
    pub(in crate::cache) resource_version: String,
    /// The token for the next page.
    pub(in crate::cache) continue_token: Option<String>,
}

impl ListSplitter {
    pub(in crate::cache) fn new() -> Self {
        Self {
            envelope: Vec::new(),
            partial: Vec::new(),
            item_depth: 0,
            blocks: Blocks::default(),
            depth: 0,
            in_string: false,
            escaped: false,
            last_string: (0, 0),
            between: None,
        }
    }

    /// Calls `each` with every item that `chunk` completes; stops at the first error.
    pub(in crate::cache) fn push(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), ScanFailure>,
    ) -> Result<(), ScanFailure> {
        if self.item_depth > 0 {
            chunk = self.item(chunk, 0, &mut each)?;
        }
        while let Some((&byte, rest)) = chunk.split_first() {
            match (self.between, byte) {
                (Some(_), b' ' | b'\n' | b'\r' | b'\t') => {}
                (Some(b'[' | b','), b'{') => {
                    (self.item_depth, self.blocks, self.between) = (1, Blocks::default(), Some(b'}'));
                    chunk = self.item(chunk, 1, &mut each)?;
                    continue;
                }
                (Some(b'}'), b',') => self.between = Some(b','),
                (None, _) | (Some(b'[' | b'}'), b']') => self.push_envelope(byte),
                _ => return Err(ScanError("an item of the list is no object".into()).into()),
            }
            chunk = rest;
        }
        Ok(())
    }

    /// Hands out the item, which began with `chunk` or before, if `chunk` ends it; searches for the end from `at` on. Returns the rest of
    /// `chunk`.
    fn item<'c>(
        &mut self,
        chunk: &'c [u8],
        at: usize,
        each: &mut impl FnMut(&[u8]) -> Result<(), ScanFailure>,
    ) -> Result<&'c [u8], ScanFailure> {
        let Some(end) = self.blocks.container_end(chunk, at, &mut self.item_depth) else {
            self.blocks.next_piece();
            self.partial.extend_from_slice(chunk);
            if self.partial.len() > MAX_ITEM_BYTES {
                let error = ScanError(format!(
                    "an item of the list is longer than {MAX_ITEM_BYTES} bytes"
                ));
                return Err(ScanFailure::item(error, &self.partial));
            }
            return Ok(&[]);
        };
        self.item_depth = 0;
        let (item, rest) = chunk.split_at(end);
        if self.partial.is_empty() {
            each(item)?;
        } else {
            self.partial.extend_from_slice(item);
            each(&self.partial)?;
            self.partial.clear();
        }
        Ok(rest)
    }

    /// The list without its items, to be called when the body has ended. Fails if it is incomplete or no list.
    pub(in crate::cache) fn finish(self) -> Result<Envelope, ScanError> {
        #[derive(Deserialize)]
        struct List {
            metadata: Option<ListMeta>,
            // Required, but `null` is an empty list.
            #[serde(deserialize_with = "Option::deserialize")]
            items: Option<Vec<IgnoredAny>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ListMeta {
            resource_version: Option<String>,
            #[serde(rename = "continue")]
            continue_token: Option<String>,
        }
        let list: List = serde_json::from_slice(&self.envelope)
            .map_err(|error| ScanError(format!("the response is no list, or is torn: {error}")))?;
        if list.items.is_some_and(|items| !items.is_empty()) {
            return Err(ScanError("the key of the list's items is escaped".into()));
        }
        let metadata = list
            .metadata
            .ok_or_else(|| ScanError("the list has no metadata".into()))?;
        Ok(Envelope {
            resource_version: metadata.resource_version.unwrap_or_default(),
            continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
        })
    }

    /// Adds a byte outside of the items.
    fn push_envelope(&mut self, byte: u8) {
        self.envelope.push(byte);
        self.between = None;
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.last_string.1 = self.envelope.len().saturating_sub(self.last_string.0 + 1);
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.last_string.0 = self.envelope.len();
            }
            b'{' | b'[' => {
                self.depth += 1;
                if byte == b'[' && self.depth == 2 && self.last_string() == b"items" {
                    self.between = Some(byte);
                }
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn last_string(&self) -> &[u8] {
        let (start, length) = self.last_string;
        self.envelope.get(start..start + length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(body: &str, size: usize) -> Result<(Vec<String>, Envelope), ScanFailure> {
        let mut splitter = ListSplitter::new();
        let mut items = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            splitter.push(chunk, |item| {
                items.push(String::from_utf8(item.to_vec()).unwrap());
                Ok(())
            })?;
        }
        Ok((items, splitter.finish()?))
    }

    #[test]
    fn items_are_split_wherever_they_are_and_the_body_is_cut() {
        let items = [
            r#"{"a":"]}[{\"","items":[{}]}"#,
            r#"{ "b" : [ 1, {"c":{}} ] }"#,
            "{}",
        ];
        for body in [
            format!(
                r#"{{"kind":"FooList","metadata":{{"resourceVersion":"7","continue":"x","items":[1]}},"items":[{}]}}"#,
                items.join(" ,\n")
            ),
            format!(
                r#"{{"items" : [{}], "other":"items", "more":[], "metadata":{{"continue":"x","resourceVersion":"7"}}}}"#,
                items.join(",")
            ),
        ] {
            for size in 1..body.len() {
                let (split_items, envelope) = split(&body, size).unwrap();
                assert_eq!(split_items, items, "{size}");
                assert_eq!(
                    envelope,
                    Envelope {
                        resource_version: "7".into(),
                        continue_token: Some("x".into())
                    }
                );
            }
        }
    }

    #[test]
    fn empty_lists_have_no_items() {
        for items in ["null", "[]", "[ ]"] {
            let body = format!(r#"{{"items":{items},"metadata":{{"resourceVersion":"1","continue":""}}}}"#);
            assert_eq!(
                split(&body, 3).unwrap(),
                (
                    vec![],
                    Envelope {
                        resource_version: "1".into(),
                        continue_token: None
                    }
                )
            );
        }
    }

    #[test]
    fn body_that_is_no_list_is_an_error() {
        for body in [
            "",
            "[]",
            "<html>",
            r#"{"items":[]}"#,
            r#"{"metadata":{},"items":[1]}"#,
            r#"{"metadata":{},"items":[{}"#,
            r#"{"metadata":{},"items":[{}]"#,
        ] {
            assert!(split(body, 4).is_err(), "{body}");
        }
    }

    #[test]
    fn item_that_is_too_long_is_reported_with_its_name() {
        let mut splitter = ListSplitter::new();
        let begin =
            br#"{"items":[{"data":{"name":"x"},"metadata":{"labels":{"name":"y"},"name":"spy","namespace":"shop"},"#;
        splitter.push(begin, |_| Ok(())).unwrap();
        let chunk = vec![b' '; MAX_ITEM_BYTES];
        let failure = splitter.push(&chunk, |_| Ok(())).unwrap_err();
        assert_eq!(failure.object.as_deref(), Some("shop/spy"), "{failure}");
    }

    proptest! {
        #[test]
        fn no_input_panics(body in r#"[\[\]{}",:\\items a1]{0,60}"#, size in 1usize..9) {
            let _ = split(&body, size);
        }
    }
}
