//! Cuts the body of a list into its items as it arrives.

use serde::{Deserialize, de::IgnoredAny};

use super::{blocks::Blocks, line_decoder::LONGEST, object::ScanError, scan_failure::ScanFailure};

/// Hands out the items of a list one by one; keeps no more than one item and what surrounds them.
///
/// It only counts brackets: what an item is worth, the [`Scanner`](super::Scanner) says.
#[derive(Debug)]
pub(in crate::cache) struct ListSplitter {
    /// The list without its items.
    envelope: Vec<u8>,
    /// The beginning of an item whose end has not arrived.
    partial: Vec<u8>,
    /// How many brackets deep that is; zero between items.
    item_depth: usize,
    blocks: Blocks,
    /// Of the envelope.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Where in the envelope the last text of the list's own level begins, behind its quote, and its length.
    text: (usize, usize),
    /// The last byte between items that is no white space; none outside of the items.
    between: Option<u8>,
}

/// What surrounds the items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cache) struct Envelope {
    /// The version of the whole list; empty when the server names none.
    pub(in crate::cache) resource_version: String,
    /// How to ask for the next page.
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
            text: (0, 0),
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
                (None, _) | (Some(b'[' | b'}'), b']') => self.envelope(byte),
                _ => return Err(ScanError("an item of the list is no object".into()).into()),
            }
            chunk = rest;
        }
        Ok(())
    }

    /// Hands out the item, which begins with `chunk` or before it, if it ends there; looks for the end from `at` on.
    /// What follows the item.
    fn item<'c>(
        &mut self,
        chunk: &'c [u8],
        at: usize,
        each: &mut impl FnMut(&[u8]) -> Result<(), ScanFailure>,
    ) -> Result<&'c [u8], ScanFailure> {
        let Some(end) = self.blocks.container_end(chunk, at, &mut self.item_depth) else {
            self.blocks.next_piece();
            self.partial.extend_from_slice(chunk);
            if self.partial.len() > LONGEST {
                let error = ScanError(format!("an item of the list is longer than {LONGEST} bytes"));
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

    /// The list without its items, once the body has ended.
    pub(in crate::cache) fn finish(self) -> Result<Envelope, ScanError> {
        #[derive(Deserialize)]
        struct List {
            metadata: Option<ListMeta>,
            // They must be there, though a list without items may say `null`.
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

    /// Takes a byte that is not of the items.
    fn envelope(&mut self, byte: u8) {
        self.envelope.push(byte);
        self.between = None;
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.text.1 = self.envelope.len().saturating_sub(self.text.0 + 1);
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.0 = self.envelope.len();
            }
            b'{' | b'[' => {
                self.depth += 1;
                if byte == b'[' && self.depth == 2 && self.last_text() == b"items" {
                    self.between = Some(byte);
                }
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn last_text(&self) -> &[u8] {
        let (start, length) = self.text;
        self.envelope.get(start..start + length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(body: &str, size: usize) -> Result<(Vec<String>, Envelope), ScanFailure> {
        let mut cutter = ListSplitter::new();
        let mut items = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            cutter.push(chunk, |item| {
                items.push(String::from_utf8(item.to_vec()).unwrap());
                Ok(())
            })?;
        }
        Ok((items, cutter.finish()?))
    }

    #[test]
    fn items_are_cut_wherever_they_stand_and_the_body_is_torn() {
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
                let (cut, envelope) = cut(&body, size).unwrap();
                assert_eq!(cut, items, "{size}");
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
                cut(&body, 3).unwrap(),
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
    fn what_is_no_list_is_an_error() {
        for body in [
            "",
            "[]",
            "<html>",
            r#"{"items":[]}"#,
            r#"{"metadata":{},"items":[1]}"#,
            r#"{"metadata":{},"items":[{}"#,
            r#"{"metadata":{},"items":[{}]"#,
        ] {
            assert!(cut(body, 4).is_err(), "{body}");
        }
    }

    #[test]
    fn an_item_without_an_end_is_refused_by_its_name() {
        let mut cutter = ListSplitter::new();
        let begin =
            br#"{"items":[{"data":{"name":"x"},"metadata":{"labels":{"name":"y"},"name":"spy","namespace":"shop"},"#;
        cutter.push(begin, |_| Ok(())).unwrap();
        let chunk = vec![b' '; LONGEST];
        let refused = cutter.push(&chunk, |_| Ok(())).unwrap_err();
        assert_eq!(refused.object.as_deref(), Some("shop/spy"), "{refused}");
    }

    proptest! {
        #[test]
        fn nothing_makes_the_cutter_panic(body in r#"[\[\]{}",:\\items a1]{0,60}"#, size in 1usize..9) {
            let _ = cut(&body, size);
        }
    }
}
