//! The words of a text, in code and outside of it.

use std::{collections::BTreeSet, ops::Range};

use proc_macro2::{TokenStream, TokenTree};

/// Returns the identifiers of a text; none if it does not parse.
pub fn identifiers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    leaves(text.parse().unwrap_or_default(), &mut |token| {
        if let TokenTree::Ident(ident) = token {
            found.insert(ident.to_string());
        }
    });
    found
}

/// Returns the lines of a text that have one of the words.
pub fn word_lines(text: &str, words: &BTreeSet<&str>) -> Vec<usize> {
    let found = words_outside(text, &[])
        .into_iter()
        .filter(|(_, word)| words.contains(word));
    let mut lines: Vec<_> = found
        .map(|(range, _)| text[..range.start].matches('\n').count() + 1)
        .collect();
    lines.dedup();
    lines
}

/// Visits all tokens that are no groups.
pub(super) fn leaves(tokens: TokenStream, visitor: &mut dyn FnMut(&TokenTree)) {
    for token in tokens {
        match &token {
            TokenTree::Group(group) => leaves(group.stream(), visitor),
            token => visitor(token),
        }
    }
}

/// Returns the words of a text outside of these ranges.
pub(super) fn words_outside<'a>(text: &'a str, ranges: &[Range<usize>]) -> Vec<(Range<usize>, &'a str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_word = c.is_alphanumeric() || c == '_';
        match (is_word, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from..at, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    let mut ranges: Vec<_> = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    let mut next = ranges.iter().peekable();
    words.retain(|(word, _)| {
        while next.next_if(|range| range.end <= word.start).is_some() {}
        next.peek().is_none_or(|range| word.end <= range.start)
    });
    words
}
