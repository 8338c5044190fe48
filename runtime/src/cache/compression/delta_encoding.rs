//! Delta encoding: a JSON text as its difference to a similar one.
//!
//! Replicas of one template differ in names, addresses and times. Encoding compares bytes from left to right, a tenth of the work of a
//! general compressor; decoding copies.
//!
//! A difference is a sequence of steps. Each step has three numbers and some text: bytes to copy from the base, bytes to skip in the base,
//! and bytes to insert, which follow. Numbers are little-endian base 128.

use memchr::{memchr, memchr_iter};

/// Bytes that must be equal after a difference.
const MIN_EQUAL_BYTES: usize = 8;
/// Bytes that are compared at a time.
const COMPARED_BYTES: usize = 32;
const WORD_BYTES: usize = 8;
/// Quotes on either side that are tried as the place from which the texts are equal again.
const MAX_QUOTES: usize = 16;

/// Appends to `out` the difference that leads from `from` to `to`. Returns false and leaves `out` as it was if it is longer than `limit`.
pub(in crate::cache) fn difference(from: &[u8], to: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let (mut at, mut there) = (0, 0);
    while at < to.len() {
        let copy = common_prefix(&from[there..], &to[at..]);
        let (rest_from, rest) = (&from[there + copy..], &to[at + copy..]);
        let (skip, insert) = next_equal(rest_from, rest);
        number(copy, out);
        number(skip, out);
        number(insert, out);
        out.extend_from_slice(&rest[..insert]);
        if out.len() - start > limit {
            out.truncate(start);
            return false;
        }
        there += copy + skip;
        at += copy + insert;
    }
    true
}

/// Appends the text that `difference` encodes relative to `from`. None if it is no difference to `from`.
pub(in crate::cache) fn restore(from: &[u8], mut difference: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let mut there = 0_usize;
    while !difference.is_empty() {
        let [copy, skip, insert] = [(); 3].map(|()| read_number(&mut difference));
        let (copy, skip, insert) = (copy?, skip?, insert?);
        let copied = there.checked_add(copy)?;
        to.extend_from_slice(from.get(there..copied)?);
        let (inserted, rest) = difference.split_at_checked(insert)?;
        to.extend_from_slice(inserted);
        there = copied.checked_add(skip)?;
        difference = rest;
    }
    Some(())
}

/// The length of the common prefix.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    // Most of a replica is equal: blocks that the compiler compares with vector instructions.
    let blocks = one
        .as_chunks::<COMPARED_BYTES>()
        .0
        .iter()
        .zip(other.as_chunks().0);
    let in_blocks = COMPARED_BYTES * blocks.take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[in_blocks..], &other[in_blocks..]);
    let words = one.as_chunks::<WORD_BYTES>().0.iter().zip(other.as_chunks().0);
    let mut equal = in_blocks;
    for (word, other_word) in words {
        let differing = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other_word);
        if differing != 0 {
            return equal + (differing.trailing_zeros() / u8::BITS) as usize;
        }
        equal += WORD_BYTES;
    }
    let rest = one.iter().zip(other).skip(equal - in_blocks);
    equal + rest.take_while(|(one, other)| one == other).count()
}

/// Whether they are equal for some bytes, or to the end.
fn are_equal_at_start(one: &[u8], other: &[u8]) -> bool {
    match (
        one.first_chunk::<MIN_EQUAL_BYTES>(),
        other.first_chunk::<MIN_EQUAL_BYTES>(),
    ) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Bytes to skip on either side until they are equal again: all of them if they never are.
fn next_equal(one: &[u8], other: &[u8]) -> (usize, usize) {
    // The end of most texts: without this, the search there takes as long as everything else.
    if one.is_empty() || other.is_empty() {
        return (one.len(), other.len());
    }
    // Values of the same length, such as random suffixes and uids.
    if let Some(end) = memchr(b'"', other)
        && one
            .get(end..)
            .is_some_and(|one| are_equal_at_start(one, &other[end..]))
    {
        return (end, end);
    }
    let (mut ones, mut others) = (Quotes::of(one), Quotes::of(other));
    // The nearest quotes first.
    for distance in 0..2 * MAX_QUOTES {
        for step in distance.saturating_sub(MAX_QUOTES - 1)..=distance.min(MAX_QUOTES - 1) {
            let (Some(skip), Some(insert)) = (ones.get(step), others.get(distance - step)) else {
                continue;
            };
            if are_equal_at_start(&one[skip..], &other[insert..]) {
                return (skip, insert);
            }
        }
    }
    (one.len(), other.len())
}

/// The positions of the first quotes of a text, found on demand.
struct Quotes<'t> {
    next: memchr::Memchr<'t>,
    found: [usize; MAX_QUOTES],
    count: usize,
    is_over: bool,
}

