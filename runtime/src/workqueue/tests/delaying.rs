//! Ports of client-go's tests of its delaying and its rate limiting queue.

use super::*;

/// client-go: TestSimpleQueue
#[tokio::test(start_paused = true)]
async fn delayed_key_is_handed_out_once() {
    let queue = queue();
    queue.add_after("foo", millis(50));
    assert_eq!(queue.len(), 0);
    advance(millis(60)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.get().await, Some("foo"));
    queue.done(&"foo");
    advance(Duration::from_secs(10)).await;
    assert_eq!(queue.len(), 0);
}

/// client-go: TestDeduping
#[tokio::test(start_paused = true)]
async fn earlier_of_two_delays_wins() {
    let queue = queue();
    for (first, second) in [(50, 70), (50, 30)] {
        queue.add_after("foo", millis(first));
        queue.add_after("foo", millis(second));
        assert_eq!(queue.len(), 0);
        advance(millis(first.min(second) + 10)).await;
        assert_eq!(queue.get().await, Some("foo"));
        queue.done(&"foo");
        advance(millis(30)).await;
        assert_eq!(queue.len(), 0, "the later one is gone");
    }
}

/// client-go: TestAddTwoFireEarly
#[tokio::test(start_paused = true)]
async fn later_add_with_a_shorter_delay_is_first() {
    let queue = queue();
    queue.add_after("foo", Duration::from_secs(1));
    queue.add_after("bar", millis(50));
    assert_eq!(queue.len(), 0);
    advance(millis(60)).await;
    assert_eq!(queue.get().await, Some("bar"));
    queue.add_after("baz", Duration::from_secs(2));
    advance(Duration::from_secs(1)).await;
    assert_eq!(queue.get().await, Some("foo"));
    advance(Duration::from_secs(2)).await;
    assert_eq!(queue.get().await, Some("baz"));
}

/// client-go: TestCopyShifting
#[tokio::test(start_paused = true)]
async fn delayed_keys_are_handed_out_in_the_order_of_their_times() {
    let queue = queue();
    queue.add_after("foo", millis(1000));
    queue.add_after("bar", millis(500));
    queue.add_after("baz", millis(250));
    advance(Duration::from_secs(2)).await;
    assert_eq!(queue.len(), 3);
    for key in ["baz", "bar", "foo"] {
        assert_eq!(queue.get().await, Some(key));
    }
}

/// client-go's delaying queue: adding at once does not cancel a delay.
#[tokio::test(start_paused = true)]
async fn add_does_not_cancel_a_delay() {
    let queue = queue();
    queue.add_after("foo", millis(50));
    queue.add("foo");
    for _ in 0..2 {
        assert_eq!(queue.get().await, Some("foo"));
        queue.done(&"foo");
    }
}

/// Waiting workers get each key exactly when it is due, also if an earlier key is added or the timer owner is cancelled.
#[tokio::test(start_paused = true)]
async fn waiting_workers_get_delayed_keys_at_their_time() {
    let queue = queue();
    let start = Instant::now();
    let mut workers = JoinSet::new();
    let cancelled = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    for _ in 0..3 {
        let queue = queue.clone();
        workers.spawn(async move { (queue.get().await, start.elapsed()) });
    }
    yield_now().await;
    queue.add_after("third", millis(300));
    yield_now().await;
    queue.add_after("second", millis(200));
    queue.add_after("first", millis(100));
    sleep(millis(50)).await;
    cancelled.abort();
    let mut got = workers.join_all().await;
    got.sort_by_key(|(_, at)| *at);
    let expected = [("first", 100), ("second", 200), ("third", 300)];
    assert_eq!(got, expected.map(|(key, at)| (Some(key), millis(at))));
}

/// A delay beyond the clock's range is cut.
#[tokio::test(start_paused = true)]
async fn endless_delay_does_not_panic() {
    let queue = queue();
    queue.add_after("foo", Duration::MAX);
    assert_eq!(queue.stats().delayed, 1);
    assert_blocked(&queue).await;
}

/// client-go: TestRateLimitingQueue
#[tokio::test(start_paused = true)]
async fn failures_of_a_key_increase_its_backoff() {
    let limiter = ItemExponential::new(millis(1), Duration::from_secs(1));
    let queue = WorkQueue::new(Box::new(limiter));
    for (key, delay) in [("one", 1), ("one", 2), ("two", 1), ("two", 2)] {
        assert_eq!(queue.add_rate_limited(key), millis(delay));
    }
    assert_eq!(queue.num_requeues(&"one"), 2);
    queue.forget(&"one");
    assert_eq!(queue.num_requeues(&"one"), 0);
    assert_eq!(queue.add_rate_limited("one"), millis(1));

    let start = Instant::now();
    let _ = (queue.get().await, queue.get().await);
    assert_eq!(start.elapsed(), millis(1), "the earliest of a key's times counts");
}
