//! The one rule by which resource versions are compared.

use std::cmp::Ordering;

/// The order of two versions of one kind: decimal numbers of any length, by length, then text. None when one of them is no number:
/// such versions can only be equal or not.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    (is_number(one) && is_number(other)).then(|| one.len().cmp(&other.len()).then_with(|| one.cmp(other)))
}

/// Whether the version is a decimal number, without leading zeros.
pub(super) fn is_number(version: &str) -> bool {
    version == "0"
        || (!version.is_empty()
            && !version.starts_with('0')
            && version.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_ordered_and_nothing_else_is() {
        for (one, other, order) in [
            ("9", "10", Some(Ordering::Less)),
            ("10", "10", Some(Ordering::Equal)),
            (
                "18446744073709551617",
                "18446744073709551616",
                Some(Ordering::Greater),
            ),
            ("0", "1", Some(Ordering::Less)),
            ("01", "1", None),
            ("", "1", None),
            ("1", "a", None),
            ("-1", "1", None),
            ("１", "1", None),
        ] {
            assert_eq!(compare(one, other), order, "{one} and {other}");
        }
    }
}
