//! The syntax of label keys and values.

const MAX_NAME_BYTES: usize = 63;
const MAX_PREFIX_BYTES: usize = 253;

/// Whether a text may be a label's key: a name, behind a DNS subdomain and a slash if it has a prefix.
pub(crate) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether a text may be a label's value.
pub(crate) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= MAX_NAME_BYTES
        && text.bytes().all(is_inner)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

fn is_subdomain(text: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(is_end)
            && bytes.last().copied().is_some_and(is_end)
            && bytes.iter().all(|&byte| is_end(byte) || byte == b'-')
    };
    text.len() <= MAX_PREFIX_BYTES && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_with_or_without_a_prefix() {
        for key in ["app", "1", "A_b.c-d", "example.com/app", "a/b", &"a".repeat(63)] {
            assert!(is_label_key(key), "{key}");
        }
        let long = [
            "a".repeat(64),
            format!("{}/a", "a".repeat(254)),
            format!("a/{}", "b".repeat(64)),
        ];
        let wrong = [
            "",
            "/",
            "a/",
            "/a",
            "a b",
            "-a",
            "a-",
            "A.com/app",
            "a..b/c",
            "a/b/c",
            "ä",
        ];
        for key in wrong.into_iter().chain(long.iter().map(String::as_str)) {
            assert!(!is_label_key(key), "{key}");
        }
    }

    #[test]
    fn values_are_names_or_empty() {
        for (value, expected) in [
            ("", true),
            ("v1.2", true),
            ("a/b", false),
            ("-1", false),
            ("a b", false),
        ] {
            assert_eq!(is_label_value(value), expected, "{value}");
        }
    }
}
