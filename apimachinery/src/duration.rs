//! Go durations, such as `1h30m`.

use crate::quote::quoted;

/// The units and their lengths in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1_000.0),
    ("\u{b5}s", 1_000.0),
    ("\u{3bc}s", 1_000.0),
    ("ms", 1_000_000.0),
    ("s", 1_000_000_000.0),
    ("m", 60_000_000_000.0),
    ("h", 3_600_000_000_000.0),
];

/// Parses a duration to nanoseconds, with the errors of Go's `time.ParseDuration`.
pub fn parse_nanoseconds(text: &str) -> Result<f64, String> {
    let invalid = || Err(format!("invalid duration {}", quoted(text)));
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0.0);
    }
    if unsigned.is_empty() {
        return invalid();
    }
    let (mut rest, mut nanoseconds) = (unsigned, 0.0);
    while !rest.is_empty() {
        let is_number = |byte: char| byte.is_ascii_digit() || byte == '.';
        let number = match rest.split_once('.') {
            Some((whole, after)) if whole.bytes().all(|byte| byte.is_ascii_digit()) => {
                let fraction = after.bytes().take_while(u8::is_ascii_digit).count();
                &rest[..=whole.len() + fraction]
            }
            _ => &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()],
        };
        let Ok(count) = number.parse::<f64>() else {
            return invalid();
        };
        rest = &rest[number.len()..];
        let unit = &rest[..rest.find(is_number).unwrap_or(rest.len())];
        if unit.is_empty() {
            return Err(format!("missing unit in duration {}", quoted(text)));
        }
        let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let (unit, text) = (quoted(unit), quoted(text));
            return Err(format!("unknown unit {unit} in duration {text}"));
        };
        nanoseconds += count * length;
        rest = &rest[unit.len()..];
    }
    if nanoseconds >= 2f64.powi(63) {
        return invalid();
    }
    Ok(if text.starts_with('-') {
        -nanoseconds
    } else {
        nanoseconds
    })
}

#[cfg(test)]
mod tests {
    use super::parse_nanoseconds;

    #[test]
    fn durations_are_parsed_with_the_errors_of_go() {
        for (good, seconds) in [
            ("0", 0.0),
            ("1h", 3600.0),
            ("-1.5h", -5400.0),
            ("1h30m", 5400.0),
            ("+.5s", 0.5),
            ("1.s", 1.0),
            ("2562047h", 9_223_369_200.0),
            ("100\u{b5}s", 0.0001),
            ("-0", 0.0),
        ] {
            assert_eq!(
                parse_nanoseconds(good).map(|nanoseconds| nanoseconds / 1e9),
                Ok(seconds),
                "{good}"
            );
        }
        for (bad, why) in [
            ("", "invalid duration \"\""),
            ("x", "invalid duration \"x\""),
            (".s", "invalid duration \".s\""),
            ("1", "missing unit in duration \"1\""),
            ("1.2.3s", "missing unit in duration \"1.2.3s\""),
            ("1d", "unknown unit \"d\" in duration \"1d\""),
            ("1h x", "unknown unit \"h x\" in duration \"1h x\""),
            ("9999999h", "invalid duration \"9999999h\""),
        ] {
            assert_eq!(parse_nanoseconds(bad), Err(why.to_owned()), "{bad}");
        }
    }
}
