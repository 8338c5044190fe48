//! Parked keys.

use super::*;

async fn parked() -> Arc<Keys> {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    assert!(queue.park(&"foo", Instant::now() + millis(100)));
    queue
}

#[tokio::test(start_paused = true)]
async fn parked_key_is_neither_processing_nor_queued() {
    let queue = parked().await;
    assert_blocked(&queue).await;
    let stats = queue.stats();
    assert_eq!(
        (stats.parked, stats.processing, stats.depth, queue.len()),
        (1, 0, 0, 0)
    );
    queue.done(&"foo");
    assert_eq!(queue.stats().parked, 1, "nobody holds it who could be done");
}

#[tokio::test(start_paused = true)]
async fn unparked_key_is_queued_without_an_add() {
    let queue = parked().await;
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { (queue.get().await, Instant::now()) }
    });
    yield_now().await;
    let now = Instant::now();
    assert!(queue.unpark(&"foo"));
    assert_eq!(worker.await.unwrap(), (Some("foo"), now));
    assert!(!queue.unpark(&"foo"), "it is held, not parked");
    queue.done(&"foo");
    assert!(!queue.unpark(&"foo"));
    sleep(millis(200)).await;
    assert!(queue.is_empty(), "the deadline is forgotten");
}

#[tokio::test(start_paused = true)]
async fn parked_key_is_queued_at_its_deadline() {
    let queue = parked().await;
    let start = Instant::now();
    assert_eq!(queue.get().await, Some("foo"));
    assert_eq!(start.elapsed(), millis(100));
    queue.done(&"foo");
    assert_blocked(&queue).await;
}

#[tokio::test(start_paused = true)]
async fn deadline_wakes_waiting_workers() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.add_after("bar", Duration::from_secs(9));
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    yield_now().await;
    let start = Instant::now();
    assert!(queue.park(&"foo", start + millis(100)));
    assert_eq!(worker.await.unwrap(), Some("foo"));
    assert_eq!(start.elapsed(), millis(100));
}

#[tokio::test(start_paused = true)]
async fn passed_deadline_queues_at_once() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    assert!(queue.park(&"foo", Instant::now()));
    assert_eq!(queue.get().await, Some("foo"));
}

#[tokio::test(start_paused = true)]
async fn add_to_a_parked_key_is_kept_until_it_is_unparked() {
    let queue = parked().await;
    queue.add("foo");
    queue.add_after("foo", millis(10));
    sleep(millis(50)).await;
    assert_blocked(&queue).await;
    assert_eq!((queue.stats().parked, queue.stats().depth), (1, 1));
    queue.unpark(&"foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.done(&"foo");
    assert!(queue.is_empty(), "once is enough");
}

#[tokio::test(start_paused = true)]
async fn delay_is_kept_while_parked() {
    let queue = parked().await;
    queue.add_after("foo", millis(300));
    queue.unpark(&"foo");
    for at in [0, 300] {
        assert_eq!(queue.get().await, Some("foo"));
        queue.done(&"foo");
        sleep(millis(at)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn key_added_before_parking_is_queued_once() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.add("foo");
    queue.park(&"foo", Instant::now() + millis(100));
    assert_blocked(&queue).await;
    queue.unpark(&"foo");
    assert_eq!(queue.get().await, Some("foo"));
    queue.done(&"foo");
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_a_processing_key_can_be_parked() {
    let queue = queue();
    assert!(!queue.park(&"unknown", Instant::now()));
    queue.add("foo");
    assert!(!queue.park(&"foo", Instant::now() + millis(100)));
    assert_eq!(queue.get().await, Some("foo"));
}

#[tokio::test(start_paused = true)]
async fn parked_key_keeps_or_raises_its_priority() {
    let queue = queue();
    for (added, expected) in [(None, ["bar", "foo"]), (Some(Priority(1)), ["foo", "bar"])] {
        queue.add_with_priority("foo", Priority::LOW);
        assert_eq!(queue.get().await, Some("foo"));
        queue.park(&"foo", Instant::now() + millis(100));
        if let Some(priority) = added {
            queue.add_with_priority("foo", priority);
            queue.add_with_priority("foo", Priority::LOW);
        }
        queue.unpark(&"foo");
        queue.add("bar");
        for key in expected {
            assert_eq!(queue.get().await, Some(key));
            queue.done(&key);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn shut_down_drops_parked_keys() {
    for with_add in [false, true] {
        let queue = parked().await;
        if with_add {
            queue.add("foo");
        }
        queue.shut_down_with_drain().await;
        assert_eq!(queue.get().await, None);
        assert!(!queue.unpark(&"foo"));
        assert_eq!(
            queue.stats(),
            QueueStats {
                depths: queue.stats().depths,
                ..QueueStats::default()
            }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn drain_ends_when_the_last_key_is_parked() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    let drain = start_drain(&queue).await;
    assert!(!queue.park(&"foo", Instant::now() + millis(100)));
    drain.await.unwrap();
    assert_eq!(queue.get().await, None);
}

/// Parks and unparks on real threads: no key is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_lost_by_parking_on_threads() {
    let queue = queue::<usize>();
    let mut workers = JoinSet::new();
    for _ in 0..4 {
        let queue = queue.clone();
        workers.spawn(async move {
            let mut seen = HashMap::<usize, usize>::new();
            while let Some(key) = queue.get().await {
                let times = seen.entry(key).or_default();
                *times += 1;
                if *times % 2 == 1 {
                    assert!(queue.park(&key, Instant::now() + Duration::from_mins(1)));
                    tokio::spawn({
                        let queue = queue.clone();
                        async move { assert!(queue.unpark(&key)) }
                    });
                } else {
                    queue.done(&key);
                }
            }
        });
    }
    for key in 0..1000 {
        queue.add(key);
    }
    while queue.stats()
        != (QueueStats {
            depths: queue.stats().depths,
            ..QueueStats::default()
        })
    {
        sleep(millis(1)).await;
    }
    queue.shut_down();
    workers.join_all().await;
}
