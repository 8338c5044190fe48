//! client-go's tests of the end of a queue.

use super::*;

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
