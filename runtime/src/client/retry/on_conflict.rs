//! Retries a change after a conflict: client-go's `RetryOnConflict`.

use std::time::Duration;

use crate::client::ClientError;

const MAX_ATTEMPTS: u32 = 5;
const DELAY: Duration = Duration::from_millis(10);

/// Calls `attempt` until it does not end in a conflict: five times at most, about 10 ms apart.
///
/// For a change that was computed from an object that others may have changed in the meantime: `attempt` reads the object
/// *from the API server*, changes and updates it. The fifth conflict is returned, and every other error at once.
///
/// Where a reconcile reads from a lister, return the conflict instead: the queue retries with backoff when the cache has moved on.
pub async fn retry_on_conflict<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_conflict() => {
                tokio::time::sleep(DELAY.mul_f64(1.0 + 0.1 * rand::random::<f64>())).await;
            }
            result => return result,
        }
    }
    attempt().await
}
