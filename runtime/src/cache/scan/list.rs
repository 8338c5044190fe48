//! Cuts the body of a list into its items as it arrives.

use serde::Deserialize;

use super::object::ScanError;

/// Hands out the items of a list one by one; keeps no more than one item and what surrounds them.
///
/// It only counts brackets: what an item is worth, the [`Scanner`](super::Scanner) says.
#[derive(Debug)]
pub(in crate::cache) struct ListCutter {
    /// The list without its items.
    envelope: Vec<u8>,
    /// The beginning of an item whose end has not arrived.
    partial: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Where in the envelope the last text of the list's own level begins, behind its quote, and its length.
    text: (usize, usize),
    in_items: bool,
}

/// What surrounds the items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cache) struct Envelope {
    /// The version of the whole list; empty when the server names none.
    pub(in crate::cache) resource_version: String,
    /// How to ask for the next page.
    pub(in crate::cache) continue_token: Option<String>,
}

impl ListCutter {
    pub(in crate::cache) fn new() -> Self {
        Self {
            envelope: Vec::new(),
            partial: Vec::new(),
            depth: 0,
            in_string: false,
            escaped: false,
            text: (0, 0),
            in_items: false,
        }
    }

    /// Calls `each` with every item that `chunk` completes; stops at the first error.
    pub(in crate::cache) fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), ScanError>,
    ) -> Result<(), ScanError> {
        // Where the part of the item begins that is in this chunk.
        let mut item = (self.in_items && self.depth > 2).then_some(0);
        let mut next = 0;
        while let Some(&byte) = chunk.get(next) {
            if self.in_items
                && self.depth > 2
                && !(self.depth == 3 && !self.in_string && matches!(byte, b'}' | b']'))
            {
                next = self.within_item(chunk, next, byte);
                continue;
            }
            let at = next;
            next += 1;
            let between_items = self.in_items && self.depth == 2;
            if between_items && !matches!(byte, b'{' | b']' | b',') && !byte.is_ascii_whitespace() {
                return Err(ScanError("an item of the list is no object".into()));
            }
            self.step(byte);
            if self.in_items {
                if between_items && self.depth == 3 {
                    item = Some(at);
                } else if !between_items && self.depth == 2 && !self.in_string {
                    let Some(start) = item.take() else { continue };
                    let rest = &chunk[start..=at];
                    if self.partial.is_empty() {
                        each(rest)?;
                    } else {
                        self.partial.extend_from_slice(rest);
                        let whole = std::mem::take(&mut self.partial);
                        each(&whole)?;
                    }
                } else if self.depth < 2 {
                    self.in_items = false;
                    self.envelope.push(byte);
                }
            } else {
                self.envelope.push(byte);
                self.in_items =
                    byte == b'[' && self.depth == 2 && !self.in_string && self.last_text() == b"items";
            }
        }
        if let Some(start) = item {
            self.partial.extend_from_slice(&chunk[start..]);
        }
        Ok(())
    }

    /// The list without its items, once the body has ended.
    pub(in crate::cache) fn finish(self) -> Result<Envelope, ScanError> {
        #[derive(Deserialize)]
        struct List {
            metadata: Option<ListMeta>,
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
        let metadata = list
            .metadata
            .ok_or_else(|| ScanError("the list has no metadata".into()))?;
        Ok(Envelope {
            resource_version: metadata.resource_version.unwrap_or_default(),
            continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
        })
    }

    /// Goes on within an item, which most bytes of a list are: over the whole rest of a text at once. Returns where to go on.
    fn within_item(&mut self, chunk: &[u8], at: usize, byte: u8) -> usize {
        if !self.in_string {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            return at + 1;
        }
        if self.escaped {
            self.escaped = false;
            return at + 1;
        }
        let Some(offset) = memchr::memchr2(b'"', b'\\', &chunk[at..]) else {
            return chunk.len();
        };
        let found = at + offset;
        self.escaped = chunk[found] == b'\\';
        self.in_string = self.escaped;
        found + 1
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.text.1 = self.envelope.len().saturating_sub(self.text.0);
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.0 = self.envelope.len() + 1;
            }
            b'{' | b'[' => self.depth += 1,
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

    fn cut(body: &str, size: usize) -> Result<(Vec<String>, Envelope), ScanError> {
        let mut cutter = ListCutter::new();
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

    proptest! {
        #[test]
        fn nothing_makes_the_cutter_panic(body in r#"[\[\]{}",:\\items a1]{0,60}"#, size in 1usize..9) {
            let _ = cut(&body, size);
        }
    }
}
