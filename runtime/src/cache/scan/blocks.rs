//! Finds the ends of strings and containers in JSON, in blocks of 64 bytes with one bit per byte.
//!
//! A block that cannot contain the end of a container costs two bit counts; only the others are searched bracket by bracket. A backslash
//! escapes a quote anywhere; valid JSON has none outside of strings.
//!
//! Long containers are skipped with the processor's widest instructions, which are detected at run time: operators are built for any
//! processor of the architecture.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

const BLOCK_BYTES: usize = 64;

/// The even bits.
const EVEN_BITS: u64 = 0x5555_5555_5555_5555;

/// Reads a text in one or more chunks, each block once. A search must not begin before the block that was read last.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Blocks of the chunk that were read.
    count: usize,
    /// The block that was read last.
    last: Block,
    carry: Carry,
}

/// The structure of a block; the lowest bit is the first byte.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Quotes that begin and end strings.
    quotes: u64,
    backslashes: u64,
    /// Opening brackets and braces outside of strings.
    opens: u64,
    closes: u64,
}

/// The state at the end of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Carry {
    /// All bits if the next block begins within a string, else none.
    in_string: u64,
    /// The lowest bit if the first byte of the next block is escaped, else none.
    escaped: u64,
}

impl Blocks {
    /// The end of the string that contains `at`, behind its quote, and whether it has backslashes from `at` on. None if the text does not end
    /// it.
    #[inline]
    pub(super) fn string_end(&mut self, text: &[u8], at: usize) -> Option<(usize, bool)> {
        // Most strings end in the block in which they begin.
        if at / BLOCK_BYTES < self.count
            && let (string, Some(end)) = self.last.string(!0 << (at % BLOCK_BYTES))
        {
            return Some((at - at % BLOCK_BYTES + end, self.last.backslashes & string != 0));
        }
        self.long_string_end(text, at)
    }

    fn long_string_end(&mut self, text: &[u8], mut at: usize) -> Option<(usize, bool)> {
        let mut has_backslash = false;
        while at < text.len() {
            let within = self.seek(text, at);
            let (string, end) = self.last.string(within);
            has_backslash |= self.last.backslashes & string != 0;
            at -= at % BLOCK_BYTES;
            if let Some(end) = end {
                return Some((at + end, has_backslash));
            }
            at += BLOCK_BYTES;
        }
        None
    }

    /// The end of the container that is open at `at`, behind its bracket; `depth` is the nesting depth there. None if the chunk does not end
    /// it; then `depth` is that at the end of the chunk.
    pub(super) fn container_end(&mut self, chunk: &[u8], at: usize, depth: &mut usize) -> Option<usize> {
        if at >= chunk.len() {
            return None;
        }
        let within = self.seek(chunk, at);
        if let Some(bit) = self.last.balance(within, depth) {
            return Some(at - at % BLOCK_BYTES + bit + 1);
        }
        let start = self.count * BLOCK_BYTES;
        let (blocks, rest) = chunk.get(start..).unwrap_or_default().as_chunks();
        let end = dispatch!(Level::new(), simd => self.carry.end_of(simd, blocks, depth));
        if let Some((index, block, bit)) = end {
            self.count += index + 1;
            self.last = block;
            return Some(start + index * BLOCK_BYTES + bit + 1);
        }
        self.count += blocks.len();
        if rest.is_empty() {
            return None;
        }
        self.read(rest);
        let bit = self.last.balance(!0, depth)?;
        Some(start + blocks.len() * BLOCK_BYTES + bit + 1)
    }

    /// Continues with the next chunk, after the present one was read to its end.
    pub(super) fn next_chunk(&mut self) {
        self.count = 0;
    }

    /// Reads up to the block of `at`. Returns a mask of that byte and those after it.
    #[inline]
    fn seek(&mut self, chunk: &[u8], at: usize) -> u64 {
        while self.count <= at / BLOCK_BYTES {
            self.read(&chunk[self.count * BLOCK_BYTES..]);
        }
        !0 << (at % BLOCK_BYTES)
    }

    fn read(&mut self, chunk: &[u8]) {
        self.count += 1;
        self.last = match chunk.first_chunk() {
            Some(bytes) => dispatch!(Level::baseline(), simd => self.carry.block(simd, bytes)),
            None => self.carry.rest(chunk),
        };
    }
}

