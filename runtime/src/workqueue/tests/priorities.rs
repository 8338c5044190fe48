//! Priorities. A test of a rule of controller-runtime's priority queue names the original.

use super::*;

/// Takes all queued keys.
async fn drain<K: crate::workqueue::Key>(queue: &WorkQueue<K>) -> Vec<K> {
    let mut keys = Vec::new();
    while !queue.is_empty() {
        let key = queue.get().await.unwrap();
        queue.done(&key);
        keys.push(key);
    }
    keys
}

fn depths<K: crate::workqueue::Key>(queue: &WorkQueue<K>) -> Vec<(i8, usize)> {
    let mut depths: Vec<_> = queue
        .stats()
        .depths
        .iter()
        .map(|(priority, depth)| (priority.0, depth))
        .collect();
    depths.sort_unstable();
    depths
}

/// controller-runtime: TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes, but for the share of the lower ones.
#[tokio::test(start_paused = true)]
async fn higher_priorities_are_first_each_in_order() {
    let queue = queue();
    for (key, priority) in [("a", -10), ("b", 0), ("c", 5), ("d", 0), ("e", 5), ("f", -10)] {
        queue.add_with_priority(key, Priority(priority));
    }
    assert_eq!(depths(&queue), [(-10, 2), (0, 2), (5, 2)]);
    assert_eq!(drain(&queue).await, ["c", "e", "b", "d", "a", "f"]);
    assert_eq!(depths(&queue), [(-10, 0), (0, 0), (5, 0)]);
}

/// controller-runtime: "gets pushed to the front if the priority increases", "retains the highest priority" and "follows FIFO order in the
/// new priority queue when item priority changes"
#[tokio::test(start_paused = true)]
async fn higher_priority_moves_a_key_to_the_end_of_that_line() {
    let queue = queue();
    for key in ["foo", "bar", "baz"] {
        queue.add_with_priority(key, Priority::LOW);
    }
    queue.add("high");
    queue.add("bar");
    assert_eq!(depths(&queue), [(-100, 2), (0, 2)]);
    assert_eq!(queue.len(), 4);
    assert_eq!(drain(&queue).await, ["high", "bar", "foo", "baz"]);
}

/// controller-runtime: "will not decrease the priority"
#[tokio::test(start_paused = true)]
async fn lower_priority_changes_nothing() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    queue.add_with_priority("foo", Priority::LOW);
    assert_eq!(depths(&queue), [(0, 2)]);
    assert_eq!(drain(&queue).await, ["foo", "bar"]);
}

/// Not so in controller-runtime (its issue 3496).
#[tokio::test(start_paused = true)]
async fn low_priority_has_an_eighth_of_the_queue() {
    let queue = queue();
    for key in 0..100 {
        queue.add_with_priority(1000 + key, Priority::LOW);
    }
    let mut taken = Vec::new();
    for key in 0..160 {
        // A key of the high priority is always queued.
        queue.add(2 * key);
        queue.add(2 * key + 1);
        let key = queue.get().await.unwrap();
        queue.done(&key);
        taken.push(key);
    }
    let low: Vec<_> = taken.iter().copied().filter(|key| *key >= 1000).collect();
    assert_eq!(low, (1000..1020).collect::<Vec<_>>());
    assert!(taken.chunks(8).all(|eight| eight.iter().any(|key| *key >= 1000)));
}

#[tokio::test(start_paused = true)]
async fn lower_priorities_share_an_eighth() {
    let queue = queue::<(i8, usize)>();
    for priority in [10, 0, -1, -2] {
        for key in 0..100 {
            queue.add_with_priority((priority, key), Priority(priority));
        }
    }
    let mut counts = HashMap::<i8, usize>::new();
    for _ in 0..96 {
        let key = queue.get().await.unwrap();
        *counts.entry(key.0).or_default() += 1;
        queue.done(&key);
    }
    assert_eq!(counts, [(10, 84), (0, 4), (-1, 4), (-2, 4)].into());
}

/// The empty slots of raised keys are freed.
#[tokio::test(start_paused = true)]
async fn repeated_raising_does_not_leak_memory() {
    let queue = queue();
    for key in 0..10 {
        queue.add_with_priority(key, Priority::LOW);
    }
    for _ in 0..10_000 {
        queue.add_with_priority(99, Priority::LOW);
        queue.add_with_priority(99, Priority(1));
        // The others are handed out and requeued, too.
        let key = queue.get().await.unwrap();
        queue.done(&key);
        queue.add_with_priority(key, Priority::LOW);
    }
    assert!(queue.with_current(|shared, _, _| shared.state.slot_capacity()) <= 128);
}

/// In controller-runtime, the controller does this; here the queue does.
#[tokio::test(start_paused = true)]
async fn requeue_keeps_the_priority() {
    let queue = queue();
    queue.add_with_priority("low", Priority::LOW);
    assert_eq!(queue.get().await, Some("low"));
    queue.add_rate_limited("low");
    queue.done(&"low");
    queue.add_after("normal", millis(50));
    sleep(millis(100)).await;
    assert_eq!(depths(&queue), [(-100, 1), (0, 1)]);
    assert_eq!(drain(&queue).await, ["normal", "low"]);
}

/// controller-runtime: "updates metrics correctly when an item with after is re-added with higher priority and no after"; but there the
/// earlier time replaces the later one.
#[tokio::test(start_paused = true)]
async fn delayed_key_does_not_count_as_depth() {
    let queue = queue();
    queue.add_after("foo", Duration::from_hours(1));
    assert_eq!(depths(&queue), []);
    queue.add_with_priority("foo", Priority(1));
    assert_eq!(depths(&queue), [(1, 1)]);
    assert_eq!(drain(&queue).await, ["foo"]);
    assert_eq!(depths(&queue), [(1, 0)]);
    assert_eq!(queue.stats().delayed, 1);
}

#[tokio::test(start_paused = true)]
async fn raised_key_keeps_its_delay() {
    let queue = queue();
    queue.add_after("foo", millis(50));
    queue.add_after("bar", millis(60));
    for key in ["bar", "foo"] {
        queue.add_with_priority(key, Priority::LOW);
    }
    queue.add("foo");
    queue.add_after("foo", millis(40));
    assert_eq!(drain(&queue).await, ["foo", "bar"]);
    sleep(millis(45)).await;
    assert_eq!(drain(&queue).await, ["foo"]);
    sleep(millis(20)).await;
    assert_eq!(drain(&queue).await, ["bar"]);
}

#[tokio::test(start_paused = true)]
async fn key_added_while_processing_gets_the_highest_priority() {
    let queue = queue();
    queue.add("foo");
    assert_eq!(queue.get().await, Some("foo"));
    for priority in [Priority::LOW, Priority(3), Priority(2)] {
        queue.add_with_priority("foo", priority);
    }
    queue.add_with_priority("bar", Priority(2));
    queue.done(&"foo");
    assert_eq!(drain(&queue).await, ["foo", "bar"]);
}
