//! client-go's tests of its queues, on a paused clock. Each names the test that pins the same behaviour there.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, advance, sleep, timeout},
};

use super::{
    ItemExponential, NoQueueMetrics, Priority, QueueMetrics, QueueStats, WorkQueue, default_limiter,
};

mod parking;

type Keys = WorkQueue<&'static str>;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn queue<K: super::Key>() -> Arc<WorkQueue<K>> {
    Arc::new(WorkQueue::new(
        Box::new(default_limiter()),
        Arc::new(NoQueueMetrics),
    ))
}

/// Nothing comes out now, nor without the clock moving.
async fn assert_blocked(queue: &Keys) {
    assert!(timeout(Duration::ZERO, queue.get()).await.is_err());
}

async fn shut_down(queue: &WorkQueue<usize>, with_drain: bool) {
    if with_drain {
        queue.shut_down_with_drain().await;
    } else {
        queue.shut_down();
    }
}

/// client-go: TestBasic
#[tokio::test(start_paused = true)]
async fn many_producers_and_consumers() {
    const ADDED_LATE: usize = 1000;
    for with_drain in [false, true] {
        let queue = queue::<usize>();
        let (mut producers, mut consumers) = (JoinSet::new(), JoinSet::new());
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for _ in 0..50 {
                    queue.add(producer);
                    sleep(millis(1)).await;
                }
            });
        }
        for _ in 0..10 {
            let queue = queue.clone();
            consumers.spawn(async move {
                let mut seen = Vec::new();
                while let Some(key) = queue.get().await {
                    sleep(millis(3)).await;
                    queue.done(&key);
                    seen.push(key);
                }
                seen
            });
        }
        producers.join_all().await;
        shut_down(&queue, with_drain).await;
        queue.add(ADDED_LATE);
        let seen = consumers.join_all().await.concat();
        assert!((0..50).all(|key| seen.contains(&key)));
        assert!(!seen.contains(&ADDED_LATE));
        assert!(queue.is_empty());
    }
}

/// client-go: TestAddWhileProcessing
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_are_added_while_they_are_processed() {
    for with_drain in [false, true] {
        let queue = queue::<usize>();
        let (mut producers, mut consumers) = (JoinSet::new(), JoinSet::new());
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move { queue.add(producer) });
        }
        for _ in 0..10 {
            let queue = queue.clone();
            consumers.spawn(async move {
                let mut seen = HashMap::new();
                while let Some(key) = queue.get().await {
                    let times = seen.entry(key).or_insert(0);
                    *times += 1;
                    if *times < 2 {
                        queue.add(key);
                    }
                    queue.done(&key);
                }
            });
        }
        producers.join_all().await;
        shut_down(&queue, with_drain).await;
        consumers.join_all().await;
        assert!(queue.is_empty());
    }
}

/// client-go: TestLen
#[test]
fn len_counts_keys_not_adds() {
    let queue = queue::<&str>();
    for (key, len) in [("foo", 1), ("bar", 2), ("foo", 2)] {
        queue.add(key);
        assert_eq!(queue.len(), len);
    }
}

/// client-go: TestReinsert
#[tokio::test(start_paused = true)]
async fn a_key_added_while_processed_waits_again_when_done() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.add("foo");
    assert_eq!(queue.len(), 0, "it is not handed out twice at once");
    queue.done(&"foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.done(&"foo");
    assert!(queue.is_empty());
}

/// client-go: TestCollapse
#[tokio::test(start_paused = true)]
async fn a_key_added_twice_waits_once() {
    let queue = queue();
    queue.add("bar");
    queue.add("bar");
    assert_eq!(queue.get().await, Some("bar"));
    queue.done(&"bar");
    assert!(queue.is_empty());
}

