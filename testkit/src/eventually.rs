//! Polling for asynchronous effects, such as those of controllers.

use std::fmt::Display;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Interval between two probes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Interval between two probes in async tests, where they are cheap.
const ASYNC_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Timeout of async tests.
pub(crate) const ASYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of a probe: the awaited value, or a description of the current state.
pub trait Probe {
    /// The awaited value.
    type Value;

    /// Returns the value, or the current state for the error message.
    fn outcome(self) -> Result<Self::Value, String>;
}

impl<T, E: Display> Probe for Result<T, E> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.map_err(|state| state.to_string())
    }
}

impl<T> Probe for Option<T> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing yet".to_owned())
    }
}

impl Probe for bool {
    type Value = ();
    fn outcome(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("not yet".to_owned()) }
    }
}

/// Calls the probe until it returns a value, at least once, and returns the value. Blocks the thread.
///
/// The probe returns an `Option`, a `bool`, or a `Result` with the current state as its error, for a better message.
///
/// # Panics
///
/// Panics after the timeout, with `what`, the timeout and the last state.
#[track_caller]
pub fn eventually<P: Probe>(what: &str, timeout: Duration, mut probe: impl FnMut() -> P) -> P::Value {
    let start = Instant::now();
    loop {
        match probe().outcome() {
            Ok(value) => return value,
            Err(state) if start.elapsed() >= timeout => {
                panic!("timeout after {timeout:?}: {what}; last state: {state}")
            }
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Like [`eventually`], for async tests: yields to other tasks between two probes. The timeout is 30 seconds.
///
/// # Panics
///
/// Panics after the timeout, with the caller's place, `what` and the last state.
#[track_caller]
pub fn until<P: Probe, F: Future<Output = P>>(
    what: &str,
    probe: impl FnMut() -> F,
) -> impl Future<Output = P::Value> {
    let caller = Location::caller();
    async move {
        let awaited = poll_until(probe).await;
        awaited.unwrap_or_else(|state| {
            panic!("timeout after {ASYNC_TIMEOUT:?} at {caller}: {what}; last state: {state}")
        })
    }
}

/// Calls the probe until it returns a value, and returns the last state after the timeout.
pub(crate) async fn poll_until<P: Probe, F: Future<Output = P>>(
    mut probe: impl FnMut() -> F,
) -> Result<P::Value, String> {
    let start = Instant::now();
    loop {
        match probe().await.outcome() {
            Ok(value) => return Ok(value),
            Err(state) if start.elapsed() >= ASYNC_TIMEOUT => return Err(state),
            Err(_) => tokio::time::sleep(ASYNC_POLL_INTERVAL).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eventually_returns_the_first_value() {
        let mut probes = 0;
        let value = eventually("the third probe", Duration::from_mins(1), || {
            probes += 1;
            (probes == 3).then_some(probes)
        });
        assert_eq!(value, 3);
    }

    #[test]
    #[should_panic(expected = "timeout after 60ms: ready; last state: 2 of 3 replicas")]
    fn timeout_panics_with_the_last_state() {
        eventually("ready", Duration::from_millis(60), || {
            Err::<(), _>("2 of 3 replicas")
        });
    }
}
