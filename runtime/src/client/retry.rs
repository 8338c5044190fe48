//! Trying again after a conflict.

use std::time::Duration;

use super::ClientError;

const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Calls `attempt` until it does not end in a conflict: five times at most, about 10 ms apart.
///
/// For a change that was computed from an object that somebody else may have changed in the meantime: `attempt` reads the object
/// *from the API server*, changes and updates it. The fifth conflict is returned, and every other error at once.
///
/// Where a reconcile reads from a lister, return the conflict instead: the queue tries again when the cache has moved on.
pub async fn retry_on_conflict<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    for _ in 1..TRIES {
        match attempt().await {
            Err(error) if error.is_conflict() => {
                tokio::time::sleep(PAUSE.mul_f64(1.0 + 0.1 * rand::random::<f64>())).await;
            }
            settled => return settled,
        }
    }
    attempt().await
}
