//! What the decoder of the real server says of strings that stand for something: bytes, quantities, times.

/// The complaint about base64 text, which names the byte as Go does.
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

/// The complaint about a quantity.
pub(super) fn quantity_error(text: &str) -> Option<String> {
    const RULE: &str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let number = text.trim_start_matches(['+', '-']);
    let end = number
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(number.len());
    let (digits, suffix) = number.split_at(end);
    let exponent = suffix
        .strip_prefix(['e', 'E'])
        .filter(|rest| !rest.is_empty())
        .is_some_and(|rest| rest.parse::<i32>().is_ok());
    let known = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ]
    .contains(&suffix);
    let is_number = digits.bytes().any(|byte| byte.is_ascii_digit()) && digits.matches('.').count() <= 1;
    let one_sign = text.len() - number.len() <= 1;
    (!(one_sign && is_number && (known || exponent))).then(|| RULE.to_owned())
}

/// The complaint about a time, in Go's words.
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
    for (index, (element, digits, separator)) in [
        ("2006", 4, "-"),
        ("01", 2, "-"),
        ("02", 2, "T"),
        ("15", 2, ":"),
        ("04", 2, ":"),
        ("05", 2, ""),
    ]
    .into_iter()
    .enumerate()
    {
        match rest
            .get(..digits)
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|part| part.parse().ok())
        {
            Some(number) => numbers[index] = number,
            None => return cannot(rest, element),
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
        Some(digits) if digits > 0 && (!micro || digits == 6) => rest = &rest[digits + 1..],
        _ if micro => return cannot(rest, ".000000"),
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
    let [year, month, day, hour, minute, second] = numbers;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let out = [
        ("month", !(1..=12).contains(&month)),
        ("day", !(1..=days).contains(&day)),
        ("hour", hour > 23),
        ("minute", minute > 59),
        ("second", second > 59),
    ];
    out.iter()
        .find(|(_, wrong)| *wrong)
        .map(|(part, _)| format!("parsing time {text:?}: {part} out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_with_a_known_suffix() {
        for good in ["1", "-1.5", "100m", "1Gi", "1e3", "1E-2", "+.5", "5E", "12."] {
            assert_eq!(quantity_error(good), None, "{good}");
        }
        for bad in ["", "m", "1.2.3", "1gi", "--1", "1 Gi", "1e", "."] {
            assert!(quantity_error(bad).is_some(), "{bad}");
        }
    }

    // The texts were observed on a kube-apiserver v1.36.3.
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
}