impl<'t> Quotes<'t> {
    fn of(text: &'t [u8]) -> Self {
        Self {
            next: memchr_iter(b'"', text),
            found: [0; MAX_QUOTES],
            count: 0,
            is_over: false,
        }
    }

    fn get(&mut self, position: usize) -> Option<usize> {
        while self.count <= position && !self.is_over {
            match self.next.next() {
                Some(found) => {
                    self.found[self.count] = found;
                    self.count += 1;
                }
                None => self.is_over = true,
            }
        }
        self.found[..self.count].get(position).copied()
    }
}

fn number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(0x80 | low_bits(number));
        number >>= 7;
    }
    out.push(low_bits(number));
}

fn low_bits(number: usize) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or_default()
}

fn read_number(from: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, address: &str, restarts: u64, ready: bool) -> Vec<u8> {
        let mut conditions = vec![
            json!({"type": "Scheduled", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}),
        ];
        if ready {
            conditions.push(
                json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:09Z"}),
            );
        }
        let environment: Vec<Value> = (0..20)
            .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value-{}", number * 7919)}))
            .collect();
        let pod = json!({
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "example.test/shop:1", "env": environment}]},
            "status": {"podIP": address, "conditions": conditions, "restartCount": restarts, "phase": "Running"},
        });
        pod.to_string().into_bytes()
    }

    fn is_restored(from: &[u8], to: &[u8], limit: usize) -> Option<usize> {
        let mut made = b"before".to_vec();
        if !difference(from, to, limit, &mut made) {
            assert_eq!(made, b"before");
            return None;
        }
        let mut restored = b"{".to_vec();
        restore(from, &made[6..], &mut restored).unwrap();
        assert_eq!(restored[1..], *to);
        Some(made.len() - 6)
    }

    #[test]
    fn replicas_differ_in_little() {
        let first = pod("shop-5d4f-abcde", "10.0.0.7", 0, true);
        for (other, most) in [
            (first.clone(), 6),
            (pod("shop-5d4f-xyzzz", "10.0.0.7", 0, true), 20),
            (pod("shop-5d4f-xyzzz", "10.12.130.71", 12, true), 60),
            // A condition less, and one more than the other has.
            (pod("shop-5d4f-abcde", "10.0.0.7", 0, false), 20),
        ] {
            let there = is_restored(&first, &other, 1000).unwrap();
            let back = is_restored(&other, &first, 1000).unwrap();
            assert!(
                there <= most && back <= most + 100,
                "{there} and {back} of {most}"
            );
        }
        assert!(first.len() > 1000);
    }

    #[test]
    fn what_is_not_alike_is_refused() {
        let first = pod("shop-5d4f-abcde", "10.0.0.7", 0, true);
        let other = vec![b'x'; 3000];
        assert_eq!(is_restored(&first, &other, 600), None);
        assert_eq!(is_restored(b"", b"", 600), Some(0));
        assert_eq!(is_restored(&first, b"", 600), Some(0));
        assert_eq!(is_restored(b"", b"{}", 600), Some(5));
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let word = prop::sample::select(vec![
            "\"name\":",
            "\"a\"",
            ",",
            "12",
            "{",
            "}",
            "\"long text of a value\"",
            "true",
        ]);
        prop::collection::vec(word, 0..60).prop_map(|words| words.concat().into_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_text_is_restored_from_any_other(from in text(), to in text()) {
            is_restored(&from, &to, usize::MAX);
        }

        #[test]
        fn a_damaged_difference_is_no_panic(from in text(), damaged in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut to = Vec::new();
            let _ = restore(&from, &damaged, &mut to);
            prop_assert!(to.len() <= (from.len() + 200) * 200);
        }
    }
}
