//! A cursor over JSON text that skips values.
//!
//! It does not recurse: nested input uses no stack. In skipped values it checks only strings and the balance of brackets; other errors
//! show when the object is decoded.

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

    /// The key of the next entry of an object; the cursor is on its value afterwards. None after the last. `first` must be true before the
    /// first entry.
    pub(in crate::cache) fn entry(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, ScanError> {
        if !self.next_of(b'{', b'}', first)? {
            return Ok(None);
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Moves to the next element of an array; false after the last. `first` must be true before the first element.
    pub(in crate::cache) fn element(&mut self, first: &mut bool) -> Result<bool, ScanError> {
        self.next_of(b'[', b']', first)
    }

    /// Skips the next value and returns its text.
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
                // Without quotes: the cursor and the blocks must agree on where strings are.
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

    /// The position in the text, in bytes.
    pub(in crate::cache) fn position(&self) -> usize {
        self.at
    }

    /// The text from `position` to the cursor.
    pub(in crate::cache) fn since(&self, position: usize) -> &'a str {
        &self.text[position..self.at]
    }

    /// Fails unless only white space is left.
    pub(in crate::cache) fn end(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Moves to the next byte that is not white space and returns it.
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

    /// Moves from the opening quote to after the closing one. Returns whether the string has backslashes.
    #[inline]
    fn skip_string(&mut self) -> Result<bool, ScanError> {
        let end = self.blocks.string_end(self.text.as_bytes(), self.at + 1);
        let (end, has_backslash) = end.ok_or_else(|| self.torn())?;
        self.at = end;
        Ok(has_backslash)
    }

    /// Moves from the opening bracket to after the matching one.
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

/// The value of a JSON string; none if it is not a string.
pub(in crate::cache) fn unquoted(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
