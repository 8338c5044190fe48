//! A cursor over JSON text that skips what nobody asks for.
//!
//! It never recurses: the depth of the input costs no stack. Of what it skips it checks no more than strings and the balance of brackets:
//! what is wrong inside shows when the object is decoded.

use std::borrow::Cow;

use super::ScanError;

pub(in crate::cache) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(in crate::cache) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
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
            Some(b'"') => self.skip_string()?,
            Some(b'{' | b'[') => self.skip_container()?,
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                let rest = &self.bytes()[start..];
                let end = rest
                    .iter()
                    .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'));
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
        self.skip_string()?;
        unquoted(&self.text[start..self.at]).ok_or_else(|| self.expected("another escape"))
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
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.expected(&format!("`{}`", char::from(byte))))
    }

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
            _ => Err(self.expected(&format!("`,` or `{}`", char::from(close)))),
        }
    }

    /// From the opening quote to behind the closing one.
    fn skip_string(&mut self) -> Result<(), ScanError> {
        let end = string_end(self.bytes(), self.at);
        self.at = end.ok_or_else(|| self.torn())?;
        Ok(())
    }

    /// From the opening bracket to behind the one that balances it.
    fn skip_container(&mut self) -> Result<(), ScanError> {
        let bytes = self.bytes();
        let (mut at, mut depth) = (self.at, 0usize);
        while let Some(byte) = bytes.get(at) {
            match CLASSES[usize::from(*byte)] {
                Class::Other => {}
                Class::Quote => {
                    at = string_end(bytes, at).ok_or_else(|| self.torn())?;
                    continue;
                }
                Class::Open => depth += 1,
                Class::Close => depth -= 1,
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return Ok(());
            }
        }
        Err(self.torn())
    }

    fn expected(&self, what: &str) -> ScanError {
        if self.at >= self.text.len() {
            return self.torn();
        }
        ScanError(format!("expected {what} at byte {}", self.at))
    }

    fn torn(&self) -> ScanError {
        ScanError(format!("the JSON is torn at byte {}", self.text.len()))
    }
}

/// Where the string that begins at `start` has ended.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[derive(Clone, Copy)]
enum Class {
    Other,
    Quote,
    Open,
    Close,
}

/// What a byte means to one who only counts brackets. Looking it up was measured to be faster than comparing.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b'"' as usize] = Class::Quote;
    classes[b'{' as usize] = Class::Open;
    classes[b'[' as usize] = Class::Open;
    classes[b'}' as usize] = Class::Close;
    classes[b']' as usize] = Class::Close;
    classes
};

/// What a JSON string says; none when it is no string.
pub(in crate::cache) fn unquoted(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
