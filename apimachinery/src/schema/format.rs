//! The string formats that the real server validates; all others are ignored.

use super::email::is_email;
use super::numbered_formats::{is_credit_card, is_isbn10, is_isbn13, is_rgb_color, is_ssn};
use crate::duration::parse_nanoseconds;
use crate::go_url::Url;
use crate::meta::names;
use crate::types::is_date;
use regex::Regex;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

/// The formats of strings, without dashes.
const STRING_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Whether the real server knows a format for values of a schema's type, which is empty if the schema has none. It ignores other formats.
pub fn is_recognized_format(format: &str, schema_type: &str) -> bool {
    match schema_type {
        "" | "string" => STRING_FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether a string has a format. True for unknown formats.
pub(super) fn has_format(text: &str, format: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => is_date_time(text),
        "date" => is_date(text),
        "duration" => is_duration(text),
        "ipv4" => text.contains('.') && parse_address(text).is_some(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "uri" => Url::parse_request(text).is_ok(),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "mac" => is_mac(text),
        "byte" => is_base64(text),
        "hexcolor" => {
            let digits = text.trim_start_matches('#');
            text.len() - digits.len() <= 1
                && matches!(digits.len(), 3 | 6)
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        "creditcard" => is_credit_card(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "ssn" => is_ssn(text),
        "rgbcolor" => is_rgb_color(text),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "k8sshortname" => names::is_label(text),
        "k8slongname" => names::is_subdomain(text),
        _ => true,
    }
}

/// The time of day of a date-time, in lower case. Any character may precede the fraction of the second.
static TIME_OF_DAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$").ok()
});

/// A date-time. Letters may have either case; what follows a second T is ignored.
fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (date, time) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    is_date(date) && TIME_OF_DAY.as_ref().is_some_and(|pattern| pattern.is_match(time))
}

/// The names of units in words, of which the last one may go on: `minutes` is `min`.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60 * 1_000_000_000),
    (&["h", "hr", "hour"], 3600 * 1_000_000_000),
    (&["d", "day"], 24 * 3600 * 1_000_000_000),
    (&["w", "wk", "week"], 7 * 24 * 3600 * 1_000_000_000),
];

static NUMBER_AND_UNIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").ok());

/// A duration of Go, or a text that contains a number with a unit, such as `2 days`.
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || duration_in_words(text).is_some()
}

/// Whether a text is a duration of Go.
pub(super) fn is_go_duration(text: &str) -> bool {
    parse_nanoseconds(text).is_ok()
}

/// Returns the nanoseconds of a text that contains numbers with units, such as `2 days`: their sum, which overflows as Go's does.
pub(super) fn duration_in_words(text: &str) -> Option<i64> {
    let mut duration: Option<i64> = None;
    for found in NUMBER_AND_UNIT.as_ref()?.captures_iter(text) {
        let [number, unit] = found.extract::<2>().1;
        let number: i64 = number.parse().ok()?;
        let unit = unit.to_lowercase();
        let is_unit = |names: &[&str]| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|last| unit.starts_with(last))
        };
        for (_, nanoseconds) in UNITS.iter().filter(|(names, _)| is_unit(names)) {
            let added = number.wrapping_mul(*nanoseconds);
            duration = Some(duration.unwrap_or_default().wrapping_add(added));
        }
    }
    duration
}

