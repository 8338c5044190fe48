//! Checks and canonical forms of strings with a format: base64, quantities and times, with Go's error messages.

/// Returns Go's error for invalid base64, which names the position, or `None`.
pub(super) fn base64_error(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let skip_line_ends = |at: usize| {
        bytes[at..]
            .iter()
            .position(|byte| !matches!(byte, b'\r' | b'\n'))
            .map_or(bytes.len(), |more| at + more)
    };
    let bad = |at: usize| Some(format!("illegal base64 data at input byte {at}"));
    let mut next = 0;
    loop {
        let mut symbols = 0;
        while symbols < 4 {
            next = skip_line_ends(next);
            let Some(byte) = bytes.get(next) else {
                return if symbols == 0 { None } else { bad(next - symbols) };
            };
            next += 1;
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => symbols += 1,
                b'=' if symbols >= 2 => {
                    if symbols == 2 {
                        next = skip_line_ends(next);
                        match bytes.get(next) {
                            None => return bad(next),
                            Some(b'=') => next += 1,
                            Some(_) => return bad(next - 1),
                        }
                    }
                    next = skip_line_ends(next);
                    return if next < bytes.len() { bad(next) } else { None };
                }
                _ => return bad(next - 1),
            }
        }
    }
}

/// Returns the error for an invalid quantity, or `None`.
pub(super) fn quantity_error(text: &str) -> Option<String> {
    const RULE: &str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    // Go trims the JSON string as it is written, so no escaped characters.
    let text = text.trim_matches(|c: char| c.is_whitespace() && !c.is_control());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction, suffix) = split_quantity(unsigned);
    let is_number = !(whole.is_empty() && fraction.is_empty() || fraction.contains('.'));
    let is_unit = decimal_power(suffix).is_some()
        || BINARY.contains(&suffix)
        || suffix.starts_with(['e', 'E']) && exponent(suffix).is_some();
    let is_valid = !unsigned.starts_with(['+', '-']) && is_number && is_unit;
    (!is_valid).then(|| RULE.to_owned())
}

/// The digits of the fraction of a MicroTime.
const MICRO_DIGITS: usize = 6;

/// Returns a time as Go writes it: in UTC, with whole seconds or with microseconds. None if it is not a time.
pub(super) fn canonical_time(text: &str, micro: bool) -> Option<String> {
    let format = if micro {
        "%Y-%m-%dT%H:%M:%S%.6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.strftime(format).to_string())
}

/// Decimal suffixes with their powers of ten.
const DECIMAL: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Binary suffixes, in powers of 1024.
const BINARY: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The notation of a quantity's suffix.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum QuantityFormat {
    Decimal,
    Exponent,
    Binary,
}

/// Splits a quantity, without its sign, into the digits before and after the decimal point and the suffix.
pub(super) fn split_quantity(text: &str) -> (&str, &str, &str) {
    let number = text.trim_start_matches(['+', '-']);
    let end = number
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(number.len());
    let (digits, suffix) = number.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    (whole, fraction, suffix)
}

/// Returns the power of ten of a quantity's last digit, which is in units of its suffix if that is a binary one.
pub(crate) fn last_digit_power(text: &str) -> Option<i32> {
    let (_, fraction, suffix) = split_quantity(text);
    let (power, ..) = unit_of(suffix)?;
    power.checked_sub(i32::try_from(fraction.len()).ok()?)
}

/// Returns the power of ten of a decimal suffix.
fn decimal_power(suffix: &str) -> Option<i32> {
    let (_, power) = DECIMAL.iter().find(|(unit, _)| *unit == suffix)?;
    Some(*power)
}

/// Returns the exponent of a suffix such as `e3`.
fn exponent(suffix: &str) -> Option<i32> {
    suffix.get(1..)?.parse().ok()
}

/// Returns the unit of a suffix: its power of ten, its power of 1024, and its notation.
pub(super) fn unit_of(suffix: &str) -> Option<(i32, usize, QuantityFormat)> {
    if let Some(power) = decimal_power(suffix) {
        return Some((power, 0, QuantityFormat::Decimal));
    }
    match BINARY.iter().position(|unit| *unit == suffix) {
        Some(power) => Some((0, power, QuantityFormat::Binary)),
        None => Some((exponent(suffix)?, 0, QuantityFormat::Exponent)),
    }
}

/// Writes a number with the largest binary suffix with which it is whole.
pub(super) fn binary_text(mut number: i128) -> String {
    let mut unit = 0;
    while number % 1024 == 0 && unit + 1 < BINARY.len() {
        number /= 1024;
        unit += 1;
    }
    format!("{number}{}", BINARY[unit])
}

