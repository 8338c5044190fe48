//! A budget of writes for each object.

use std::time::Duration;

use tokio::time::Instant;

use super::{EventType, ObjectRef, correlator::MAX_ENTRIES_PER_SHARD, series::digest};
use crate::lru::LruMap;

/// So many events about an object are written at once; what client-go takes.
const BURST: f64 = 25.0;
/// Then one in so long a time; what client-go takes.
const EVERY: Duration = Duration::from_mins(5);

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    since: Instant,
}

/// A token bucket for good news and one for bad news about each object.
#[derive(Debug)]
pub(super) struct SpamFilter {
    buckets: LruMap<u64, Bucket>,
}

impl Default for SpamFilter {
    fn default() -> Self {
        Self {
            buckets: LruMap::new(MAX_ENTRIES_PER_SHARD),
        }
    }
}

impl SpamFilter {
    /// Whether one more write is allowed; it is counted then.
    pub(super) fn admit(&mut self, regarding: &ObjectRef, event_type: EventType, now: Instant) -> bool {
        let key = digest((regarding, event_type));
        let Some(bucket) = self.buckets.get(&key) else {
            let tokens = BURST - 1.0;
            self.buckets.insert(key, Bucket { tokens, since: now });
            return true;
        };
        let refilled = (now - bucket.since).as_secs_f64() / EVERY.as_secs_f64();
        bucket.tokens = (bucket.tokens + refilled).min(BURST);
        bucket.since = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}