/// client-go: TestCollapseWhileProcessing
#[tokio::test(start_paused = true)]
async fn a_key_added_twice_while_processed_waits_once() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.add("foo");
    queue.add("foo");
    assert_blocked(&queue).await;
    let other = tokio::spawn({
        let queue = queue.clone();
        async move {
            let key = queue.get().await;
            queue.done(&"foo");
            key
        }
    });
    sleep(millis(100)).await;
    assert!(
        !other.is_finished(),
        "the other worker waits until the first is done"
    );
    queue.done(&"foo");
    assert_eq!(other.await.unwrap(), Some("foo"));
    assert!(queue.is_empty());
}

/// Starts a drain, and returns when it waits.
async fn start_drain(queue: &Arc<Keys>) -> tokio::task::JoinHandle<()> {
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    assert_eq!(queue.get().await, None);
    yield_now().await;
    assert!(!drain.is_finished());
    drain
}

/// client-go: TestQueueDrainageUsingShutDownWithDrain
#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_what_is_processed() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    let (first, second) = (queue.get().await.unwrap(), queue.get().await.unwrap());
    let drain = start_drain(&queue).await;
    queue.done(&first);
    yield_now().await;
    assert!(!drain.is_finished());
    queue.done(&second);
    drain.await.unwrap();
}

/// client-go: TestNoQueueDrainageUsingShutDown
#[tokio::test(start_paused = true)]
async fn shutting_down_waits_for_nobody() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    let _ = (queue.get().await, queue.get().await);
    queue.shut_down();
    assert_eq!(queue.get().await, None);
}

/// What waits is handed out after a shutdown, delayed keys are not: see the traps of client-go's ShutDown.
#[tokio::test(start_paused = true)]
async fn shutting_down_hands_out_what_waits_and_gives_up_what_is_delayed() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    queue.add_after("later", millis(10));
    queue.shut_down();
    queue.add_after("too late", millis(0));
    sleep(millis(20)).await;
    assert_eq!(queue.get().await, Some("foo"));
    assert_eq!(queue.get().await, Some("bar"));
    assert_eq!(queue.get().await, None);
    assert!(queue.is_shutting_down());
}

/// client-go: TestForceQueueShutdownUsingShutDown
#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_drain() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    let _ = (queue.get().await, queue.get().await);
    let drain = start_drain(&queue).await;
    queue.shut_down();
    drain.await.unwrap();
}

/// client-go: TestQueueDrainageUsingShutDownWithDrainWithDirtyItem
#[tokio::test(start_paused = true)]
async fn a_drained_queue_hands_out_what_was_added_while_processed() {
    let queue = queue();
    queue.add("foo");
    let key = queue.get().await.unwrap();
    queue.add("foo");
    let drain = start_drain(&queue).await;
    queue.done(&key);
    assert_eq!(queue.get().await, Some("foo"));
    queue.done(&key);
    assert_eq!(queue.get().await, None);
    drain.await.unwrap();
}

/// client-go: TestGarbageCollection
#[tokio::test(start_paused = true)]
async fn a_key_that_is_done_is_dropped() {
    let queue = queue();
    let key = Arc::new("big");
    queue.add(key.clone());
    queue.add_after(key.clone(), millis(10));
    for _ in 0..2 {
        let got = queue.get().await.unwrap();
        queue.done(&got);
    }
    assert_eq!(Arc::strong_count(&key), 1);
}

