//! Limits the writes about each object.

use std::time::Duration;

use tokio::time::Instant;

use super::{EventType, ObjectRef, correlator::MAX_ENTRIES_PER_SHARD, series::digest};
use crate::{lru::LruMap, token_bucket::BucketState};

/// How many events about an object are written at once; client-go's default.
const BURST: f64 = 25.0;
/// After the burst, one event about an object is written in this time; client-go's default.
const REFILL_INTERVAL: Duration = Duration::from_mins(5);

/// A token bucket for each object and event type: client-go's EventSourceObjectSpamFilter.
#[derive(Debug)]
pub(super) struct SpamFilter {
    buckets: LruMap<u64, BucketState>,
}

impl Default for SpamFilter {
    fn default() -> Self {
        Self {
            buckets: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl SpamFilter {
    /// Takes a token for one more write. Returns false if there is none: the write must not be sent.
    pub(super) fn allow(&mut self, regarding: &ObjectRef, event_type: EventType, now: Instant) -> bool {
        let key = digest((regarding, event_type));
        if let Some(bucket) = self.buckets.get(&key) {
            return bucket.try_take(now);
        }
        let mut bucket = BucketState::new(REFILL_INTERVAL.as_secs_f64().recip(), BURST);
        let is_allowed = bucket.try_take(now);
        self.buckets.insert(key, bucket);
        is_allowed
    }
}
