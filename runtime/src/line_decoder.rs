//! Splits the body of a watch into lines, for the cache and for the typed client.

/// Bytes of the longest accepted line. etcd accepts objects of 1.5 MiB unless it is configured otherwise.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// Capacity of the buffer that is kept from one line to the next.
const KEPT_BUFFER_BYTES: usize = 64 * 1024;

/// A line that does not end. An API server does not send such lines, and it would fill the memory.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a line is longer than {MAX_LINE_BYTES} bytes")]
pub(crate) struct LineTooLong;

/// Buffers the beginning of a line until the rest of it arrives.
#[derive(Debug, Default)]
pub(crate) struct LineDecoder {
    partial: Vec<u8>,
}

impl LineDecoder {
    /// Calls `each` with every line that `chunk` completes, without its end; stops at the first error. Skips empty lines.
    pub(crate) fn push<E>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (head, rest) = (&chunk[..end], &chunk[end + 1..]);
            chunk = rest;
            if self.partial.is_empty() {
                hand_over(head, &mut each)?;
            } else {
                self.partial.extend_from_slice(head);
                let result = hand_over(&self.partial, &mut each);
                self.partial.clear();
                self.partial.shrink_to(KEPT_BUFFER_BYTES);
                result?;
            }
        }
        self.partial.extend_from_slice(chunk);
        Ok(())
    }

    /// The beginning of the line that has not ended.
    pub(crate) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Fails if the line that has not ended is too long. To be called after each [`push`](Self::push).
    pub(crate) fn check_length(&self) -> Result<(), LineTooLong> {
        if self.partial.len() > MAX_LINE_BYTES {
            return Err(LineTooLong);
        }
        Ok(())
    }
}

fn hand_over<E>(line: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
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
    fn line_without_an_end_is_too_long() {
        let (mut lines, chunk) = (LineDecoder::default(), vec![b' '; MAX_LINE_BYTES / 2]);
        lines.push(b"{", |_| Ok::<_, ()>(())).unwrap();
        for expected in [true, false, false] {
            lines.push(&chunk, |_| Ok::<_, ()>(())).unwrap();
            assert_eq!(lines.check_length().is_ok(), expected);
        }
        lines.push(b"\n", |_| Ok::<_, ()>(())).unwrap();
        assert!(lines.check_length().is_ok());
    }

    proptest! {
        #[test]
        fn lines_are_whole_wherever_the_body_is_split(
            lines in prop::collection::vec("[a-z]{1,8}", 0..10),
            cuts in prop::collection::vec(1usize..7, 1..40),
        ) {
            let body = lines.iter().flat_map(|line| [line, "\r\n"]).collect::<String>();
            let mut decoder = LineDecoder::default();
            let mut seen = Vec::new();
            let mut rest = body.as_bytes();
            for cut in cuts.iter().cycle() {
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                decoder.push(chunk, |line| { seen.push(String::from_utf8(line.to_vec()).unwrap()); Ok::<_, ()>(()) }).unwrap();
                rest = after;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(seen, lines);
        }
    }
}
