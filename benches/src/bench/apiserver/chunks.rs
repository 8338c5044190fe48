//! Decodes HTTP's chunked transfer encoding.

/// Decodes the chunks of one body from received pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct ChunkDecoder(ChunkState);

#[derive(Debug)]
enum ChunkState {
    /// In the chunk's size line: the value of the digits so far.
    Size(usize),
    /// In a chunk's data: the number of remaining bytes.
    Data(usize),
    /// In the line end after a chunk's data.
    DataEnd,
    /// In the line end after the last, empty chunk.
    BodyEnd,
    Finished,
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl ChunkDecoder {
    /// Passes the data to `data`, piece by piece, and returns how many bytes belong to the body. Sizes are not validated.
    pub(crate) fn decode<'a>(&mut self, bytes: &'a [u8], mut data: impl FnMut(&'a [u8])) -> usize {
        let mut at = 0;
        while let (Some(byte), false) = (bytes.get(at), self.is_finished()) {
            if let ChunkState::Data(left) = self.0 {
                let end = bytes.len().min(at + left);
                data(&bytes[at..end]);
                self.0 = match left - (end - at) {
                    0 => ChunkState::DataEnd,
                    left => ChunkState::Data(left),
                };
                at = end;
                continue;
            }
            at += 1;
            self.0 = match (&self.0, byte) {
                (ChunkState::Size(0), b'\n') => ChunkState::BodyEnd,
                (ChunkState::Size(size), b'\n') => ChunkState::Data(*size),
                (ChunkState::Size(size), byte) => {
                    let digit = char::from(*byte).to_digit(16);
                    ChunkState::Size(digit.map_or(*size, |digit| size * 16 + digit as usize))
                }
                (ChunkState::DataEnd, b'\n') => ChunkState::Size(0),
                (ChunkState::BodyEnd, b'\n') => ChunkState::Finished,
                _ => continue,
            };
        }
        at
    }

    /// Returns whether the body is complete.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.0, ChunkState::Finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_decoded_from_pieces_of_any_size() {
        let text = b"1A\r\nabcdefghijklmnopqrstuvwxyz\r\n3\r\n\n}\n\r\n0\r\n\r\nHTTP/1.1 200 OK";
        for size in 1..text.len() {
            let (mut decoder, mut body, mut used) = (ChunkDecoder::default(), vec![], 0);
            for piece in text.chunks(size) {
                used += decoder.decode(piece, |data| body.extend_from_slice(data));
            }
            assert_eq!(body, b"abcdefghijklmnopqrstuvwxyz\n}\n", "{size}");
            assert!(decoder.is_finished());
            assert_eq!(&text[used..], b"HTTP/1.1 200 OK");
        }
    }
}