/// Parses an address as Go did before version 1.17: numbers may have leading zeros.
fn parse_address(text: &str) -> Option<IpAddr> {
    let (head, numbers) = text.split_at(text.rfind(':').map_or(0, |at| at + 1));
    if !numbers.contains('.') {
        return text.parse().ok();
    }
    let numbers = numbers.split('.').map(|number| {
        let significant = number.trim_start_matches('0');
        if significant.is_empty() && !number.is_empty() {
            "0"
        } else {
            significant
        }
    });
    let numbers: Vec<&str> = numbers.collect();
    format!("{head}{}", numbers.join(".")).parse().ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let max = match parse_address(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    // Parsing would accept a sign.
    !length.starts_with('+') && length.parse::<u32>().is_ok_and(|length| length <= max)
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let plain: Vec<char> = text.chars().filter(|c| *c != '-').collect();
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let grouped = groups == [8, 4, 4, 4, 12] || groups == [32];
    let variant = version.is_none_or(|version| {
        plain.get(12) == Some(&version)
            && (version == '3' || plain.get(16).is_some_and(|c| "89abAB".contains(*c)))
    });
    grouped && plain.len() == 32 && plain.iter().all(char::is_ascii_hexdigit) && variant
}

/// Whether a text is base64 on one line, and not empty.
fn is_base64(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\r', '\n']) && crate::types::is_base64(text)
}

/// A label, which may have a dash after its first character and at its end, or labels and a last one of letters.
static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let letter = r"a-zA-Z0-9\p{S}\p{L}";
    let single = format!(r"[{letter}](?:-?[{letter}]{{0,62}})?");
    let label = format!(r"[{letter}](?:[\-{letter}]{{0,61}}[{letter}])?");
    Regex::new(&format!(r"^(?:{single}|(?:{label}\.)+[a-zA-Z\p{{L}}]{{2,63}})$")).ok()
});

fn is_hostname(text: &str) -> bool {
    let is_match = HOSTNAME.as_ref().is_some_and(|pattern| pattern.is_match(text));
    is_match && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
}

fn is_mac(text: &str) -> bool {
    let separated = |separator: char, length: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        let count = parts.len() * length / 2;
        matches!(count, 6 | 8 | 20)
            && parts
                .iter()
                .all(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let is_plain = matches!(text.len(), 12 | 16 | 40) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    separated(':', 2) || separated('-', 2) || separated('.', 4) || is_plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_as_lenient_as_on_the_real_server() {
        for duration in [
            "0",
            "1h-1m",
            "1.5h",
            "-2m3s",
            "1μs",
            "P1D",
            "1day",
            "2 days",
            "1minute",
            "1H",
            "3 weeks",
            "1millisecond",
        ] {
            assert!(is_duration(duration), "{duration}");
        }
        for text in ["", "-", "x", "1", "1x", "h", "99999999999999999999h1d"] {
            assert!(!is_duration(text), "{text}");
        }
        assert!(has_format("01.2.3.4", "ipv4") && has_format("::ffff:1.2.3.4", "ipv4"));
        assert!(!has_format("1.2.3", "ipv4") && !has_format("::1", "ipv4") && !has_format("1..3.4", "ipv4"));
        assert!(has_format("01.2.3.4/8", "cidr") && !has_format("1.2.3.4/33", "cidr"));
        let date_times = [
            "2020-01-01T00:00:00,5Z",
            "2020-01-01t00:00:00x5+99:99",
            "2020-01-01T00:00:00Ztoday",
        ];
        assert!(date_times.iter().all(|text| has_format(text, "date-time")));
        for text in [
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00",
            "2020-02-30T00:00:00Z",
            "T",
        ] {
            assert!(!has_format(text, "date-time"), "{text}");
        }
        let hosts = ["a", "a-", "1", "a-b", "xn--a.com", "a.bc", "☃.com", "ä"];
        assert!(hosts.iter().all(|text| has_format(text, "hostname")));
        for text in [
            "",
            "-a",
            "xn--a",
            "a.b",
            "a.",
            "a-.com",
            "a.c1",
            "a_b",
            &"ä".repeat(32),
        ] {
            assert!(!has_format(text, "hostname"), "{text}");
        }
        assert!(has_format("aGk=", "byte") && !has_format("aGk=\n", "byte") && !has_format("", "byte"));
        assert!(has_format("0123456789ab", "mac") && !has_format("0123456789", "mac"));
    }
}
