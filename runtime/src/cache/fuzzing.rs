//! Entry points of `cargo xtask fuzz`. Each panics if an invariant does not hold.

#![allow(missing_docs, clippy::missing_panics_doc, reason = "no part of the library")]

use super::{
    compression::{difference, restore},
    scan::oracle,
};

/// A line of a watch.
pub fn line(bytes: &[u8]) {
    oracle::check_line(bytes);
    if let Some(document) = oracle::parsed(bytes) {
        oracle::check_line_that_parses(&document);
    }
}

/// The body of a list, in chunks of the length in the first byte.
pub fn list(bytes: &[u8]) {
    if let [cut, body @ ..] = bytes {
        oracle::check_list(body, &[usize::from(*cut).max(1)]);
    }
}

/// The body of a watch, in chunks of the length in the first byte.
pub fn lines(bytes: &[u8]) {
    if let [cut, body @ ..] = bytes {
        oracle::check_lines(body, &[usize::from(*cut).max(1)]);
    }
}

/// Two texts: each decodes from its difference to the other, and decoding one as a difference does not panic.
pub fn differences(bytes: &[u8]) {
    let Some(middle) = memchr::memchr(0, bytes) else {
        return;
    };
    let (one, other) = (&bytes[..middle], &bytes[middle + 1..]);
    for (from, to) in [(one, other), (other, one)] {
        let (mut made, mut restored) = (Vec::new(), Vec::new());
        assert!(difference(from, to, usize::MAX, &mut made));
        assert_eq!(restore(from, &made, &mut restored), Some(()));
        assert_eq!(restored, to);
        let _ = restore(from, to, &mut Vec::new());
    }
}
