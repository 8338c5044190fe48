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
/// For informers with objects that mostly live until they are encoded: where a few objects change over and over, each of the others would hold
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
#[path = "raw_blocks_tests.rs"]
mod tests;
