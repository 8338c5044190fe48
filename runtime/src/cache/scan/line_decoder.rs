//! Cuts the body of a watch into lines.

use super::{ScanError, ScanFailure};

/// What of the buffer is kept from one line to the next.
const KEPT: usize = 64 * 1024;

/// No line is longer: etcd takes objects of one and a half megabytes, unless it is told otherwise.
pub(super) const LONGEST: usize = 64 << 20;

/// Collects what is left of a line until the rest of it arrives.
#[derive(Debug, Default)]
pub(in crate::cache) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that `chunk` completes, without its end; stops at the first error. Empty lines are left out.
    pub(in crate::cache) fn push<E>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (head, rest) = (&chunk[..end], &chunk[end + 1..]);
            chunk = rest;
            if self.partial.is_empty() {
                one(head, &mut each)?;
            } else {
                self.partial.extend_from_slice(head);
                let result = one(&self.partial, &mut each);
                self.partial.clear();
                self.partial.shrink_to(KEPT);
                result?;
            }
        }
        self.partial.extend_from_slice(chunk);
        Ok(())
    }

    /// Fails when a line does not end: what sends it is no API server, and would fill the memory.
    pub(in crate::cache) fn check(&self) -> Result<(), ScanFailure> {
        if self.partial.len() <= LONGEST {
            return Ok(());
        }
        let error = ScanError(format!("a line is longer than {LONGEST} bytes"));
        Err(ScanFailure::line(error, &self.partial))
    }
}

fn one<E>(line: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    match line.trim_ascii() {
        [] => Ok(()),
        line => each(line),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_without_an_end_is_refused() {
        let (mut lines, chunk) = (Lines::default(), vec![b' '; LONGEST / 2]);
        let begin = br#"{"type":"ADDED","object":{"metadata":{"name":"spy","namespace":"shop"},"data":""#;
        lines.push(begin, |_| Ok::<_, ()>(())).unwrap();
        for expected in [true, false, false] {
            lines.push(&chunk, |_| Ok::<_, ()>(())).unwrap();
            assert_eq!(lines.check().is_ok(), expected);
        }
        assert_eq!(lines.check().unwrap_err().object.as_deref(), Some("shop/spy"));
        lines.push(b"\n", |_| Ok::<_, ()>(())).unwrap();
        assert!(lines.check().is_ok());
    }

    proptest! {
        #[test]
        fn lines_are_whole_however_the_body_is_cut(
            lines in prop::collection::vec("[a-z]{1,8}", 0..10),
            cuts in prop::collection::vec(1usize..7, 1..40),
        ) {
            let body = lines.iter().flat_map(|line| [line, "\r\n"]).collect::<String>();
            let mut framer = Lines::default();
            let mut seen = Vec::new();
            let mut rest = body.as_bytes();
            for cut in cuts.iter().cycle() {
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                framer.push(chunk, |line| { seen.push(String::from_utf8(line.to_vec()).unwrap()); Ok::<_, ()>(()) }).unwrap();
                rest = after;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(seen, lines);
        }
    }
}
