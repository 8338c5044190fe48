//! Timestamps of objects.

use jiff::{Timestamp, Unit};

/// The current time, to the second.
pub fn now() -> String {
    rounded(Unit::Second).to_string()
}

/// The current time to the microsecond, always with six digits.
pub fn now_micros() -> String {
    rounded(Unit::Microsecond)
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}

fn rounded(unit: Unit) -> Timestamp {
    let now = Timestamp::now();
    let round = jiff::TimestampRound::new()
        .smallest(unit)
        .mode(jiff::RoundMode::Trunc);
    now.round(round).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    #[test]
    fn timestamps_have_a_fixed_length() {
        assert_eq!(super::now().len(), "2026-11-21T17:32:15Z".len());
        assert_eq!(super::now_micros().len(), "2026-11-21T17:32:15.000000Z".len());
    }
}
