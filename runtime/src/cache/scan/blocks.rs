//! JSON text in blocks of 64 bytes: where strings begin and end and which brackets stand outside of them, a bit a byte.
//!
//! A block that cannot hold the end of what is skipped costs two counts of bits; only the others are walked bracket by bracket.
//! A backslash escapes a quote wherever it stands; outside of strings no JSON has one.
//!
//! Long containers are walked with what the processor has, found out when the program runs: an operator is built for any of its kind.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

const BLOCK: usize = 64;

const EVEN: u64 = 0x5555_5555_5555_5555;

/// Reads a text that may come in pieces, each block once. What is asked for must not lie before the last block that was read.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// How many blocks of the piece were read.
    count: usize,
    /// The last of them.
    last: Block,
    carry: Carry,
}

/// What stands in a block; the lowest bit is the first byte.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// The quotes that begin and end strings.
    quotes: u64,
    backslashes: u64,
    /// Brackets of both kinds, outside of strings.
    opens: u64,
    closes: u64,
}

/// What the text so far means for the block that follows.
#[derive(Debug, Clone, Copy, Default)]
struct Carry {
    /// All bits within a string, else none.
    in_string: u64,
    /// The lowest bit when the block's first byte is escaped, else none.
    escaped: u64,
}

impl Blocks {
    /// Behind the string in which `at` stands, and whether there are backslashes from there on; none when the text does not end it.
    #[inline]
    pub(super) fn string_end(&mut self, text: &[u8], at: usize) -> Option<(usize, bool)> {
        // Mostly it ends in the block in which it began.
        if at / BLOCK < self.count
            && let (string, Some(end)) = self.last.string(!0 << (at % BLOCK))
        {
            return Some((at - at % BLOCK + end, self.last.backslashes & string != 0));
        }
        self.long_string_end(text, at)
    }

    fn long_string_end(&mut self, text: &[u8], mut at: usize) -> Option<(usize, bool)> {
        let mut has_backslash = false;
        while at < text.len() {
            let within = self.seek(text, at);
            let (string, end) = self.last.string(within);
            has_backslash |= self.last.backslashes & string != 0;
            at -= at % BLOCK;
            if let Some(end) = end {
                return Some((at + end, has_backslash));
            }
            at += BLOCK;
        }
        None
    }

    /// Behind the container that is open `depth` brackets deep at `at`; none when the piece does not end it, with the depth at its end.
    pub(super) fn container_end(&mut self, piece: &[u8], at: usize, depth: &mut usize) -> Option<usize> {
        if at >= piece.len() {
            return None;
        }
        let within = self.seek(piece, at);
        if let Some(bit) = self.last.balance(within, depth) {
            return Some(at - at % BLOCK + bit + 1);
        }
        let start = self.count * BLOCK;
        let (blocks, rest) = piece.get(start..).unwrap_or_default().as_chunks();
        let end = dispatch!(Level::new(), simd => self.carry.end_of(simd, blocks, depth));
        if let Some((index, block, bit)) = end {
            self.count += index + 1;
            self.last = block;
            return Some(start + index * BLOCK + bit + 1);
        }
        self.count += blocks.len();
        if rest.is_empty() {
            return None;
        }
        self.read(rest);
        let bit = self.last.balance(!0, depth)?;
        Some(start + blocks.len() * BLOCK + bit + 1)
    }

    /// What follows continues the piece that was read to its end.
    pub(super) fn next_piece(&mut self) {
        self.count = 0;
    }

    /// Reads up to the block of `at`. The bits of that byte and of those behind it.
    #[inline]
    fn seek(&mut self, piece: &[u8], at: usize) -> u64 {
        while self.count <= at / BLOCK {
            self.read(&piece[self.count * BLOCK..]);
        }
        !0 << (at % BLOCK)
    }

    fn read(&mut self, piece: &[u8]) {
        self.count += 1;
        self.last = match piece.first_chunk() {
            Some(bytes) => dispatch!(Level::baseline(), simd => self.carry.block(simd, bytes)),
            None => self.carry.rest(piece),
        };
    }
}

