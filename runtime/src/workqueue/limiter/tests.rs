//! Ports of client-go's tests of its rate limiters, each with the original's name.

use tokio::time::advance;

use super::*;

fn millis<const N: usize>(limiter: &impl RateLimiter<&'static str>, key: &'static str) -> [u128; N] {
    std::array::from_fn(|_| limiter.when(&key).as_millis())
}

/// client-go: TestItemExponentialFailureRateLimiter
#[test]
fn backoff_of_a_key_doubles() {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1));
    assert_eq!(millis(&limiter, "one"), [1, 2, 4, 8, 16]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(millis(&limiter, "two"), [1, 2]);
    assert_eq!(limiter.num_requeues(&"two"), 2);

    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(millis(&limiter, "one"), [1]);
}

/// client-go: TestItemExponentialFailureRateLimiterOverFlow
#[test]
fn backoff_is_limited_to_the_maximum() {
    let limiter = ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1000));
    assert_eq!(millis(&limiter, "one"), [1, 2, 4, 8, 16, 32]);
    let _ = millis::<1000>(&limiter, "overflow1");
    assert_eq!(limiter.when(&"overflow1"), Duration::from_secs(1000));

    let limiter = ItemExponential::new(Duration::from_mins(1), Duration::from_hours(1000));
    assert_eq!(millis(&limiter, "two"), [60_000, 120_000, 240_000]);
    let _ = millis::<1000>(&limiter, "overflow2");
    assert_eq!(limiter.when(&"overflow2"), Duration::from_hours(1000));
}

/// golang.org/x/time/rate's reservations, as client-go's BucketRateLimiter uses them.
#[tokio::test(start_paused = true)]
async fn bucket_passes_a_burst_and_then_its_rate() {
    let limiter = TokenBucket::new(10.0, 3);
    assert_eq!(millis(&limiter, "one"), [0, 0, 0, 100, 200]);
    advance(Duration::from_millis(250)).await;
    // Two tokens were reserved, and two and a half were refilled.
    assert_eq!(millis(&limiter, "two"), [50]);
    advance(Duration::from_hours(1)).await;
    assert_eq!(
        millis(&limiter, "two"),
        [0, 0, 0, 100],
        "no more than the burst is kept"
    );
}

/// The factor may exceed 32 bits.
#[test]
fn backoff_of_a_small_base_doubles_beyond_32_bits() {
    let limiter = ItemExponential::new(Duration::from_nanos(1), Duration::from_hours(1000));
    let waits: Vec<_> = (0..60).map(|_| limiter.when(&"one")).collect();
    assert_eq!(waits[33], Duration::from_nanos(1 << 33));
    assert_eq!(waits[59], Duration::from_hours(1000));
}

/// client-go: TestItemFastSlowRateLimiter
#[test]
fn first_failures_are_fast_and_further_ones_slow() {
    let limiter = ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 3);
    assert_eq!(millis(&limiter, "one"), [5, 5, 5, 10_000, 10_000]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(millis(&limiter, "two"), [5, 5]);
    assert_eq!(limiter.num_requeues(&"two"), 2);

    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(millis(&limiter, "one"), [5]);
}

#[test]
fn jitter_lengthens_delays_randomly() {
    let limiter = Jittered::new(
        ItemFastSlow::new(Duration::from_secs(1), Duration::ZERO, 1000),
        0.5,
    );
    let waits: Vec<_> = (0..1000).map(|_| limiter.when(&"one")).collect();
    let (least, most) = (Duration::from_secs(1), Duration::from_millis(1500));
    assert!(waits.iter().all(|wait| (least..=most).contains(wait)));
    // A thousand uniform samples cover both ends.
    assert!(waits.iter().any(|&wait| wait < Duration::from_millis(1050)));
    assert!(waits.iter().any(|&wait| wait > Duration::from_millis(1450)));
    assert_eq!(limiter.num_requeues(&"one"), 1000);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    for share in [-1.0, f64::NAN, f64::INFINITY] {
        let limiter = Jittered::new(
            ItemFastSlow::new(Duration::from_secs(1), Duration::ZERO, 9),
            share,
        );
        assert_eq!(limiter.when(&"one"), Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn empty_bucket_without_a_rate_does_not_panic() {
    let limiter = TokenBucket::new(0.0, 1);
    assert_eq!(limiter.when(&"one"), Duration::ZERO);
    assert_eq!(limiter.when(&"one"), Duration::from_hours(365 * 24));
}

/// client-go: TestMaxOfRateLimiter
#[test]
fn longer_delay_of_two_limiters_wins() {
    let limiter = MaxOf(
        ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(3), 3),
        ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1)),
    );
    assert_eq!(millis(&limiter, "one"), [5, 5, 5, 3000, 3000]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(millis(&limiter, "two"), [5, 5]);
    assert_eq!(limiter.num_requeues(&"two"), 2);

    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(millis(&limiter, "one"), [5]);
}

/// As client-go's default uses it.
#[tokio::test(start_paused = true)]
async fn longer_delay_wins_and_both_limiters_are_called() {
    let limiter = MaxOf(
        ItemExponential::new(Duration::from_millis(1), Duration::from_secs(1)),
        TokenBucket::new(100.0, 2),
    );
    assert_eq!(millis(&limiter, "one"), [1, 2, 10, 20, 30, 40, 64]);
    assert_eq!(limiter.num_requeues(&"one"), 7);
    assert_eq!(
        millis(&limiter, "two"),
        [60],
        "the seventh failure spent a token although it waited longer"
    );

    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(limiter.num_requeues(&"two"), 1);
}

/// client-go: DefaultTypedControllerRateLimiter
#[tokio::test(start_paused = true)]
async fn default_limiter_is_client_gos() {
    let limiter = default_limiter();
    assert_eq!(millis(&limiter, "one"), [5, 10, 20, 40]);
    for other in 0..96 {
        limiter.when(&["a", "b"][other % 2]);
    }
    assert_eq!(
        millis(&limiter, "new"),
        [100],
        "the hundred tokens of all keys are spent"
    );
}
