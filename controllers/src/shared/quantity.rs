//! Compares quantities such as `1Gi` and `1024Mi` by their value.

/// Quantities have at most nine digits after the point.
const NANOS: i128 = 1_000_000_000;

/// Whether two quantities have the same value. Texts that are no quantities are compared as they are.
pub(super) fn equal(left: &str, right: &str) -> bool {
    left == right || nanos(left).is_some_and(|value| Some(value) == nanos(right))
}

/// Returns the value in billionths; none if the text is not a quantity, or too large or too precise to be one.
fn nanos(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = digits.split_at(end.unwrap_or(digits.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let decimals = i128::pow(10, u32::try_from(fraction.len()).ok()?);
    let (numerator, denominator) = factor(suffix)?;
    let scaled = digits.checked_mul(NANOS)?.checked_mul(numerator)?;
    let divisor = decimals.checked_mul(denominator)?;
    (scaled % divisor == 0).then_some(sign * (scaled / divisor))
}

/// Returns the factor of a suffix, as a fraction.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let decimal = ["k", "M", "G", "T", "P", "E"];
    let small = ["m", "u", "n"];
    let power = |names: &[&str], base: i128| {
        let exponent = names.iter().zip(1..).find(|(name, _)| **name == suffix)?.1;
        base.checked_pow(exponent)
    };
    if suffix.is_empty() {
        return Some((1, 1));
    }
    if let Some(factor) = power(&binary, 1024).or_else(|| power(&decimal, 1000)) {
        return Some((factor, 1));
    }
    if let Some(divisor) = power(&small, 1000) {
        return Some((1, divisor));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, factor) } else { (factor, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_by_value() {
        for (left, right) in [
            ("1Gi", "1024Mi"),
            ("1048576000", "1000Mi"),
            ("0.5", "500m"),
            ("1k", "1e3"),
            ("1E3", "1000"),
            ("1.5Ki", "1536"),
            ("+1", "1.0"),
            ("1000u", "1m"),
            ("1e-3", "1m"),
            ("0", "0Ki"),
            ("-1", "-1000m"),
        ] {
            assert!(equal(left, right), "{left} {right}");
        }
        for (left, right) in [
            ("1Gi", "1G"),
            ("1", "2"),
            ("1", "-1"),
            ("", "0"),
            ("x", "y"),
            ("1x", "1"),
            (".", "0"),
            ("99999999999999999999Ei", "99999999999999999998Ei"),
            ("1e99", "1e98"),
        ] {
            assert!(!equal(left, right), "{left} {right}");
        }
    }
}
