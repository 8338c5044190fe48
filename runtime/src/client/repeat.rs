//! When a request that was refused is sent again.

use http::StatusCode;
use tokio::time::Duration;

/// A request is sent so often at most.
const TRIES: u32 = 4;
/// Whoever is to wait longer is told instead.
const LONGEST: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How long to wait before the next try; none where there is none. `asked` is what the API server asked for.
pub(super) fn pause(attempt: u32, code: StatusCode, asked: Option<Duration>) -> Option<Duration> {
    let passes = match code.as_u16() {
        429 | 500 | 502 | 503 | 504 => true,
        code => code > 500 && asked.is_some(),
    };
    if !passes || attempt + 1 >= TRIES {
        return None;
    }
    let pause = asked.unwrap_or(FIRST_PAUSE * 2_u32.saturating_pow(attempt));
    // Never sooner than asked, and not all at once.
    (pause <= LONGEST).then(|| pause.mul_f64(1.0 + 0.1 * rand::random::<f64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(attempt: u32, code: u16, asked: Option<u64>) -> Option<u128> {
        let asked = asked.map(Duration::from_secs);
        pause(attempt, StatusCode::from_u16(code).unwrap(), asked).map(|pause| pause.as_millis())
    }

    #[test]
    fn waits_as_long_as_it_is_asked_to_or_ever_longer() {
        for (attempt, least) in [(0, 100), (1, 200), (2, 400)] {
            for code in [429, 500, 502, 503, 504] {
                let waits = millis(attempt, code, None).unwrap();
                assert!((least..=least * 11 / 10).contains(&waits), "{waits}");
            }
            let waits = millis(attempt, 429, Some(3)).unwrap();
            assert!((3000..=3300).contains(&waits), "{waits}");
        }
        assert_eq!(millis(3, 429, Some(1)), None, "the fourth was the last");
        assert_eq!(millis(0, 503, Some(11)), None, "too long for a worker to wait");
        assert!(millis(0, 599, Some(1)).is_some());
        for code in [400, 401, 403, 404, 409, 410, 422, 501, 599] {
            assert_eq!(millis(0, code, None), None, "{code}");
        }
    }
}
