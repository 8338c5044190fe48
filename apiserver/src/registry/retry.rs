//! The time limit of a write that is retried after write conflicts.

use crate::status::ApiError;
use std::time::{Duration, Instant};

/// The longest time of a write, as in kube-apiserver.
const MAX_WRITE_TIME: Duration = Duration::from_secs(34);

/// Limits the retries of one write. Each failed attempt means that another write succeeded, but one writer can lose again and again.
#[derive(Debug)]
pub(super) struct RetryDeadline(Instant);

impl RetryDeadline {
    /// Starts the time limit.
    pub(super) fn start() -> Self {
        Self(Instant::now() + MAX_WRITE_TIME)
    }

    /// Called after a write conflict: returns 504 after the deadline.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        if Instant::now() < self.0 {
            return Ok(());
        }
        let why = "Timeout: request did not complete within requested timeout - context deadline exceeded";
        Err(ApiError::generic(504, "Timeout", why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_end_with_504_after_the_deadline() {
        assert!(RetryDeadline::start().check().is_ok());
        let error = RetryDeadline(Instant::now()).check().unwrap_err();
        assert_eq!((error.code, error.reason.as_ref()), (504, "Timeout"));
    }
}
