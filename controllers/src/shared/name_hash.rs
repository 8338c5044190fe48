//! Hashes in the names of objects that controllers create, with upstream's function and alphabet.

use std::io;

/// Characters of which no words are made. Upstream's alphabet.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A hash in the making. The function is FNV-1a with 32 bits.
pub(crate) struct NameHash(u32);

impl Default for NameHash {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl NameHash {
    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }

    /// Returns the hash as at most ten characters that are valid in names and labels.
    pub(crate) fn finish(&self) -> String {
        encode(&self.0.to_string())
    }
}

/// Accepts every write.
impl io::Write for NameHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn encode(text: &str) -> String {
    let character = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
    text.bytes().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_function_and_alphabet_are_upstreams() {
        let mut hash = NameHash::default();
        hash.add(b"foobar");
        assert_eq!(hash.0, 0xbf9c_f968);
        assert_eq!(encode("0123456789"), "456789bcdf");
        let text = hash.finish();
        assert!(
            text.len() <= 10 && text.bytes().all(|byte| ALPHABET.contains(&byte)),
            "{text}"
        );
    }
}
