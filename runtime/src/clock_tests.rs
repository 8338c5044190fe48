use std::time::Duration;

use tokio::time::{advance, sleep};

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn injected_clock_follows_tokio_and_clones_share_its_time() {
    let clock = Clock::starting_at(at("2026-01-01T00:00:00Z"));
    let clone = clock.clone();
    advance(Duration::from_secs(61)).await;
    assert_eq!(clock.now(), at("2026-01-01T00:01:01Z"));
    clone.set(at("2030-06-01T12:00:00Z"));
    sleep(Duration::from_millis(500)).await;
    assert_eq!(clock.now(), at("2030-06-01T12:00:00.5Z"));
    assert_eq!(Clock::starting_at(Timestamp::MAX).now(), Timestamp::MAX);
}

#[tokio::test(start_paused = true)]
async fn reconcile_time_is_the_scopes_clock_and_the_systems_outside() {
    let clock = Clock::starting_at(at("2026-01-01T00:00:00Z"));
    let time = clock
        .scope(async {
            sleep(Duration::from_secs(5)).await;
            reconcile_time()
        })
        .await;
    assert_eq!(time, at("2026-01-01T00:00:05Z"));
    let before = Timestamp::now();
    let (outside, system) = (reconcile_time(), Clock::system().now());
    let after = Timestamp::now();
    assert!(before <= outside && outside <= system && system <= after);
}
