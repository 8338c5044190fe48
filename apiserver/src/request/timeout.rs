//! The timeout of a request: the `timeout` parameter, up to the server's limit.

use super::Query;
use crate::duration;
use crate::status::ApiError;
use std::time::Duration;

/// The longest timeout, as in kube-apiserver (`--request-timeout`).
const MAX_REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Returns the timeout that the query requests; the empty query stands for the longest.
pub(crate) fn of_query(query: &Query) -> Result<Duration, ApiError> {
    let text = query.get("timeout");
    if text.is_empty() {
        return Ok(MAX_REQUEST_TIMEOUT);
    }
    let nanoseconds = duration::parse_nanoseconds(text).map_err(|why| {
        ApiError::bad_request(format!(
            "invalid timeout specified in the request URL - time: {why}"
        ))
    })?;
    // A zero or negative timeout means the longest.
    let requested = Duration::try_from_secs_f64(nanoseconds / 1e9).unwrap_or_default();
    Ok(if requested.is_zero() {
        MAX_REQUEST_TIMEOUT
    } else {
        requested.min(MAX_REQUEST_TIMEOUT)
    })
}

/// The 504 for a request that timed out.
pub(crate) fn timeout_error() -> ApiError {
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
    fn requested_timeout_is_limited_to_the_maximum() {
        for (query, seconds) in [
            ("", 60.0),
            ("timeout=", 60.0),
            ("timeout=0s", 60.0),
            ("timeout=-1s", 60.0),
            ("timeout=1h", 60.0),
            ("timeout=1.5s", 1.5),
            ("timeout=30s&timeout=x", 30.0),
        ] {
            let limit = of_query(&Query::parse(query)).unwrap();
            assert_eq!(limit, Duration::from_secs_f64(seconds), "{query}");
        }
        let error = of_query(&Query::parse("timeout=30")).unwrap_err();
        let why = "invalid timeout specified in the request URL - time: missing unit in duration \"30\"";
        assert_eq!((error.code, error.message.as_str()), (400, why));
    }
}
