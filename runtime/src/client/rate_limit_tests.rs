use tokio::time::advance;

use super::*;

async fn time_for(limit: &RateLimit, requests: usize) -> Duration {
    let began = Instant::now();
    for _ in 0..requests {
        limit.wait().await;
    }
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn rate_limit_is_off_until_it_is_set() {
    let limit = RateLimit::default();
    assert_eq!(time_for(&limit, 1000).await, Duration::ZERO);
    for nonsense in [0.0, -3.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
        limit.set(nonsense, 10);
        assert_eq!(time_for(&limit, 1000).await, Duration::ZERO, "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_give_their_tokens_back() {
    let limit = RateLimit::default();
    limit.set(1.0, 1);
    limit.wait().await;
    for _ in 0..100 {
        let cancelled = tokio::time::timeout(Duration::from_millis(1), limit.wait()).await;
        assert!(cancelled.is_err());
    }
    assert!(time_for(&limit, 1).await <= Duration::from_secs(1));
}

/// client-go: TestThrottle, TestBasicThrottle of util/flowcontrol.
#[tokio::test(start_paused = true)]
async fn burst_passes_at_once_and_the_rest_at_the_rate() {
    let limit = RateLimit::default();
    limit.set(10.0, 5);
    assert_eq!(time_for(&limit, 5).await, Duration::ZERO);
    // The bucket is empty, and fills at ten a second.
    let waited = time_for(&limit.clone(), 10).await;
    assert!(
        waited.abs_diff(Duration::from_secs(1)) <= Duration::from_millis(1),
        "{waited:?}"
    );
    advance(Duration::from_mins(1)).await;
    assert_eq!(
        time_for(&limit, 5).await,
        Duration::ZERO,
        "no more than a burst is kept"
    );
    assert!(time_for(&limit, 1).await > Duration::from_millis(98));
}
