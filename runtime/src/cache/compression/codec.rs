//! The payload codec of an informer: encodes objects that arrive, and re-encodes stored ones later.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::sleep};

use super::{
    super::{object::StoredObject, store::Store},
    Payload,
    compressor::Compressor,
    delta_group::DeltaGroups,
    policy::{MAX_RAW_IN_BLOCK_BYTES, REENCODE_INTERVAL, REENCODED_PER_ARRIVAL, REENCODED_PER_STEP},
    raw_blocks::RawBlocks,
};

/// Decides in which form the objects of a store are kept, by the [policy](super::policy). One per informer.
#[derive(Debug)]
pub(in crate::cache) struct PayloadCodec {
    store: Arc<Store>,
    /// Everything stays raw: the kind is sensitive, or the informer stores raw.
    off: AtomicBool,
    /// Objects were encoded before `off` was set.
    was_on: AtomicBool,
    state: Mutex<State>,
    /// Notified when objects are to be re-encoded.
    reencoding_started: Notify,
}

#[derive(Debug, Default)]
struct State {
    groups: DeltaGroups,
    raw_blocks: RawBlocks,
    compressor: Compressor,
}

impl PayloadCodec {
    /// The codec of the objects in `store`. If `off`, everything stays raw.
    pub(in crate::cache) fn new(store: Arc<Store>, off: bool) -> Self {
        Self {
            store,
            off: off.into(),
            was_on: AtomicBool::new(false),
            state: Mutex::default(),
            reencoding_started: Notify::new(),
        }
    }

    /// Gives an object that arrives its payload: the only place where one is encoded. Older objects may be compressed in its place.
    ///
    /// `json` is copied only where it stays raw: to encode it as a difference while its bytes are in the processor's cache costs less than
    /// to keep it raw for a while. `owners` is a digest of its owner references.
    pub(in crate::cache) fn encode(
        &self,
        mut object: StoredObject,
        owners: u64,
        json: &[u8],
    ) -> Arc<StoredObject> {
        let Some(mut state) = self.state() else {
            object.payload = Payload::new(json);
            return Arc::new(object);
        };
        let State {
            groups,
            raw_blocks,
            compressor,
        } = &mut *state;
        let difference = groups.encode_arriving(owners, &object.metadata, json);
        let is_raw = difference.is_none();
        object.payload = match difference {
            Some((bytes, base)) => Payload::different(json.len(), bytes, base),
            None if json.len() <= MAX_RAW_IN_BLOCK_BYTES && compressor.most_outlive_recent() => {
                raw_blocks.payload(json)
            }
            None => Payload::new(json),
        };
        let object = Arc::new(object);
        if is_raw {
            // A base is chosen only after some of its group that are raw.
            groups.set_stored_bytes(self.store.bytes());
            compressor.add_recent(&object);
        }
        compressor.compress_aged(groups, &self.store);
        compressor.reencode(REENCODED_PER_ARRIVAL);
        let is_reencoding = compressor.is_reencoding();
        drop(state);
        if is_reencoding {
            self.reencoding_started.notify_one();
        }
        object
    }

    /// Loads into the processor's cache what an object with these owner references will be compared with, while it is still being scanned.
    pub(in crate::cache) fn prefetch(&self, owners: u64) {
        if let Some(state) = self.state() {
            state.groups.prefetch(owners);
        }
    }

    /// Returns after a while if stored objects are to be re-encoded: then [`reencode_some`](Self::reencode_some). Cancel safe.
    pub(in crate::cache) async fn reencoding_due(&self) {
        while !self.is_reencoding() {
            self.reencoding_started.notified().await;
        }
        sleep(REENCODE_INTERVAL).await;
    }

    /// Re-encodes some stored objects with the newest dictionary.
    pub(in crate::cache) fn reencode_some(&self) {
        self.state.lock().compressor.reencode(REENCODED_PER_STEP);
    }

    /// Keeps everything raw from now on, and decodes what is in the store. Readers that hold an older version keep it as it is.
    pub(in crate::cache) fn switch_off(&self) {
        if self.off.swap(true, Ordering::SeqCst) {
            return;
        }
        // An encode that runs holds this, and the next one looks again whether it may.
        drop(std::mem::take(&mut *self.state.lock()));
        self.was_on.store(true, Ordering::SeqCst);
        for object in self.store.all().iter() {
            object.payload.make_raw();
        }
    }

    /// Whether objects that were encoded before [`switch_off`](Self::switch_off) may still come into the store: they must be made raw.
    pub(in crate::cache) fn was_switched_off(&self) -> bool {
        self.was_on.load(Ordering::SeqCst)
    }

    /// Bytes of the bases that differences refer to.
    pub(in crate::cache) fn base_bytes(&self) -> usize {
        self.state.lock().groups.bytes()
    }

    #[cfg(test)]
    pub(in crate::cache) fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    #[cfg(test)]
    pub(in crate::cache) fn has_dictionary(&self) -> bool {
        !self.state.lock().compressor.dictionaries().is_empty()
    }

    fn is_reencoding(&self) -> bool {
        self.state.lock().compressor.is_reencoding()
    }

    /// None if everything stays raw.
    fn state(&self) -> Option<MutexGuard<'_, State>> {
        let is_on = || !self.off.load(Ordering::SeqCst);
        // It may be switched off while this waits for the lock.
        is_on().then(|| self.state.lock()).filter(|_| is_on())
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
