//! Ports of client-go's tests of shut-down and drain.

use super::*;

/// client-go: TestQueueDrainageUsingShutDownWithDrain
#[tokio::test(start_paused = true)]
async fn drain_waits_for_processing_keys() {
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
async fn shut_down_does_not_wait() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    let _ = (queue.get().await, queue.get().await);
    queue.shut_down();
    assert_eq!(queue.get().await, None);
}

/// After a shut-down, queued keys are handed out, delayed ones are not.
#[tokio::test(start_paused = true)]
async fn shut_down_hands_out_queued_keys_and_drops_delayed_ones() {
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
async fn shut_down_ends_a_drain() {
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
async fn drained_queue_hands_out_keys_added_while_processing() {
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
