//! Results of a reconcile: requeue, backoff, terminal errors, panics; and running reconciles when the controller stops.

use std::{panic::panic_any, sync::atomic::Ordering, time::Duration};

use futures::FutureExt;
use tokio::time::sleep;

use super::{super::*, millis, name, start};

#[tokio::test(start_paused = true)]
async fn errors_are_retried_with_backoff_until_a_success() {
    let running = start(1, millis(0), |_, call| {
        async move {
            if call < 5 {
                Err(ReconcileError::new("not yet"))
            } else {
                Ok(Action::await_change())
            }
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(200)).await;
    assert_eq!(running.calls.of("default/a"), [0, 5, 15, 35, 75]);
    assert_eq!(
        running.queue.num_requeues(&name("default/a")),
        0,
        "success resets the backoff"
    );
    let error = Some(Outcome::Error);
    assert_eq!(
        running.outcomes(),
        [error, error, error, error, Some(Outcome::Success)]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn panic_is_an_error_of_its_key_only() {
    let running = start(1, millis(0), |key, call| {
        // The first call panics while it makes the future, the second in the future, the third with a payload that is not a string.
        assert!(key != "default/bad" || call > 1, "no future for {key}");
        async move {
            match (&*key, call) {
                ("default/bad", 2) => panic!("in the future"),
                ("default/bad", 3) => panic_any(7),
                _ => Ok(Action::await_change()),
            }
        }
        .boxed()
    });
    for key in ["default/bad", "default/good"] {
        running.add(key);
    }
    sleep(millis(100)).await;
    assert_eq!(running.calls.of("default/bad"), [0, 5, 15, 35]);
    assert_eq!(running.calls.of("default/good"), [0], "the only worker continues");
    let panics = running
        .outcomes()
        .iter()
        .filter(|outcome| **outcome == Some(Outcome::Panic))
        .count();
    assert_eq!(panics, 3);
    assert_eq!(running.stop().await, Drained::default());
}

#[tokio::test(start_paused = true)]
async fn terminal_errors_are_not_retried() {
    let running = start(1, millis(0), |_, _| {
        async { Err(ReconcileError::new("no such size").terminal()) }.boxed()
    });
    running.add("default/a");
    sleep(Duration::from_hours(1)).await;
    assert_eq!(running.calls.of("default/a"), [0]);
    running.add("default/a");
    sleep(millis(1)).await;
    assert_eq!(running.calls.of("default/a").len(), 2);
    assert_eq!(running.outcomes(), [Some(Outcome::TerminalError); 2]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn requeue_after_and_requeue_call_again() {
    let running = start(1, millis(0), |key, call| {
        async move {
            Ok(match (&*key, call) {
                ("default/later", 1) => Action::requeue_after(millis(300)),
                ("default/backoff", 1..=3) => Action::requeue(),
                _ => Action::await_change(),
            })
        }
        .boxed()
    });
    running.add("default/later");
    running.add("default/backoff");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/later"), [0, 300]);
    assert_eq!(
        running.calls.of("default/backoff"),
        [0, 5, 15, 35],
        "the backoff grows"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn change_enqueues_before_the_deadline_of_requeue_after() {
    let running = start(1, millis(0), |_, call| {
        async move {
            Ok(if call == 1 {
                Action::requeue_after(millis(300))
            } else {
                Action::await_change()
            })
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(100)).await;
    running.add("default/a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/a"), [0, 100, 300]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn workers_reconcile_different_keys_concurrently() {
    let running = start(2, millis(0), |_, _| {
        async {
            sleep(millis(10)).await;
            Ok(Action::await_change())
        }
        .boxed()
    });
    for key in ["default/a", "default/b", "default/c"] {
        running.add(key);
    }
    sleep(millis(5)).await;
    running.add("default/a");
    assert_eq!(running.outcomes.1.load(Ordering::Relaxed), 2, "two workers run");
    sleep(millis(50)).await;
    assert_eq!(
        running.calls.of("default/a"),
        [0, 10],
        "again after its own call, not concurrently"
    );
    assert_eq!(running.calls.of("default/b"), [0]);
    assert_eq!(running.calls.of("default/c"), [10]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stop_lets_reconciles_end_and_starts_none() {
    let running = start(1, millis(100), |_, _| {
        async {
            sleep(millis(50)).await;
            Ok(Action::requeue())
        }
        .boxed()
    });
    running.add("default/a");
    running.add("default/waits");
    sleep(millis(10)).await;
    let (calls, outcomes) = (running.calls.clone(), running.outcomes.clone());
    assert_eq!(running.stop().await, Drained::default());
    assert_eq!(calls.1.elapsed(), millis(50));
    assert_eq!(outcomes.0.lock().as_slice(), [Some(Outcome::Requeue)]);
    assert!(calls.of("default/waits").is_empty());
}

#[tokio::test(start_paused = true)]
async fn reconcile_that_exceeds_the_grace_period_is_cancelled() {
    let running = start(2, millis(100), |key, _| {
        async move {
            sleep(if key == "default/slow" {
                Duration::from_hours(1)
            } else {
                millis(60)
            })
            .await;
            Ok(Action::await_change())
        }
        .boxed()
    });
    running.add("default/slow");
    running.add("default/quick");
    sleep(millis(10)).await;
    let (calls, outcomes) = (running.calls.clone(), running.outcomes.clone());
    let cancelled = vec![name("default/slow")];
    assert_eq!(running.stop().await, Drained { cancelled });
    assert_eq!(calls.1.elapsed(), millis(110));
    assert_eq!(outcomes.0.lock().as_slice(), [Some(Outcome::Success), None]);
    assert_eq!(outcomes.1.load(Ordering::Relaxed), 0);
}
