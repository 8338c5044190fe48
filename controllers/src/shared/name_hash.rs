//! Hashes in the names of objects that controllers create, with upstream's function and alphabet.

use std::io;

/// Characters of which no words are made. Upstream's alphabet.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

const OFFSET_BASIS: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

/// A hash in the making.
pub(crate) struct NameHash {
    hash: u32,
    function: HashFunction,
}

#[derive(Clone, Copy)]
enum HashFunction {
    Fnv1,
    Fnv1a,
}

impl NameHash {
    /// The hash FNV-1 with 32 bits, which names ControllerRevisions.
    pub(crate) fn fnv1() -> Self {
        Self {
            hash: OFFSET_BASIS,
            function: HashFunction::Fnv1,
        }
    }

    /// The hash FNV-1a with 32 bits, which names what has a pod template.
    pub(crate) fn fnv1a() -> Self {
        Self {
            hash: OFFSET_BASIS,
            function: HashFunction::Fnv1a,
        }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().map(u32::from) {
            self.hash = match self.function {
                HashFunction::Fnv1 => self.hash.wrapping_mul(PRIME) ^ byte,
                HashFunction::Fnv1a => (self.hash ^ byte).wrapping_mul(PRIME),
            };
        }
    }

    /// Returns the hash as at most ten characters that are valid in names and labels.
    pub(crate) fn finish(&self) -> String {
        encode(&self.hash.to_string())
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
    fn hash_functions_and_alphabet_are_upstreams() {
        for (mut hash, expected) in [(NameHash::fnv1(), 0x31f0_b262), (NameHash::fnv1a(), 0xbf9c_f968)] {
            hash.add(b"foobar");
            assert_eq!(hash.hash, expected);
            let text = hash.finish();
            assert!(
                text.len() <= 10 && text.bytes().all(|byte| ALPHABET.contains(&byte)),
                "{text}"
            );
        }
        assert_eq!(encode("0123456789"), "456789bcdf");
    }
}
