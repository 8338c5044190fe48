//! A cursor over JSON text that skips what nobody asks for.
//!
//! It never recurses: the depth of the input costs no stack. Of what it skips it checks no more than strings and the balance of brackets:
//! what is wrong inside shows when the object is decoded.

use std::{borrow::Cow, fmt::Display};

use super::{ScanError, blocks::Blocks};

pub(in crate::cache) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    blocks: Blocks,
}

impl<'a> Cursor<'a> {
    pub(in crate::cache) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            blocks: Blocks::default(),
        }
    }

    /// The key of the next entry of an object, with the cursor on its value; none behind the last. `first` must be true for the first.
    pub(in crate::cache) fn entry(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, ScanError> {
        if !self.next_of(b'{', b'}', first)? {
            return Ok(None);
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Whether the array has another element, with the cursor on it. `first` must be true for the first.
    pub(in crate::cache) fn element(&mut self, first: &mut bool) -> Result<bool, ScanError> {
        self.next_of(b'[', b']', first)
    }

    /// The text of the next value, which is skipped.
    pub(in crate::cache) fn value(&mut self) -> Result<&'a str, ScanError> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => {
                self.skip_string()?;
            }
            Some(b'{' | b'[') => self.skip_container()?,
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                let rest = &self.bytes()[start..];
                // No quote, or what is a string would be another matter to the cursor than to the blocks.
                let end = rest.iter().position(
                    |byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z'),
                );
                self.at = end.map_or(self.text.len(), |end| start + end);
            }
            _ => return Err(self.expected("a value")),
        }
        Ok(&self.text[start..self.at])
    }

    /// The next value, which must be a string.
    pub(in crate::cache) fn string(&mut self) -> Result<Cow<'a, str>, ScanError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        let start = self.at;
        if self.skip_string()? {
            let text = serde_json::from_str(&self.text[start..self.at]);
            return text.map_err(|_| self.expected("another escape")).map(Cow::Owned);
        }
        Ok(Cow::Borrowed(&self.text[start + 1..self.at - 1]))
    }

    /// How many bytes were read.
    pub(in crate::cache) fn position(&self) -> usize {
        self.at
    }

    /// What was read since a position.
    pub(in crate::cache) fn since(&self, position: usize) -> &'a str {
        &self.text[position..self.at]
    }

    /// Nothing but white space is left.
    pub(in crate::cache) fn end(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is no white space; the cursor stands on it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.expected(format_args!("`{}`", char::from(byte))))
    }

    #[inline]
    fn next_of(&mut self, open: u8, close: u8, first: &mut bool) -> Result<bool, ScanError> {
        if std::mem::take(first) {
            self.expect(open)?;
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(false);
            }
            return Ok(true);
        }
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.expected(format_args!("`,` or `{}`", char::from(close)))),
        }
    }

    /// From the opening quote to behind the closing one. Whether there are backslashes between them.
    #[inline]
    fn skip_string(&mut self) -> Result<bool, ScanError> {
        let end = self.blocks.string_end(self.text.as_bytes(), self.at + 1);
        let (end, has_backslash) = end.ok_or_else(|| self.torn())?;
        self.at = end;
        Ok(has_backslash)
    }

    /// From the opening bracket to behind the one that balances it.
    fn skip_container(&mut self) -> Result<(), ScanError> {
        let end = self
            .blocks
            .container_end(self.text.as_bytes(), self.at + 1, &mut 1);
        self.at = end.ok_or_else(|| self.torn())?;
        Ok(())
    }

    #[cold]
    fn expected(&self, what: impl Display) -> ScanError {
        if self.at >= self.text.len() {
            return self.torn();
        }
        ScanError(format!("expected {what} at byte {}", self.at))
    }

    #[cold]
    fn torn(&self) -> ScanError {
        ScanError(format!("the JSON is torn at byte {}", self.text.len()))
    }
}

/// What a JSON string says; none when it is no string.
pub(in crate::cache) fn unquoted(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
