//! The rate limit of a client's requests.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant, sleep};

use crate::token_bucket::BucketState;

/// A rate limiter for requests, shared by all clones of a connection; off until it is set.
///
/// It is a queue: a request reserves the next token when it comes, and waits for it. A request that is cancelled while it waits gives its token back. Informers
/// are not limited.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimit(Arc<Mutex<Option<BucketState>>>);

impl RateLimit {
    /// Allows `per_second` requests on average, and `burst` at once after a pause; off when the rate is not above zero or not finite.
    pub(crate) fn set(&self, per_second: f64, burst: u32) {
        let interval = Duration::try_from_secs_f64(per_second.recip());
        let is_limit = per_second > 0.0 && interval.is_ok_and(|interval| !interval.is_zero());
        *self.0.lock() = is_limit.then(|| BucketState::new(per_second, f64::from(burst.max(1))));
    }

    /// Waits until a request may be sent.
    pub(super) async fn wait(&self) {
        let delay = self
            .0
            .lock()
            .as_mut()
            .map(|bucket| bucket.reserve(Instant::now()));
        if let Some(delay) = delay.filter(|delay| !delay.is_zero()) {
            let reserved = ReservedToken(self);
            sleep(delay).await;
            std::mem::forget(reserved);
        }
    }
}

/// A token that a request waits for. Dropping it gives the token back: otherwise requests that time out while they wait would let all later
/// ones wait longer, and none would be sent any more.
struct ReservedToken<'a>(&'a RateLimit);

impl Drop for ReservedToken<'_> {
    fn drop(&mut self) {
        if let Some(bucket) = self.0.0.lock().as_mut() {
            bucket.give_back();
        }
    }
}

#[cfg(test)]
#[path = "rate_limit_tests.rs"]
mod tests;
