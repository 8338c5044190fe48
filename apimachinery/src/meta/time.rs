//! Timestamps of objects.

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// The current time, to the second.
pub fn now() -> String {
    let now = Timestamp::now();
    let round = TimestampRound::new()
        .smallest(Unit::Second)
        .mode(RoundMode::Trunc);
    now.round(round).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn timestamps_have_a_fixed_length() {
        assert_eq!(super::now().len(), "2026-11-21T17:32:15Z".len());
    }
}
