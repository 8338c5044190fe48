//! Where the chunks of a body begin and end.

/// Cuts the chunks of one body out of what is received, however it is cut up.
#[derive(Debug, Default)]
pub(crate) struct Chunks(State);

#[derive(Debug)]
enum State {
    /// In the line that says how long the chunk is: the digits so far.
    Size(usize),
    /// In a chunk: how much of it is to come.
    Data(usize),
    /// In the line end behind a chunk.
    Behind,
    /// In the line end behind the last, empty one.
    Last,
    Ended,
}

impl Default for State {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl Chunks {
    /// Gives what is data to `data`, piece by piece, and says how many bytes belong to the body. Sizes are trusted.
    pub(crate) fn cut<'a>(&mut self, bytes: &'a [u8], mut data: impl FnMut(&'a [u8])) -> usize {
        let mut at = 0;
        while let (Some(byte), false) = (bytes.get(at), self.ended()) {
            if let State::Data(left) = self.0 {
                let end = bytes.len().min(at + left);
                data(&bytes[at..end]);
                self.0 = match left - (end - at) {
                    0 => State::Behind,
                    left => State::Data(left),
                };
                at = end;
                continue;
            }
            at += 1;
            self.0 = match (&self.0, byte) {
                (State::Size(0), b'\n') => State::Last,
                (State::Size(size), b'\n') => State::Data(*size),
                (State::Size(size), byte) => {
                    let digit = char::from(*byte).to_digit(16);
                    State::Size(digit.map_or(*size, |digit| size * 16 + digit as usize))
                }
                (State::Behind, b'\n') => State::Size(0),
                (State::Last, b'\n') => State::Ended,
                _ => continue,
            };
        }
        at
    }

    /// Whether the body is over.
    pub(crate) fn ended(&self) -> bool {
        matches!(self.0, State::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_cut_wherever_the_bytes_are() {
        let text = b"1A\r\nabcdefghijklmnopqrstuvwxyz\r\n3\r\n\n}\n\r\n0\r\n\r\nHTTP/1.1 200 OK";
        for size in 1..text.len() {
            let (mut chunks, mut body, mut used) = (Chunks::default(), vec![], 0);
            for piece in text.chunks(size) {
                used += chunks.cut(piece, |data| body.extend_from_slice(data));
            }
            assert_eq!(body, b"abcdefghijklmnopqrstuvwxyz\n}\n", "{size}");
            assert!(chunks.ended());
            assert_eq!(&text[used..], b"HTTP/1.1 200 OK");
        }
    }
}
