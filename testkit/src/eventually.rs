//! Waiting for what a controller does in its own time.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// The same in async tests, whose probes cost little.
const ASYNC_PAUSE: Duration = Duration::from_millis(10);

/// How long an async test waits.
const ASYNC_PATIENCE: Duration = Duration::from_secs(30);

/// What a look at the world finds: the awaited value, or the state instead.
pub trait Probe {
    /// The awaited value.
    type Value;

    /// The value, or the state as a text for the failure's message.
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

/// Looks again and again until there is a value, and returns it. Looks at least once.
///
/// The probe returns an `Option`, a `bool`, or, for a better message, a `Result` whose error is the state that it
/// saw instead. It blocks the thread.
///
/// # Panics
///
/// When the time is over: with `what`, the time, and the last seen state.
#[track_caller]
pub fn eventually<P: Probe>(what: &str, timeout: Duration, mut probe: impl FnMut() -> P) -> P::Value {
    let start = Instant::now();
    loop {
        match probe().outcome() {
            Ok(value) => return value,
            Err(state) if start.elapsed() >= timeout => {
                panic!("not within {timeout:?}: {what}; last seen: {state}")
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// [`eventually`] for async tests: the thread goes on with other tasks between two looks. It waits half a minute.
///
/// # Panics
///
/// When the time is over: with `what` and the last seen state.
pub async fn until<P: Probe, F: Future<Output = P>>(what: &str, mut probe: impl FnMut() -> F) -> P::Value {
    let start = Instant::now();
    loop {
        match probe().await.outcome() {
            Ok(value) => return value,
            Err(state) if start.elapsed() >= ASYNC_PATIENCE => {
                panic!("not within {ASYNC_PATIENCE:?}: {what}; last seen: {state}")
            }
            Err(_) => tokio::time::sleep(ASYNC_PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_first_value() {
        let mut looks = 0;
        let value = eventually("the third look", Duration::from_mins(1), || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(value, 3);
    }

    #[test]
    #[should_panic(expected = "not within 60ms: ready; last seen: 2 of 3 replicas")]
    fn panics_with_the_last_state() {
        eventually("ready", Duration::from_millis(60), || {
            Err::<(), _>("2 of 3 replicas")
        });
    }
}
