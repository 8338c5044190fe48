//! How long a request may take to be read: as long as it says itself, and no longer than the server allows.

use super::Query;
use crate::duration;
use crate::status::ApiError;
use std::time::Duration;

/// The most, as in the real server.
const MOST: Duration = Duration::from_mins(1);

/// What a request says, in its query.
pub(super) fn of(query: &Query) -> Result<Duration, ApiError> {
    let said = query.get("timeout");
    if said.is_empty() {
        return Ok(MOST);
    }
    let nanoseconds = duration::parse(said).map_err(|why| {
        ApiError::bad_request(format!(
            "invalid timeout specified in the request URL - time: {why}"
        ))
    })?;
    // None at all is as much as there is.
    let said = Duration::try_from_secs_f64(nanoseconds / 1e9).unwrap_or_default();
    Ok(if said.is_zero() { MOST } else { said.min(MOST) })
}

/// What is said when it is over.
pub(super) fn passed() -> ApiError {
    ApiError::generic(
        504,
        "Timeout",
        "Timeout: request did not complete within the allotted timeout",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_take_less_than_the_most_and_no_more() {
        for (said, seconds) in [
            ("", 60.0),
            ("timeout=", 60.0),
            ("timeout=0s", 60.0),
            ("timeout=-1s", 60.0),
            ("timeout=1h", 60.0),
            ("timeout=1.5s", 1.5),
            ("timeout=30s&timeout=x", 30.0),
        ] {
            let limit = of(&Query::parse(said)).unwrap();
            assert_eq!(limit, Duration::from_secs_f64(seconds), "{said}");
        }
        let refused = of(&Query::parse("timeout=30")).unwrap_err();
        let why = "invalid timeout specified in the request URL - time: missing unit in duration \"30\"";
        assert_eq!((refused.code, refused.message.as_str()), (400, why));
    }
}
