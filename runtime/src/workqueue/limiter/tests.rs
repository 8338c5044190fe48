//! client-go's tests of its limiters; each names the test that pins the same behaviour there.

use tokio::time::advance;

use super::{failures::Failures, *};
use crate::workqueue::limits::QueueLimits;

fn millis<const N: usize>(limiter: &impl RateLimiter<&'static str>, key: &'static str) -> [u128; N] {
    std::array::from_fn(|_| limiter.when(&key).as_millis())
}

/// client-go: TestItemExponentialFailureRateLimiter
#[test]
fn failures_of_a_key_double_its_wait() {
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
fn many_failures_wait_the_longest_time() {
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
async fn a_bucket_lets_a_burst_pass_and_then_its_rate() {
    let limiter = TokenBucket::new(10.0, 3);
    assert_eq!(millis(&limiter, "one"), [0, 0, 0, 100, 200]);
    advance(Duration::from_millis(250)).await;
    // Two tokens were promised ahead, and two and a half came back.
    assert_eq!(millis(&limiter, "two"), [50]);
    advance(Duration::from_hours(1)).await;
    assert_eq!(
        millis(&limiter, "two"),
        [0, 0, 0, 100],
        "no more than the burst is kept"
    );
}

/// The wait doubles beyond what 32 bits count.
#[test]
fn a_small_base_doubles_as_long_as_it_takes() {
    let limiter = ItemExponential::new(Duration::from_nanos(1), Duration::from_hours(1000));
    let waits: Vec<_> = (0..60).map(|_| limiter.when(&"one")).collect();
    assert_eq!(waits[33], Duration::from_nanos(1 << 33));
    assert_eq!(waits[59], Duration::from_hours(1000));
}

/// client-go: TestItemFastSlowRateLimiter
#[test]
fn some_failures_wait_short_and_then_all_wait_long() {
    let limiter = ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 3);
    assert_eq!(millis(&limiter, "one"), [5, 5, 5, 10_000, 10_000]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    assert_eq!(millis(&limiter, "two"), [5, 5]);
    assert_eq!(limiter.num_requeues(&"two"), 2);

    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(millis(&limiter, "one"), [5]);
}

/// client-go: TestWithMaxWaitRateLimiter
#[test]
fn no_wait_is_longer_than_the_longest() {
    let limiter = ItemFastSlow::new(Duration::from_millis(10), Duration::from_secs(1000), 2);
    let limiter = MaxWait::new(limiter, Duration::from_millis(500));
    assert_eq!(millis(&limiter, "one"), [10, 10, 500, 500]);
    assert_eq!(limiter.num_requeues(&"one"), 4);
    limiter.forget(&"one");
    assert_eq!(millis(&limiter, "one"), [10]);
}

#[test]
fn jitter_makes_waits_longer_and_different() {
    let limiter = Jittered::new(
        ItemFastSlow::new(Duration::from_secs(1), Duration::ZERO, 1000),
        0.5,
    );
    let waits: Vec<_> = (0..1000).map(|_| limiter.when(&"one")).collect();
    let (least, most) = (Duration::from_secs(1), Duration::from_millis(1500));
    assert!(waits.iter().all(|wait| (least..=most).contains(wait)));
    // A thousand even choices leave neither end out.
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
async fn an_empty_bucket_without_a_rate_is_no_panic() {
    let limiter = TokenBucket::new(0.0, 1);
    assert_eq!(limiter.when(&"one"), Duration::ZERO);
    assert_eq!(limiter.when(&"one"), Duration::from_hours(365 * 24));
}

/// client-go: TestMaxOfRateLimiter
#[test]
fn the_longer_wait_of_two_limiters_wins() {
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
async fn the_longer_wait_wins_and_both_are_asked() {
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
async fn the_default_is_client_gos() {
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

/// Among many keys, failures are forgotten in batches.
#[test]
fn failures_that_wait_to_be_forgotten_in_a_batch_are_not_counted() {
    let failures = Failures::new(QueueLimits::SMALL);
    for key in 0..10 {
        assert_eq!((failures.count(&key), failures.count(&key)), (0, 1));
    }
    for key in 0..10 {
        failures.forget(&key);
        assert_eq!(failures.of(&key), 0);
    }
    for key in 0..4 {
        assert_eq!(failures.count(&key), 0);
        failures.forget(&key);
    }
    failures.count(&5);
    assert_eq!(failures.of(&5), 1);
}