impl Carry {
    /// The block in which `depth` becomes zero: its position, itself, and the bit.
    #[expect(
        clippy::inline_always,
        reason = "compiled for each kind of processor where it is dispatched"
    )]
    #[inline(always)]
    fn end_of<S: Simd>(
        &mut self,
        simd: S,
        blocks: &[[u8; BLOCK]],
        depth: &mut usize,
    ) -> Option<(usize, Block, usize)> {
        // Copies, which the compiler keeps in registers.
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
    fn block<S: Simd>(&mut self, simd: S, bytes: &[u8; BLOCK]) -> Block {
        self.read(simd, bytes).0
    }

    /// What is left behind the last whole block.
    fn rest(&mut self, bytes: &[u8]) -> Block {
        let mut padded = [0; BLOCK];
        padded[..bytes.len()].copy_from_slice(bytes);
        let (block, escaped) = dispatch!(Level::baseline(), simd => self.read(simd, &padded));
        self.escaped = escaped >> bytes.len() & 1;
        block
    }

    /// The block, and which of its bytes other than backslashes are escaped.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn read<S: Simd>(&mut self, simd: S, bytes: &[u8; BLOCK]) -> (Block, u64) {
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
        // An escaped backslash belongs to no run. A run escapes the byte behind it if its length is odd.
        let runs = backslashes & !self.escaped;
        let starts = runs & !(runs << 1);
        // To add its start to a run clears it and sets the bit behind it. If the length is odd, that is odd for an even start, and vice versa.
        let behind_even = runs.wrapping_add(starts & EVEN);
        let (behind_odd, leaves) = runs.overflowing_add(starts & !EVEN);
        let escaped = (behind_even & !EVEN | behind_odd & EVEN) & !runs | self.escaped;
        self.escaped = u64::from(leaves);
        escaped
    }
}

impl Block {
    /// The bytes in `within` before the first quote, and which is the byte behind that.
    #[inline]
    fn string(&self, within: u64) -> (u64, Option<usize>) {
        let quotes = self.quotes & within;
        let string = within & !quotes & quotes.wrapping_sub(1);
        (
            string,
            (quotes != 0).then(|| quotes.trailing_zeros() as usize + 1),
        )
    }

    /// Follows the brackets of the bytes in `within`. The bit at which `depth`, which is not zero, becomes zero, if it does.
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

/// Where quotes, backslashes, opening and closing brackets stand.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn classes<S: Simd>(simd: S, bytes: &[u8; BLOCK]) -> [u64; 4] {
    let bytes = u8x64::simd_from(simd, *bytes);
    // The brackets of one side differ in this bit only, and no other byte becomes one by it.
    let folded = bytes | 0x20;
    let found = [
        bytes.simd_eq(b'"'),
        bytes.simd_eq(b'\\'),
        folded.simd_eq(b'{'),
        folded.simd_eq(b'}'),
    ];
    found.map(SimdMask::to_bitmask)
}

/// Whether the number of bits up to and with each is odd.
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

    /// Byte by byte: the quotes of strings, and the brackets outside of them as what they add to the depth.
    struct Plain {
        text: Vec<u8>,
        quotes: Vec<bool>,
        brackets: Vec<i8>,
    }

    impl Plain {
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

    /// What is found of JSON where it is dense, runs of backslashes, and texts over several blocks, often at the border of a block.
    fn garbage() -> impl Strategy<Value = Vec<u8>> {
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
                    text.resize(text.len().next_multiple_of(BLOCK), b' ');
                }
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn it_finds_what_is_found_byte_by_byte(
            text in garbage(),
            steps in prop::collection::vec((0usize..80, prop::option::of(1usize..9)), 1..20),
        ) {
            let plain = Plain::new(text);
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
        fn a_container_ends_where_it_does_however_the_text_is_torn(
            text in garbage(),
            depth in 1usize..9,
            cuts in prop::collection::vec(1usize..150, 1..9),
        ) {
            let (mut found, mut expected) = (depth, depth);
            let plain = Plain::new(text);
            let end = plain.container_end(0, &mut expected);
            let (mut blocks, mut rest, mut torn) = (Blocks::default(), &*plain.text, None);
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                torn = blocks.container_end(piece, 0, &mut found);
                if torn.is_some() || after.is_empty() {
                    break;
                }
                blocks.next_piece();
                rest = after;
            }
            prop_assert_eq!(torn.map(|end| plain.text.len() - rest.len() + end), end);
            if end.is_none() {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn quotes_and_backslashes_count_wherever_they_stand_to_the_border_of_a_block() {
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