impl Carry {
    /// The block in which `depth` becomes zero: its position, the block, and the bit.
    #[expect(
        clippy::inline_always,
        reason = "compiled for each kind of processor where it is dispatched"
    )]
    #[inline(always)]
    fn end_of<S: Simd>(
        &mut self,
        simd: S,
        blocks: &[[u8; BLOCK_BYTES]],
        depth: &mut usize,
    ) -> Option<(usize, Block, usize)> {
        // Local copies, which the compiler keeps in registers.
        let (mut carry, mut deep) = (*self, *depth);
        let mut end = None;
        for (index, bytes) in blocks.iter().enumerate() {
            let block = carry.block(simd, bytes);
            if let Some(bit) = block.balance(!0, &mut deep) {
                end = Some((index, block, bit));
                break;
            }
        }
        (*self, *depth) = (carry, deep);
        end
    }

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S, bytes: &[u8; BLOCK_BYTES]) -> Block {
        self.read(simd, bytes).0
    }

    /// Reads the bytes after the last whole block.
    fn rest(&mut self, bytes: &[u8]) -> Block {
        let mut padded = [0; BLOCK_BYTES];
        padded[..bytes.len()].copy_from_slice(bytes);
        let (block, escaped) = dispatch!(Level::baseline(), simd => self.read(simd, &padded));
        self.escaped = escaped >> bytes.len() & 1;
        block
    }

    /// The block, and its escaped bytes other than backslashes.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn read<S: Simd>(&mut self, simd: S, bytes: &[u8; BLOCK_BYTES]) -> (Block, u64) {
        let [quotes, backslashes, opens, closes] = classes(simd, bytes);
        let escaped = self.escaped_by(backslashes);
        let quotes = quotes & !escaped;
        let in_string = parity(quotes) ^ self.in_string;
        self.in_string = 0u64.wrapping_sub(in_string >> 63);
        let block = Block {
            quotes,
            backslashes,
            opens: opens & !in_string,
            closes: closes & !in_string,
        };
        (block, escaped)
    }

    #[inline]
    fn escaped_by(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        // An escaped backslash belongs to no run. A run of odd length escapes the byte after it.
        let runs = backslashes & !self.escaped;
        let starts = runs & !(runs << 1);
        // Adding its start to a run clears it and sets the bit after it. If the length is odd, that bit is odd for an even start, and vice versa.
        let after_even = runs.wrapping_add(starts & EVEN_BITS);
        let (after_odd, leaves) = runs.overflowing_add(starts & !EVEN_BITS);
        let escaped = (after_even & !EVEN_BITS | after_odd & EVEN_BITS) & !runs | self.escaped;
        self.escaped = u64::from(leaves);
        escaped
    }
}

impl Block {
    /// The bytes in `within` before the first quote, and the position after that quote.
    #[inline]
    fn string(&self, within: u64) -> (u64, Option<usize>) {
        let quotes = self.quotes & within;
        let string = within & !quotes & quotes.wrapping_sub(1);
        (
            string,
            (quotes != 0).then(|| quotes.trailing_zeros() as usize + 1),
        )
    }

    /// Counts the brackets of the bytes in `within`. Returns the bit at which `depth`, which is not zero, becomes zero.
    #[inline]
    fn balance(&self, within: u64, depth: &mut usize) -> Option<usize> {
        let (opens, closes) = (self.opens & within, self.closes & within);
        if closes == 0 {
            *depth += opens.count_ones() as usize;
            return None;
        }
        let close_count = closes.count_ones() as usize;
        if close_count < *depth {
            *depth += opens.count_ones() as usize;
            *depth -= close_count;
            return None;
        }
        let mut brackets = opens | closes;
        while brackets != 0 {
            let bracket = brackets & brackets.wrapping_neg();
            if opens & bracket != 0 {
                *depth += 1;
            } else {
                *depth -= 1;
                if *depth == 0 {
                    return Some(bracket.trailing_zeros() as usize);
                }
            }
            brackets ^= bracket;
        }
        None
    }
}

/// The positions of quotes, backslashes, opening and closing brackets.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn classes<S: Simd>(simd: S, bytes: &[u8; BLOCK_BYTES]) -> [u64; 4] {
    let bytes = u8x64::simd_from(simd, *bytes);
    // Brackets and braces differ only in this bit, and no other byte becomes one of them.
    let folded = bytes | 0x20;
    let found = [
        bytes.simd_eq(b'"'),
        bytes.simd_eq(b'\\'),
        folded.simd_eq(b'{'),
        folded.simd_eq(b'}'),
    ];
    found.map(SimdMask::to_bitmask)
}

