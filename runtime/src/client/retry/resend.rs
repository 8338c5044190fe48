//! Whether and when a refused request is sent again.

use http::StatusCode;
use tokio::time::Duration;

const MAX_ATTEMPTS: u32 = 4;
/// A longer `Retry-After` is not waited for: the caller gets the error.
const MAX_DELAY: Duration = Duration::from_secs(10);
const FIRST_BACKOFF: Duration = Duration::from_millis(100);

/// Returns how long to wait before the request is sent again, or `None` if it is not: exponential backoff with jitter, or the server's
/// `Retry-After`. `attempts` is how often it was sent before this time.
pub(in crate::client) fn resend_delay(
    attempts: u32,
    code: StatusCode,
    retry_after: Option<Duration>,
) -> Option<Duration> {
    let is_temporary = match code.as_u16() {
        429 | 500 | 502 | 503 | 504 => true,
        code => code > 500 && retry_after.is_some(),
    };
    if !is_temporary || attempts + 1 >= MAX_ATTEMPTS {
        return None;
    }
    let delay = retry_after.unwrap_or(FIRST_BACKOFF * 2_u32.saturating_pow(attempts));
    // Jitter only adds: never earlier than `Retry-After`.
    (delay <= MAX_DELAY).then(|| delay.mul_f64(1.0 + 0.1 * rand::random::<f64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(attempts: u32, code: u16, retry_after: Option<u64>) -> Option<u128> {
        let retry_after = retry_after.map(Duration::from_secs);
        resend_delay(attempts, StatusCode::from_u16(code).unwrap(), retry_after)
            .map(|delay| delay.as_millis())
    }

    #[test]
    fn delay_is_retry_after_or_doubles() {
        for (attempts, least) in [(0, 100), (1, 200), (2, 400)] {
            for code in [429, 500, 502, 503, 504] {
                let delay = millis(attempts, code, None).unwrap();
                assert!((least..=least * 11 / 10).contains(&delay), "{delay}");
            }
            let delay = millis(attempts, 429, Some(3)).unwrap();
            assert!((3000..=3300).contains(&delay), "{delay}");
        }
        assert_eq!(millis(3, 429, Some(1)), None, "the fourth attempt was the last");
        assert_eq!(millis(0, 503, Some(11)), None, "too long for a worker to wait");
        assert!(millis(0, 599, Some(1)).is_some());
        for code in [400, 401, 403, 404, 409, 410, 422, 501, 599] {
            assert_eq!(millis(0, code, None), None, "{code}");
        }
    }
}
