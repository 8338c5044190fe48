//! Durations as Go writes them: `1h15m30.5s`, `100ms`.

use std::time::Duration;

/// A text that is not a Go duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no duration: write one such as 100ms, 30s or 1h30m")]
pub struct InvalidDuration(String);

/// Parses a duration that is not negative, as kube-controller-manager's flags have it.
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let invalid = || InvalidDuration(text.to_owned());
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut nanoseconds) = (text.strip_prefix('+').unwrap_or(text), 0_f64);
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(invalid)?;
        let number: f64 = rest[..end].parse().map_err(|_| invalid())?;
        rest = &rest[end..];
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return Err(invalid()),
        };
        nanoseconds += number * unit;
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(nanoseconds / 1e9).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_parsed() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("100ms", 100),
            ("1.5s", 1500),
            ("1m0s", 60_000),
            ("1h15m30.5s", 4_530_500),
            ("8760h0m0s", 31_536_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "5", "s", "-1s", "1d", "1s2", "1..5s"] {
            assert_eq!(parse(text), Err(InvalidDuration(text.to_owned())));
        }
    }
}