/// Returns a quantity as kube-apiserver writes it: the text is kept if it is canonical, and rounded up to the power of ten `min_scale`.
/// Returns `None` for invalid quantities and numbers too large to compute with.
pub(super) fn canonical_quantity(text: &str, min_scale: i32) -> Option<String> {
    if text == "0" {
        return Some(text.to_owned());
    }
    let negative = text.starts_with('-');
    let (whole, fraction, suffix) = split_quantity(text);
    let whole = Some(whole.trim_start_matches('0'))
        .filter(|whole| !whole.is_empty())
        .unwrap_or("0");
    let (power, binary, format) = unit_of(suffix)?;
    let length = i32::try_from(fraction.len()).ok()?;
    let shifted = format!("{whole}{fraction}");
    let value: i128 = shifted.parse().ok()?;
    let mut amount = value.checked_mul(1_i128.checked_shl(u32::try_from(binary).ok()? * 10)?)?;
    let mut scale = power.checked_sub(length)?;
    let (fits_fast_path, is_canonical) = match format {
        QuantityFormat::Binary => (
            fraction.is_empty() && shifted.len() + 3 * binary < 15,
            value & 7 != 0,
        ),
        _ => (
            shifted.len() <= 18 && scale >= -9,
            scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
        ),
    };
    if fits_fast_path && is_canonical && scale >= min_scale {
        return Some(text.to_owned());
    }
    while scale < min_scale && amount > 1 {
        amount = amount / 10 + i128::from(amount % 10 != 0);
        scale += 1;
    }
    if amount == 0 {
        return Some("0".to_owned());
    }
    // A positive amount rounds up to one smallest unit, never to zero.
    scale = scale.max(min_scale);
    while amount % 10 == 0 {
        amount /= 10;
        scale += 1;
    }
    let sign = if negative { "-" } else { "" };
    let integer = u32::try_from(scale)
        .ok()
        .and_then(|scale| amount.checked_mul(10_i128.checked_pow(scale)?));
    if let (QuantityFormat::Binary, Some(integer)) = (format, integer.filter(|integer| *integer >= 1024)) {
        return Some(format!("{sign}{}", binary_text(integer)));
    }
    while scale % 3 != 0 {
        amount = amount.checked_mul(10)?;
        scale -= 1;
    }
    let suffix = match format {
        QuantityFormat::Exponent if scale == 0 => String::new(),
        QuantityFormat::Exponent => format!("e{scale}"),
        _ => {
            let unit = DECIMAL.iter().find(|(_, power)| *power == scale);
            unit.map_or("", |(unit, _)| unit).to_owned()
        }
    };
    Some(format!("{sign}{amount}{suffix}"))
}

