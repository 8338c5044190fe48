//! Where in a text, and in which line endings.

use std::ops::Range;

use super::InsertError;

/// A text that parses.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) file: syn::File,
    /// How much the parser left out at the start; its positions count from behind it.
    offset: usize,
}

impl<'a> Source<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, InsertError> {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = syn::parse_file(rest).map_err(|error| InsertError::Syntax {
            line: error.span().start().line,
            message: error.to_string(),
        })?;
        let shebang = file.shebang.as_ref().map_or(0, String::len);
        Ok(Self {
            text,
            file,
            offset: text.len() - rest.len() + shebang,
        })
    }

    /// The bytes of a piece of the tree.
    pub(super) fn range(&self, piece: &impl syn::spanned::Spanned) -> Range<usize> {
        let range = piece.span().byte_range();
        range.start + self.offset..range.end + self.offset
    }

    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The text with `addition` at a position, provided that it still parses.
    pub(super) fn insert(&self, at: usize, addition: &str) -> Option<String> {
        let (before, after) = self.text.split_at_checked(at)?;
        let text = format!("{before}{addition}{after}");
        syn::parse_file(&text).is_ok().then_some(text)
    }

    /// The text with a line of its own behind the piece that ends at `end`.
    pub(super) fn insert_line_after(&self, end: usize, line: &str) -> Option<String> {
        self.insert(self.end_of_line(end), &format!("{}{line}", self.newline()))
    }

    /// The text with a line of its own before the piece that starts at `start` and the comments that belong to it.
    pub(super) fn insert_line_before(&self, start: usize, line: &str) -> Option<String> {
        let mut at = start - self.indentation(start).len();
        while let Some(above) = self.text[..at].strip_suffix('\n') {
            let line_start = above.rfind('\n').map_or(0, |end| end + 1);
            let comment = above[line_start..].trim_start();
            if !comment.starts_with("//") || comment.starts_with("//!") {
                break;
            }
            at = line_start;
        }
        self.insert(at, &format!("{line}{}", self.newline()))
    }

    /// The blanks before a position that nothing but blanks precede on its line.
    pub(super) fn indentation(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.text[line..at];
        if before.trim().is_empty() { before } else { "" }
    }

    /// Behind a comment that follows `end` on its line; `end` itself where something else follows.
    pub(super) fn end_of_line(&self, end: usize) -> usize {
        let rest = &self.text[end..];
        let line = rest.split('\n').next().unwrap_or(rest).trim_end();
        if line.trim_start().is_empty() || line.trim_start().starts_with("//") {
            end + line.len()
        } else {
            end
        }
    }
}
