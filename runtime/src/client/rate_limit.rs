//! How many requests a client sends a second, where that is limited.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant, sleep_until};

/// A token bucket that all clones of a connection share; off until it is set.
///
/// It is a queue: a request takes the next free place when it comes, and waits for it. One that is given up meanwhile leaves its place
/// empty. Informers do not pass it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimit(Arc<Mutex<Option<Bucket>>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Between two requests, once the burst is used up.
    interval: Duration,
    /// How far the next free place may lie in the past.
    burst: Duration,
    /// The next free place.
    next: Instant,
}

/// What is saved up in a pause, as time.
fn saved(interval: Duration, burst: u32) -> Duration {
    interval.saturating_mul(burst.saturating_sub(1))
}

impl RateLimit {
    /// So many requests a second on average, and so many at once after a pause; off when the rate is not above zero.
    pub(crate) fn set(&self, per_second: f64, burst: u32) {
        let (interval, now) = (Duration::try_from_secs_f64(per_second.recip()), Instant::now());
        *self.0.lock() = match interval {
            Ok(interval) if per_second > 0.0 && !interval.is_zero() => Some(Bucket {
                interval,
                burst: saved(interval, burst),
                // Full at the start.
                next: now.checked_sub(saved(interval, burst)).unwrap_or(now),
            }),
            _ => None,
        };
    }

    /// Waits until a request may be sent.
    pub(super) async fn pass(&self) {
        let place = self.0.lock().as_mut().map(|bucket| {
            let now = Instant::now();
            // A place too far in the past is none: what was not used is lost.
            let place = bucket.next.max(now.checked_sub(bucket.burst).unwrap_or(now));
            bucket.next = place + bucket.interval;
            place
        });
        if let Some(place) = place {
            sleep_until(place).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    async fn passed(limit: &RateLimit, requests: usize) -> Duration {
        let began = Instant::now();
        for _ in 0..requests {
            limit.pass().await;
        }
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_off_until_it_is_set() {
        let limit = RateLimit::default();
        assert_eq!(passed(&limit, 1000).await, Duration::ZERO);
        for nonsense in [0.0, -3.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
            limit.set(nonsense, 10);
            assert_eq!(passed(&limit, 1000).await, Duration::ZERO, "{nonsense}");
        }
    }

    /// client-go: TestThrottle, TestBasicThrottle of util/flowcontrol.
    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let limit = RateLimit::default();
        limit.set(10.0, 5);
        assert_eq!(passed(&limit, 5).await, Duration::ZERO);
        // The bucket is empty, and fills at ten a second.
        let waited = passed(&limit.clone(), 10).await;
        assert!(
            waited.abs_diff(Duration::from_secs(1)) <= Duration::from_millis(1),
            "{waited:?}"
        );
        advance(Duration::from_mins(1)).await;
        assert_eq!(
            passed(&limit, 5).await,
            Duration::ZERO,
            "no more than a burst is saved up"
        );
        assert!(passed(&limit, 1).await > Duration::from_millis(98));
    }
}