/// Returns Go's error for an invalid time, or `None`.
pub(super) fn time_error(text: &str, micro: bool) -> Option<String> {
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    let cannot = |rest: &str, element: &str| {
        Some(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"
        ))
    };
    let mut rest = text;
    let mut numbers = [0u32; 6];
    let out_of_range = |name: &str| Some(format!("parsing time {text:?}: {name} out of range"));
    for (index, (name, element, digits, separator)) in [
        ("year", "2006", 4, "-"),
        ("month", "01", 2, "-"),
        ("day", "02", 2, "T"),
        ("hour", "15", 2, ":"),
        ("minute", "04", 2, ":"),
        ("second", "05", 2, ""),
    ]
    .into_iter()
    .enumerate()
    {
        match rest
            .get(..digits)
            .filter(|fraction| fraction.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|fraction| fraction.parse().ok())
        {
            Some(number) => numbers[index] = number,
            None => return cannot(rest, element),
        }
        // The day is checked at the end.
        let is_possible = match element {
            "01" => (1..=12).contains(&numbers[index]),
            "15" => numbers[index] < 24,
            "04" | "05" => numbers[index] < 60,
            _ => true,
        };
        if !is_possible {
            return out_of_range(name);
        }
        rest = &rest[digits..];
        match rest.strip_prefix(separator) {
            Some(after) => rest = after,
            None => return cannot(rest, separator),
        }
    }
    let fraction = rest
        .strip_prefix('.')
        .map(|after| after.bytes().take_while(u8::is_ascii_digit).count());
    match fraction {
        Some(digits) if micro && digits >= MICRO_DIGITS => rest = &rest[MICRO_DIGITS + 1..],
        _ if micro => return cannot(rest, ".000000"),
        Some(digits) if digits > 0 => rest = &rest[digits + 1..],
        _ => {}
    }
    let is_zone = match rest.as_bytes() {
        [b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    if !is_zone {
        return match rest.strip_prefix('Z') {
            Some(extra) => Some(format!("parsing time {text:?}: extra text: {extra:?}")),
            None => cannot(rest, "Z07:00"),
        };
    }
    let [year, month, day, ..] = numbers;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if (1..=days).contains(&day) {
        return None;
    }
    out_of_range("day")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_with_a_known_suffix() {
        for good in [
            " 1 ", "1", "-1.5", "100m", "1Gi", "1e3", "1E-2", "+.5", "5E", "12.",
        ] {
            assert_eq!(quantity_error(good), None, "{good}");
        }
        for bad in ["", "m", "1.2.3", "1gi", "--1", "1 Gi", "1e", "."] {
            assert!(quantity_error(bad).is_some(), "{bad}");
        }
    }

    // Observed on a kube-apiserver v1.36.3, as the memory of a container, which is rounded to thousandths.
    #[test]
    fn quantities_are_canonicalized_as_in_kube_apiserver() {
        let kept = [
            "1", "1500m", "1000Ki", "1023Ki", "1e3", "1E3", "1M", "1500k", "1.", "010", "+5", "1Ei", "2048",
            "9E", "20E", "1e-3", "1e0", "1536Mi",
        ];
        let changed = [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Ki", "1Mi"),
            ("1.5Ki", "1536"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("12e-1", "1200e-3"),
            ("1e4", "10e3"),
            ("100000", "100k"),
            ("1000000", "1M"),
            ("0.1Ki", "102400m"),
            ("0.0000000001", "1m"),
            (".5", "500m"),
            ("1000u", "1m"),
            ("1n", "1m"),
            ("123456789n", "124m"),
            ("1.1e3", "1100"),
            ("1000E", "1"),
            ("1.0", "1"),
            ("0.10", "100m"),
            ("5e2", "500"),
            ("1.000Gi", "1Gi"),
            ("1.0001Ki", "1024103m"),
        ];
        for (text, expected) in kept.iter().map(|text| (*text, *text)).chain(changed) {
            assert_eq!(canonical_quantity(text, -3).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(canonical_quantity("1n", -9).as_deref(), Some("1n"));
        assert_eq!(canonical_quantity("-1500", -9).as_deref(), Some("-1500"));
        assert_eq!(canonical_quantity("1e-2000000000", -9).as_deref(), Some("1e-9"));
        assert_eq!(canonical_quantity(&"9".repeat(60), -9), None);
    }

    // The messages were observed on a kube-apiserver v1.36.3.
    #[test]
    fn bytes_are_base64_with_padding() {
        let cases = [("!!", 0), ("YQ", 0), ("YQ===", 4), ("YQ=a", 2), ("Y Q=", 1)];
        for (text, at) in cases {
            assert_eq!(
                base64_error(text),
                Some(format!("illegal base64 data at input byte {at}")),
                "{text}"
            );
        }
        for good in [
            "",
            "YQ==",
            "YW I=".replace(' ', "").as_str(),
            "YWJj",
            "YWJj\nYQ=\n=\n",
        ] {
            assert_eq!(base64_error(good), None, "{good}");
        }
    }

    #[test]
    fn times_are_rfc_3339() {
        for good in ["2026-01-02T03:04:05Z", "2024-02-29T03:04:05.5+01:00"] {
            assert_eq!(time_error(good, false), None, "{good}");
        }
        assert_eq!(time_error("2026-01-02T03:04:05.123456Z", true), None);
        let cases = [
            (
                "x",
                r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
            ),
            (
                "2026-01-02",
                r#"parsing time "2026-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
            ),
            (
                "2026-02-30T00:00:00Z",
                r#"parsing time "2026-02-30T00:00:00Z": day out of range"#,
            ),
        ];
        for (text, message) in cases {
            assert_eq!(time_error(text, false).as_deref(), Some(message));
        }
    }

    #[test]
    fn times_are_written_in_utc() {
        for (text, micro, expected) in [
            ("2024-01-01T01:00:00+02:00", false, "2023-12-31T23:00:00Z"),
            ("2024-01-01T01:00:00.999999999Z", false, "2024-01-01T01:00:00Z"),
            (
                "2024-01-01T01:00:00.123456-01:30",
                true,
                "2024-01-01T02:30:00.123456Z",
            ),
        ] {
            assert_eq!(time_error(text, micro), None);
            assert_eq!(canonical_time(text, micro).as_deref(), Some(expected));
        }
        assert_eq!(canonical_time("x", false), None);
    }
}
