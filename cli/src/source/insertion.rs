//! Insertion of text at positions of the syntax tree, with the file's line endings.

use std::ops::Range;

use super::InsertError;

/// A text with its syntax tree.
pub(super) struct SourceText<'a> {
    pub(super) text: &'a str,
    pub(super) file: syn::File,
    /// Bytes that the parser skips at the start (BOM and shebang); its positions count from there.
    offset: usize,
}

impl<'a> SourceText<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, InsertError> {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = syn::parse_file(rest).map_err(|error| {
            let line = error.span().start().line;
            let message = if is_conflict_marker(rest, line) {
                "it is a marker of a merge conflict".to_owned()
            } else {
                error.to_string()
            };
            InsertError::Syntax { line, message }
        })?;
        let shebang = file.shebang.as_ref().map_or(0, String::len);
        Ok(Self {
            text,
            file,
            offset: text.len() - rest.len() + shebang,
        })
    }

    /// Returns the byte range of a node.
    pub(super) fn range(&self, piece: &impl syn::spanned::Spanned) -> Range<usize> {
        let range = piece.span().byte_range();
        range.start + self.offset..range.end + self.offset
    }

    /// Returns the tokens of the text, whose ranges [`range`](Self::range) returns.
    pub(super) fn tokens(&self) -> proc_macro2::TokenStream {
        self.text[self.offset..].parse().unwrap_or_default()
    }

    /// Returns the number of the line of a position.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// Returns the text with ranges replaced, which do not overlap.
    pub(super) fn replace(&self, mut edits: Vec<(Range<usize>, String)>) -> String {
        edits.sort_by_key(|(range, _)| range.start);
        let mut text = self.text.to_owned();
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        text
    }

    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns the text with `addition` inserted; none if the result does not parse.
    pub(super) fn insert(&self, at: usize, addition: &str) -> Option<String> {
        let (before, after) = self.text.split_at_checked(at)?;
        let text = format!("{before}{addition}{after}");
        syn::parse_file(&text).is_ok().then_some(text)
    }

    /// Returns the text with a new line after the node that ends at `end`.
    pub(super) fn insert_line_after(&self, end: usize, line: &str) -> Option<String> {
        self.insert(self.end_of_line(end), &format!("{}{line}", self.newline()))
    }

    /// Returns the text with a new line before the node that starts at `start` and its comments.
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

    /// Returns the indentation before a position; empty if other text precedes it on its line.
    pub(super) fn indentation(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.text[line..at];
        if before.trim().is_empty() { before } else { "" }
    }

    /// Returns the end of the line if at most a comment follows `end` on it; otherwise `end`.
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

/// What git writes at the start of lines of a merge conflict.
const CONFLICT_MARKERS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

/// Whether a line of a text, counted from 1, is a marker of a merge conflict.
fn is_conflict_marker(text: &str, line: usize) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    CONFLICT_MARKERS.iter().any(|marker| line.starts_with(marker))
}
