//! Ports of client-go's tests of its queue: keys are deduplicated and processed by one worker at a time.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
};

use super::*;
use crate::wake_batch::{batch_wakes, tests::WakeCounter};

/// client-go: TestBasic
#[tokio::test(start_paused = true)]
async fn concurrent_producers_and_consumers() {
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
async fn keys_can_be_added_while_they_are_processed() {
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
fn len_counts_keys() {
    let queue = queue::<&str>();
    for (key, len) in [("foo", 1), ("bar", 2), ("foo", 2)] {
        queue.add(key);
        assert_eq!(queue.len(), len);
    }
}

/// client-go: TestReinsert
#[tokio::test(start_paused = true)]
async fn key_added_while_processing_is_requeued_when_done() {
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
async fn duplicate_add_is_collapsed() {
    let queue = queue();
    queue.add("bar");
    queue.add("bar");
    assert_eq!(queue.get().await, Some("bar"));
    queue.done(&"bar");
    assert!(queue.is_empty());
}

/// client-go: TestCollapseWhileProcessing
#[tokio::test(start_paused = true)]
async fn duplicate_add_while_processing_is_collapsed() {
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

/// client-go: TestGarbageCollection
#[tokio::test(start_paused = true)]
async fn done_key_is_dropped() {
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

/// A cancelled get takes no key and loses no wake-up.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_get_loses_no_key() {
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

/// A batch of added keys wakes a worker once.
#[tokio::test]
async fn batch_of_adds_wakes_a_worker_once() {
    let (queue, worker) = (queue::<usize>(), Arc::new(WakeCounter::default()));
    let waker = Waker::from(worker.clone());
    let mut cx = Context::from_waker(&waker);
    let woken = || worker.wakes();
    let mut get = pin!(queue.get());
    assert!(get.as_mut().poll(&mut cx).is_pending());
    batch_wakes(|| {
        (0..100).for_each(|key| queue.add(key));
        assert_eq!(woken(), 0);
    });
    assert_eq!(woken(), 1);
    assert_eq!(get.as_mut().poll(&mut cx), Poll::Ready(Some(0)));
    for key in 1..100 {
        assert_eq!(queue.get().await, Some(key));
    }
    assert_eq!(woken(), 1);
}
