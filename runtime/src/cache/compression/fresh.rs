//! Where objects lie before they are compressed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::BytesMut;

use super::Payload;

const BLOCK: usize = 64 * 1024;
/// Longer ones get memory of their own.
const LONGEST: usize = 16 * 1024;

/// Blocks of memory, each for a few objects that come and are compressed one after another: to allocate and free each by itself costs as
/// much as to scan it. A block is freed when the last of its objects is compressed or gone.
///
/// Where most are gone before their time has come, because a few objects change over and over, the others would hold a block each. Then
/// each has memory of its own.
#[derive(Debug)]
pub(in crate::cache) struct Fresh {
    block: BytesMut,
    /// Whether most live until they are compressed.
    most_settle: Arc<AtomicBool>,
}

impl Fresh {
    pub(super) fn new(most_settle: Arc<AtomicBool>) -> Self {
        Self {
            block: BytesMut::new(),
            most_settle,
        }
    }

    pub(in crate::cache) fn payload(&mut self, json: &[u8]) -> Payload {
        if json.len() > LONGEST || !self.most_settle.load(Ordering::Relaxed) {
            return Payload::new(json);
        }
        if self.block.capacity() < json.len() {
            self.block = BytesMut::with_capacity(BLOCK);
        }
        self.block.extend_from_slice(json);
        Payload::fresh(self.block.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_whatever_its_length() {
        let mut fresh = Fresh::new(Arc::new(true.into()));
        let text = |length: usize| vec![b'a' + u8::try_from(length % 26).unwrap(); length];
        let lengths = [5000, 0, 1, 16 * 1024, 16 * 1024 + 1, 3]
            .into_iter()
            .cycle()
            .take(100);
        let payloads: Vec<_> = lengths
            .map(|length| (length, fresh.payload(&text(length))))
            .collect();
        for (length, payload) in payloads {
            assert_eq!((payload.length(), payload.kept()), (length, length));
            assert_eq!(payload.json().unwrap(), text(length));
        }
    }
}
