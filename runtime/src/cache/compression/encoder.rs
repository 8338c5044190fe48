//! What becomes of an object that arrives: a difference at once, or raw until its time has come.

use std::{collections::VecDeque, sync::Arc};

use bytes::BytesMut;

use super::{Compressor, Payload};
use crate::cache::Metadata;

const BLOCK: usize = 64 * 1024;
/// Longer ones get memory of their own.
const LONGEST: usize = 16 * 1024;
/// So many blocks are kept until they can be filled again. All that is fresh lies in so many.
const USED: usize = 18;

/// Blocks of memory, each for a few objects that come and are compressed one after another: to allocate and free each by itself costs as
/// much as to scan it. A block is filled again when the last of its objects is compressed or gone.
///
/// Where most are gone before their time has come, because a few objects change over and over, the others would hold a block each. Then
/// each has memory of its own.
#[derive(Debug)]
pub(in crate::cache) struct Encoder {
    /// None before the first object.
    block: Option<BytesMut>,
    /// What there still is of full blocks, the oldest first.
    used: VecDeque<BytesMut>,
    /// A digest of the owner references of the object that is being scanned.
    owners: u64,
    settling: Arc<Compressor>,
}

impl Encoder {
    pub(super) fn new(settling: Arc<Compressor>) -> Self {
        Self {
            block: None,
            used: VecDeque::new(),
            owners: 0,
            settling,
        }
    }

    /// Reads beforehand what an object with these owner references, of which this is a digest, will be compared with: it comes while the
    /// rest of the object is scanned.
    pub(in crate::cache) fn fetch(&mut self, owners: Option<u64>) {
        self.owners = owners.unwrap_or_default();
        self.settling.fetch(self.owners);
    }

    pub(in crate::cache) fn payload(&mut self, metadata: &Metadata, json: &[u8]) -> Payload {
        let alike = self.settling.alike(self.owners, metadata, json);
        alike.unwrap_or_else(|| self.raw(json))
    }

    fn raw(&mut self, json: &[u8]) -> Payload {
        if json.len() > LONGEST || !self.settling.most_settle() {
            return Payload::new(json);
        }
        let block = match &mut self.block {
            Some(block) if block.capacity() >= json.len() => block,
            _ => {
                let empty = self.empty_block();
                self.used.extend(self.block.take());
                self.block.insert(empty)
            }
        };
        block.extend_from_slice(json);
        Payload::fresh(block.split().freeze())
    }

    fn empty_block(&mut self) -> BytesMut {
        let mut oldest = self.used.pop_front();
        if let Some(block) = oldest.take_if(|block| block.try_reclaim(BLOCK)) {
            return block;
        }
        // Somebody holds it longer than usual: it is waited for as long as there is room.
        if let Some(oldest) = oldest.filter(|_| self.used.len() + 1 < USED) {
            self.used.push_front(oldest);
        }
        BytesMut::with_capacity(BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_is_put_in_comes_out_whatever_its_length() {
        let mut fresh = Encoder::new(Arc::new(Compressor::of_many()));
        let text = |length: usize| vec![b'a' + u8::try_from(length % 26).unwrap(); length];
        let lengths = [5000, 0, 1, 16 * 1024, 16 * 1024 + 1, 3]
            .into_iter()
            .cycle()
            .take(100);
        let payloads: Vec<_> = lengths.map(|length| (length, fresh.raw(&text(length)))).collect();
        for (length, payload) in payloads {
            assert_eq!((payload.length(), payload.kept()), (length, length));
            assert_eq!(payload.json().unwrap(), text(length));
        }
    }

    /// With no more than what is in use, and one to come.
    #[test]
    fn a_block_is_filled_again_as_soon_as_it_is_free() {
        let mut fresh = Encoder::new(Arc::new(Compressor::of_many()));
        let mut recent = VecDeque::new();
        for _ in 0..10_000 {
            recent.push_back(fresh.raw(&[b'a'; 4000]));
            if recent.len() > 40 {
                recent.pop_front();
            }
            assert!(fresh.used.len() <= 4, "{} blocks", fresh.used.len());
        }
    }

    /// What somebody holds for long does not hold up the rest.
    #[test]
    fn blocks_are_filled_again() {
        let mut fresh = Encoder::new(Arc::new(Compressor::of_many()));
        let json = [b'a'; 4000];
        let held = fresh.raw(&json);
        let (mut recent, mut places) = (VecDeque::new(), HashSet::new());
        for _ in 0..10_000 {
            let payload = fresh.raw(&json);
            places.insert(payload.raw().unwrap().as_ptr() as usize / BLOCK);
            recent.push_back(payload);
            if recent.len() > 100 {
                recent.pop_front();
            }
        }
        assert!(fresh.used.len() <= USED);
        // 40,000,000 bytes went through; a block may lie across two places.
        assert!(places.len() <= 2 * (USED + 2), "{}", places.len());
        assert_eq!(held.json().unwrap(), json[..]);
    }
}
