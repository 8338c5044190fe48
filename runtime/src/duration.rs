//! A duration in a spec or status, as Go writes it.

use std::{borrow::Cow, fmt, str::FromStr, time};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The strings that [`Duration`] decodes: each unit at most once, the largest first. The limits of digits keep the sum below 292 years, which is the
/// longest duration of Go and of CEL; the API server's CEL would wrap a longer one.
const PATTERN: &str = r"^(0|(([0-9]{1,6}(\.[0-9]{0,9})?|\.[0-9]{1,9})h)?(([0-9]{1,7}(\.[0-9]{0,9})?|\.[0-9]{1,9})m)?(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})s)?(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})ms)?(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})(us|µs|μs))?(([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})ns)?)$";
/// The longest string, in characters.
const MAX_CHARS: usize = 100;

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// The units with their nanoseconds, their rank, and the most digits before the point. A unit that another one begins with comes after it.
const UNITS: [(&str, u128, u8, usize); 8] = [
    ("ns", 1, 0, 9),
    ("us", 1_000, 1, 9),
    ("µs", 1_000, 1, 9),
    ("μs", 1_000, 1, 9),
    ("ms", 1_000_000, 2, 9),
    ("s", NANOSECONDS_PER_SECOND, 3, 9),
    ("m", 60 * NANOSECONDS_PER_SECOND, 4, 7),
    ("h", 3600 * NANOSECONDS_PER_SECOND, 5, 6),
];

/// A duration in a spec or status, such as `90s` or `1h30m`: what `metav1.Duration` is in Go.
///
/// The schema accepts what this type decodes, and no other text: numbers with the units `h`, `m`, `s`, `ms`, `us` or `µs`, and `ns`, each
/// unit at most once, the largest first; or `0`. Hours have up to 6 digits before the point, minutes 7, and the others 9: Go and CEL cannot hold
/// 292 years. Negative durations are refused. The format is `duration`, so CEL rules compare it: `self.timeout <= duration('1h')`. It is
/// written as Go does: `1h30m0s`.
///
/// ```
/// use kubewright::Duration;
///
/// let timeout: Duration = "1h30m".parse()?;
/// assert_eq!(std::time::Duration::from(timeout).as_secs(), 5400);
/// assert_eq!(timeout.to_string(), "1h30m0s");
/// assert!(timeout > std::time::Duration::from_millis(1500).into());
/// # Ok::<(), kubewright::DurationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(time::Duration);

/// A text is not a [`Duration`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a duration: write numbers with units, the largest first (h, m, s, ms, us, ns), such as \"1h30m\""
)]
pub struct DurationError(String);

impl From<time::Duration> for Duration {
    fn from(duration: time::Duration) -> Self {
        Self(duration)
    }
}

impl From<Duration> for time::Duration {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let nanoseconds = if text == "0" { Some(0) } else { nanoseconds(text) };
        let duration = nanoseconds.and_then(|nanoseconds| {
            let seconds = u64::try_from(nanoseconds / NANOSECONDS_PER_SECOND).ok()?;
            let rest = u32::try_from(nanoseconds % NANOSECONDS_PER_SECOND).ok()?;
            Some(Self(time::Duration::new(seconds, rest)))
        });
        duration.ok_or_else(|| DurationError(text.to_owned()))
    }
}

fn nanoseconds(text: &str) -> Option<u128> {
    if text.is_empty() || text.chars().count() > MAX_CHARS {
        return None;
    }
    let (mut rest, mut total, mut previous) = (text, 0, u8::MAX);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(end);
        let (unit, nanoseconds, rank, max_digits) =
            UNITS.iter().find(|(unit, ..)| after.starts_with(unit))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty())
            || whole.len() > *max_digits
            || fraction.len() > 9
            || *rank >= previous
        {
            return None;
        }
        previous = *rank;
        let digits = |digits: &str| {
            if digits.is_empty() {
                Some(0)
            } else {
                digits.parse::<u128>().ok()
            }
        };
        let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        total += digits(whole)? * nanoseconds + digits(fraction)? * nanoseconds / scale;
        rest = &after[unit.len()..];
    }
    Some(total)
}

