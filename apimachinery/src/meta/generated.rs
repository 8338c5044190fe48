//! Generated names and uids.

use rand::RngExt as _;

/// Characters of generated names: no vowels, so that they do not spell words.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_CHARS: usize = 5;
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_CHARS;

/// Generates a name from a prefix and a random suffix. A long prefix is cut.
pub fn generate_name(prefix: &str) -> String {
    let mut end = prefix.len().min(MAX_PREFIX_BYTES);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut random = rand::rng();
    let suffix =
        (0..SUFFIX_CHARS).map(|_| char::from(SUFFIX_ALPHABET[random.random_range(0..SUFFIX_ALPHABET.len())]));
    prefix[..end].chars().chain(suffix).collect()
}

/// Generates a uid: a random UUID, version 4.
pub fn new_uid() -> String {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_unique_and_at_most_63_bytes() {
        let name = generate_name(&"é".repeat(100));
        assert!(name.len() <= 63 && name.starts_with('é'));
        assert_ne!(generate_name("a-"), generate_name("a-"));
    }

    #[test]
    fn uids_are_version_4_uuids() {
        let uid = new_uid();
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
    }
}