/// For each bit, whether the number of set bits up to and including it is odd.
#[inline]
fn parity(bits: u64) -> u64 {
    let bits = bits ^ bits << 1;
    let bits = bits ^ bits << 2;
    let bits = bits ^ bits << 4;
    let bits = bits ^ bits << 8;
    let bits = bits ^ bits << 16;
    bits ^ bits << 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference: quotes of strings and brackets outside of them, byte by byte.
    struct ByteByByte {
        text: Vec<u8>,
        quotes: Vec<bool>,
        brackets: Vec<i8>,
    }

    impl ByteByByte {
        fn new(text: Vec<u8>) -> Self {
            let (mut in_string, mut escaped) = (false, false);
            let (mut quotes, mut brackets) = (Vec::new(), Vec::new());
            for byte in &text {
                let quote = *byte == b'"' && !escaped;
                in_string ^= quote;
                escaped = *byte == b'\\' && !escaped;
                quotes.push(quote);
                brackets.push(match byte {
                    b'{' | b'[' if !in_string => 1,
                    b'}' | b']' if !in_string => -1,
                    _ => 0,
                });
            }
            Self {
                text,
                quotes,
                brackets,
            }
        }

        fn string_end(&self, at: usize) -> Option<(usize, bool)> {
            let end = at + self.quotes[at..].iter().position(|quote| *quote)?;
            Some((end + 1, self.text[at..end].contains(&b'\\')))
        }

        fn container_end(&self, at: usize, depth: &mut usize) -> Option<usize> {
            for (index, change) in self.brackets.iter().enumerate().skip(at) {
                *depth = depth.strict_add_signed((*change).into());
                if *depth == 0 {
                    return Some(index + 1);
                }
            }
            None
        }
    }

    /// Dense JSON syntax, runs of backslashes and long strings, often at the end of a block.
    fn structural_bytes() -> impl Strategy<Value = Vec<u8>> {
        let dense = prop::collection::vec(prop::sample::select(br#"""\\{}[]:,a "#.to_vec()), 0..40);
        let run = (1usize..140, prop::sample::select(br"\\[{}] a".to_vec()));
        let run = run.prop_map(|(count, byte)| vec![byte; count]);
        let quoted = (0usize..70).prop_map(|count| [b"\"", &*vec![b'a'; count], b"\""].concat());
        let part = prop_oneof![2 => dense, 1 => run, 1 => quoted];
        let parts = prop::collection::vec((part, any::<bool>()), 0..12);
        parts.prop_map(|parts| {
            let mut text: Vec<u8> = Vec::new();
            for (part, is_at_border) in parts {
                text.extend(part);
                if is_at_border {
                    text.resize(text.len().next_multiple_of(BLOCK_BYTES), b' ');
                }
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn blocks_agree_with_a_byte_by_byte_search(
            text in structural_bytes(),
            steps in prop::collection::vec((0usize..80, prop::option::of(1usize..9)), 1..20),
        ) {
            let plain = ByteByByte::new(text);
            let (mut blocks, mut at) = (Blocks::default(), 0);
            for (skipped, depth) in steps {
                at = (at + skipped).min(plain.text.len());
                let end = if let Some(depth) = depth {
                    let (mut found, mut expected) = (depth, depth);
                    let end = blocks.container_end(&plain.text, at, &mut found);
                    prop_assert_eq!(end, plain.container_end(at, &mut expected));
                    if end.is_none() {
                        prop_assert_eq!(found, expected);
                    }
                    end
                } else {
                    let end = blocks.string_end(&plain.text, at);
                    prop_assert_eq!(end, plain.string_end(at));
                    end.map(|(end, _)| end)
                };
                let Some(end) = end else { break };
                at = end;
            }
        }

        #[test]
        fn container_end_does_not_depend_on_chunks(
            text in structural_bytes(),
            depth in 1usize..9,
            cuts in prop::collection::vec(1usize..150, 1..9),
        ) {
            let (mut found, mut expected) = (depth, depth);
            let plain = ByteByByte::new(text);
            let end = plain.container_end(0, &mut expected);
            let (mut blocks, mut rest, mut chunked_end) = (Blocks::default(), &*plain.text, None);
            for cut in cuts.iter().cycle() {
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                chunked_end = blocks.container_end(chunk, 0, &mut found);
                if chunked_end.is_some() || after.is_empty() {
                    break;
                }
                blocks.next_chunk();
                rest = after;
            }
            prop_assert_eq!(chunked_end.map(|end| plain.text.len() - rest.len() + end), end);
            if end.is_none() {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn escaped_quotes_are_recognized_across_block_boundaries() {
        for before in 0..130 {
            for backslashes in 0..70 {
                let text = format!("{}{}\"a\"}}", " ".repeat(before), "\\".repeat(backslashes));
                let expected = match backslashes % 2 {
                    0 => Some((before + backslashes + 1, backslashes > 0)),
                    _ => Some((before + backslashes + 3, true)),
                };
                let found = Blocks::default().string_end(text.as_bytes(), before);
                assert_eq!(found, expected, "{before} {backslashes}");
            }
        }
    }
}