/// As Go's `Duration.String` does.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = (self.0.as_secs(), self.0.subsec_nanos());
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        match (seconds, nanoseconds) {
            (0, 0) => return f.write_str("0s"),
            (0, 1..1_000) => return write!(f, "{nanoseconds}ns"),
            (0, 1_000..1_000_000) => return write_decimal(f, 0, nanoseconds, 1_000, "µs"),
            (0, _) => return write_decimal(f, 0, nanoseconds, 1_000_000, "ms"),
            (3600.., _) => write!(f, "{hours}h{minutes}m")?,
            (60.., _) => write!(f, "{minutes}m")?,
            _ => {}
        }
        write_decimal(f, seconds % 60, nanoseconds, 1_000_000_000, "s")
    }
}

/// Writes `whole` and `part` of `one`, a power of ten, without zeros at the end.
fn write_decimal(f: &mut fmt::Formatter<'_>, whole: u64, part: u32, one: u32, unit: &str) -> fmt::Result {
    let whole = whole + u64::from(part / one);
    let digits = format!("{:0width$}", part % one, width = one.to_string().len() - 1);
    match digits.trim_end_matches('0') {
        "" => write!(f, "{whole}{unit}"),
        digits => write!(f, "{whole}.{digits}{unit}"),
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // The pattern matches the empty text, which is no duration.
        json_schema!({"type": "string", "format": "duration", "pattern": PATTERN, "minLength": 1, "maxLength": MAX_CHARS})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::random_values::Random;

    fn duration(nanoseconds: u64) -> Duration {
        time::Duration::from_nanos(nanoseconds).into()
    }

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn texts_are_read_as_by_go_and_written_in_its_form() {
        for (text, nanoseconds, written) in [
            ("0", 0, "0s"),
            ("5s", 5_000_000_000, "5s"),
            ("1478s", 1_478_000_000_000, "24m38s"),
            ("5.6s", 5_600_000_000, "5.6s"),
            ("5.s", 5_000_000_000, "5s"),
            (".5s", 500_000_000, "500ms"),
            ("1.004s", 1_004_000_000, "1.004s"),
            ("10ns", 10, "10ns"),
            ("11us", 11_000, "11µs"),
            ("12µs", 12_000, "12µs"),
            ("12.5μs", 12_500, "12.5µs"),
            ("13ms", 13_000_000, "13ms"),
            ("16h", 16 * HOUR, "16h0m0s"),
            ("1h30m", HOUR * 3 / 2, "1h30m0s"),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006, "1h2m3.004005006s"),
            ("0.333333333h", 1_199_999_998_800, "19m59.9999988s"),
            ("168h", 168 * HOUR, "168h0m0s"),
        ] {
            let read: Duration = text.parse().unwrap();
            assert_eq!(read, duration(nanoseconds), "{text}");
            assert_eq!(read.to_string(), written, "{text}");
            assert_eq!(written.parse(), Ok(read));
            assert_eq!(serde_json::from_value::<Duration>(json!(text)).unwrap(), read);
            assert_eq!(json!(read), written);
        }
    }

    #[test]
    fn other_texts_are_refused_by_the_decoder_and_the_schema() {
        let pattern = regex::Regex::new(PATTERN).unwrap();
        for text in [
            "3",
            "-5s",
            "+5s",
            "s",
            ".s",
            "1 h",
            "3 days",
            "1d",
            "1e3s",
            "1.1.1s",
            "1h-2m",
            "1234567890s",
            "5124096h",
            "1h1h",
            "1s1h",
            "10.5s4m",
            "1ms1m",
            "1us1µs",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
            assert!(!pattern.is_match(text), "{text}");
        }
        assert!("".parse::<Duration>().is_err());
        assert_eq!(json!(schemars::schema_for!(Duration))["minLength"], 1);
        let error = serde_json::from_value::<Duration>(json!("1d")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"1d\" is not a duration: write numbers with units, the largest first (h, m, s, ms, us, ns), such as \"1h30m\""
        );
    }

    #[test]
    fn what_the_schema_accepts_is_decoded() {
        let schema = json!(schemars::schema_for!(Duration));
        for seed in 0..300 {
            let text = Random::new(seed).value(&schema);
            let read: Duration =
                serde_json::from_value(text.clone()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
        let longest: Duration = "999999h9999999m999999999s".parse().unwrap();
        let longest = time::Duration::from(longest).as_nanos();
        assert!(
            i64::try_from(longest).is_ok(),
            "Go's durations are shorter than {longest} ns"
        );
    }
}
