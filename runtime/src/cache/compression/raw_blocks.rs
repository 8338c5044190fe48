//! Memory for raw payloads that are soon encoded or dropped.

use std::collections::VecDeque;

use bytes::BytesMut;

use super::Payload;

const BLOCK_BYTES: usize = 64 * 1024;
/// Full blocks that wait until they can be filled again. All recent raw payloads fit into so many.
const MAX_FULL_BLOCKS: usize = 18;

/// Blocks of memory that raw payloads share in the order in which they arrive. To allocate and free each payload by itself costs as much as
/// to scan it. A block is filled again when the last of its payloads was encoded or dropped.
///
/// For informers whose objects mostly live until they are encoded: where a few objects change over and over, each of the others would hold
/// a block.
#[derive(Debug, Default)]
pub(super) struct RawBlocks {
    /// None before the first payload.
    current: Option<BytesMut>,
    /// Blocks that were filled, the oldest first.
    full: VecDeque<BytesMut>,
}

impl RawBlocks {
    /// A raw payload in the current block.
    pub(super) fn payload(&mut self, json: &[u8]) -> Payload {
        let block = match &mut self.current {
            Some(block) if block.capacity() >= json.len() => block,
            _ => {
                let empty = self.empty_block();
                self.full.extend(self.current.take());
                self.current.insert(empty)
            }
        };
        block.extend_from_slice(json);
        Payload::raw_in_block(block.split().freeze())
    }

    fn empty_block(&mut self) -> BytesMut {
        let mut oldest = self.full.pop_front();
        if let Some(block) = oldest.take_if(|block| block.try_reclaim(BLOCK_BYTES)) {
            return block;
        }
        // A payload in it lives longer than usual: the block waits as long as there is room.
        if let Some(oldest) = oldest.filter(|_| self.full.len() + 1 < MAX_FULL_BLOCKS) {
            self.full.push_front(oldest);
        }
        BytesMut::with_capacity(BLOCK_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{super::policy::MAX_RAW_IN_BLOCK_BYTES, *};

    #[test]
    fn payloads_of_any_length_keep_their_bytes() {
        let mut blocks = RawBlocks::default();
        let text = |length: usize| vec![b'a' + u8::try_from(length % 26).unwrap(); length];
        let lengths = [5000, 0, 1, MAX_RAW_IN_BLOCK_BYTES, 3]
            .into_iter()
            .cycle()
            .take(100);
        let payloads: Vec<_> = lengths
            .map(|length| (length, blocks.payload(&text(length))))
            .collect();
        for (length, payload) in payloads {
            assert_eq!((payload.length(), payload.kept()), (length, length));
            assert_eq!(payload.json().unwrap(), text(length));
        }
    }

    #[test]
    fn freed_blocks_are_reused_before_new_ones_are_allocated() {
        let mut blocks = RawBlocks::default();
        let mut recent = VecDeque::new();
        for _ in 0..10_000 {
            recent.push_back(blocks.payload(&[b'a'; 4000]));
            if recent.len() > 40 {
                recent.pop_front();
            }
            assert!(blocks.full.len() <= 4, "{} blocks", blocks.full.len());
        }
    }

    #[test]
    fn payload_that_is_held_long_does_not_stop_reuse_of_other_blocks() {
        let mut blocks = RawBlocks::default();
        let json = [b'a'; 4000];
        let held = blocks.payload(&json);
        let (mut recent, mut places) = (VecDeque::new(), HashSet::new());
        for _ in 0..10_000 {
            let payload = blocks.payload(&json);
            places.insert(payload.raw().unwrap().as_ptr() as usize / BLOCK_BYTES);
            recent.push_back(payload);
            if recent.len() > 100 {
                recent.pop_front();
            }
        }
        assert!(blocks.full.len() <= MAX_FULL_BLOCKS);
        // 40,000,000 bytes went through; a block may lie across two places.
        assert!(places.len() <= 2 * (MAX_FULL_BLOCKS + 2), "{}", places.len());
        assert_eq!(held.json().unwrap(), json[..]);
    }
}
