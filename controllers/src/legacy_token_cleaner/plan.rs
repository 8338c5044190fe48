//! What is to be done about a token Secret that Kubernetes made for a service account, before version 1.24.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// The day on which a token was used last; an API server writes it.
pub(super) const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// The day on which the token was marked; API servers then refuse it, and say so to its user.
pub(super) const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Keep,
    /// Label it with today's date.
    MarkInvalid,
    Delete,
}

/// The days before which a token counts as unused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    now: Timestamp,
    unused_before: Timestamp,
}

impl Period {
    /// Returns none if API servers have not recorded the use of tokens for the whole period. `since` is the day on which they began.
    pub(super) fn new(now: Timestamp, since: Date, clean_up: std::time::Duration) -> Option<Self> {
        let clean_up = jiff::SignedDuration::try_from(clean_up).ok()?;
        let began = since.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let unused_before = now.checked_sub(clean_up).ok()?;
        (unused_before >= began).then_some(Self { now, unused_before })
    }

    /// Today, as the labels have it.
    pub(super) fn today(&self) -> String {
        day(self.now).to_string()
    }
}

/// Parses a day as the labels have it.
pub(super) fn parse_day(text: &str) -> Option<Date> {
    let is_day = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse().ok().filter(|_| is_day)
}

fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// A token Secret.
#[derive(Clone, Debug)]
pub(super) struct TokenSecret<'s> {
    pub(super) created: Option<Timestamp>,
    pub(super) is_deleting: bool,
    pub(super) last_used: Option<&'s str>,
    pub(super) invalid_since: Option<&'s str>,
    /// Whether its service account lists it: others were not made by Kubernetes.
    pub(super) is_referenced: bool,
}

/// Decides about a Secret, unless pods use it. A date that does not parse says nothing: the Secret stays.
pub(super) fn decide(secret: &TokenSecret<'_>, period: &Period) -> Decision {
    let is_old = secret
        .created
        .is_some_and(|created| created < period.unused_before);
    let unused_before = day(period.unused_before);
    let is_unused = match secret.last_used {
        None => true,
        Some(text) => parse_day(text).is_some_and(|last| last < unused_before),
    };
    if !is_old || secret.is_deleting || !is_unused || !secret.is_referenced {
        return Decision::Keep;
    }
    match secret.invalid_since.and_then(parse_day) {
        None => Decision::MarkInvalid,
        Some(since) if since < unused_before => Decision::Delete,
        Some(_) => Decision::Keep,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const YEAR: Duration = Duration::from_hours(365 * 24);

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn period() -> Period {
        Period::new(
            time("2026-06-10T12:00:00Z"),
            parse_day("2024-01-01").unwrap(),
            YEAR,
        )
        .unwrap()
    }

    fn unused() -> TokenSecret<'static> {
        TokenSecret {
            created: Some(time("2024-01-01T00:00:00Z")),
            is_deleting: false,
            last_used: Some("2025-01-01"),
            invalid_since: None,
            is_referenced: true,
        }
    }

    #[test]
    fn nothing_is_decided_before_use_was_recorded_for_the_whole_period() {
        let since = parse_day("2025-01-01").unwrap();
        let period = |now| Period::new(time(now), since, YEAR);
        assert!(period("2026-01-01T23:59:59Z").is_none());
        assert!(period("2026-01-02T00:00:00Z").is_some());
    }

    #[test]
    fn unused_tokens_are_marked_and_deleted_a_period_later() {
        let decide = |change: fn(&mut TokenSecret<'static>)| {
            let mut secret = unused();
            change(&mut secret);
            decide(&secret, &period())
        };
        assert_eq!(period().today(), "2026-06-10");
        assert_eq!(decide(|_| {}), Decision::MarkInvalid);
        assert_eq!(decide(|secret| secret.last_used = None), Decision::MarkInvalid);
        assert_eq!(
            decide(|secret| secret.invalid_since = Some("soon")),
            Decision::MarkInvalid
        );
        assert_eq!(
            decide(|secret| secret.invalid_since = Some("2025-06-09")),
            Decision::Delete
        );
        let kept: [fn(&mut TokenSecret<'static>); 7] = [
            |secret| secret.invalid_since = Some("2025-06-10"),
            |secret| secret.created = Some(time("2025-06-10T12:00:00Z")),
            |secret| secret.created = None,
            |secret| secret.is_deleting = true,
            |secret| secret.is_referenced = false,
            |secret| secret.last_used = Some("2025-06-10"),
            |secret| secret.last_used = Some("yesterday"),
        ];
        for kept in kept {
            assert_eq!(decide(kept), Decision::Keep);
        }
    }
}