/// client-go: TestSimpleQueue
#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_once() {
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
async fn of_two_delays_the_earlier_wins() {
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
async fn a_delay_that_is_added_later_may_come_earlier() {
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
async fn delayed_keys_come_in_the_order_of_their_times() {
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
async fn adding_a_key_leaves_its_delay_alone() {
    let queue = queue();
    queue.add_after("foo", millis(50));
    queue.add("foo");
    for _ in 0..2 {
        assert_eq!(queue.get().await, Some("foo"));
        queue.done(&"foo");
    }
}

/// Workers that wait are woken at the time of each key, not before and not later, also when an earlier one is added meanwhile and when
/// the one that keeps the time goes away.
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

/// A delay beyond the clock's range is a long one, no panic.
#[tokio::test(start_paused = true)]
async fn an_endless_delay_is_no_panic() {
    let queue = queue();
    queue.add_after("foo", Duration::MAX);
    assert_eq!(queue.stats().delayed, 1);
    assert_blocked(&queue).await;
}

/// client-go: TestRateLimitingQueue
#[tokio::test(start_paused = true)]
async fn failures_of_a_key_delay_it() {
    let limiter = ItemExponential::new(millis(1), Duration::from_secs(1));
    let queue = WorkQueue::new(Box::new(limiter), Arc::new(NoQueueMetrics));
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

#[derive(Debug, Default, Clone, PartialEq)]
struct Counts {
    added: usize,
    retried: usize,
    waited: Vec<Duration>,
    worked: Vec<Duration>,
}

#[derive(Default)]
struct Counted(Mutex<Counts>);

impl Counted {
    fn read(&self) -> Counts {
        self.0.lock().clone()
    }
}

impl QueueMetrics for Counted {
    fn added(&self) {
        self.0.lock().added += 1;
    }
    fn waited(&self, duration: Duration) {
        self.0.lock().waited.push(duration);
    }
    fn worked(&self, duration: Duration) {
        self.0.lock().worked.push(duration);
    }
    fn retried(&self) {
        self.0.lock().retried += 1;
    }
}

/// client-go: TestMetrics
#[tokio::test(start_paused = true)]
async fn metrics_count_adds_and_measure_waiting_and_work() {
    let metrics = Arc::new(Counted::default());
    let queue = WorkQueue::new(Box::new(default_limiter()), metrics.clone());
    queue.add("foo");
    assert_eq!((metrics.read().added, queue.stats().depth), (1, 1));
    advance(millis(50)).await;
    queue.get().await;
    assert_eq!(metrics.read().waited, [millis(50)]);

    for _ in 0..5 {
        queue.add("foo");
    }
    assert_eq!((metrics.read().added, queue.stats().depth), (2, 1));
    advance(millis(25)).await;
    queue.done(&"foo");
    assert_eq!(metrics.read().worked, [millis(25)]);
    assert_eq!(queue.stats().depth, 1);

    queue.get().await;
    assert_eq!(metrics.read().waited, [millis(50), millis(25)]);
    advance(millis(1)).await;
    let busy = QueueStats {
        processing: 1,
        unfinished: millis(1),
        longest_running: millis(1),
        depths: [(Priority::NORMAL, 0)].into_iter().collect(),
        ..QueueStats::default()
    };
    assert_eq!(queue.stats(), busy);
    queue.done(&"foo");
    assert_eq!(metrics.read().worked, [millis(25), millis(1)]);

    // A delayed key waits from its time on, not from when somebody looked.
    queue.add_after("foo", millis(10));
    assert_eq!((metrics.read().added, metrics.read().retried), (2, 1));
    advance(millis(15)).await;
    queue.get().await;
    assert_eq!(metrics.read().added, 3);
    assert_eq!(metrics.read().waited.last(), Some(&millis(5)));
}

/// Cancelled waits take no key and lose no wake-up.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cancelled_get_loses_no_key() {
    let queue = queue::<usize>();
    let stop = Arc::new(AtomicBool::new(false));
    let mut cancelled = JoinSet::new();
    for _ in 0..4 {
        let (queue, stop) = (queue.clone(), stop.clone());
        cancelled.spawn(async move {
            let mut got = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                tokio::select! {
                    biased;
                    () = yield_now() => {}
                    key = queue.get() => got.extend(key),
                }
            }
            got
        });
    }
    for key in 0..2000 {
        queue.add(key);
        if key % 50 == 0 {
            yield_now().await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let mut got = cancelled.join_all().await.concat();
    queue.shut_down();
    while let Some(key) = queue.get().await {
        got.push(key);
    }
    got.sort_unstable();
    assert_eq!(got, (0..2000).collect::<Vec<_>>());
}
