//! Floats as Go's `strconv.ParseFloat` reads them: decimal and hexadecimal, with underscores between digits.

/// Parses a number; None if it is none, or too large.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    if ["inf", "infinity", "nan"].contains(&lower.as_str()) {
        return Some(sign * lower.parse::<f64>().ok()?);
    }
    let is_digit = |at: usize| lower.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    let separates = |at: usize| {
        let follows = at > 0 && (is_digit(at - 1) || lower.as_bytes()[at - 1] == b'x');
        follows && is_digit(at + 1)
    };
    if !lower.match_indices('_').all(|(at, _)| separates(at))
        || !lower.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let plain = lower.replace('_', "");
    let number = match plain.strip_prefix("0x") {
        Some(hex) => hex_float(hex)?,
        None => plain.parse().ok()?,
    };
    number.is_finite().then_some(sign * number)
}

/// A number with a power of two, such as `1.8p-2`.
fn hex_float(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    Some(number * 2_f64.powi(power.parse::<i32>().ok()?.checked_sub(shift)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_by_go() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            ("-1e3", Some(-1000.0)),
            ("+.5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1_0", Some(10.0)),
            ("0x1p-2", Some(0.25)),
            ("0x_1.8p1", Some(3.0)),
            ("-Inf", Some(f64::NEG_INFINITY)),
            ("infinity", Some(f64::INFINITY)),
            ("1e400", None),
            ("0x10", None),
            ("_1", None),
            ("1__0", None),
            ("1_", None),
            ("e5", None),
            ("", None),
            (" 1", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(parse("NaN").is_some_and(f64::is_nan));
    }
}
