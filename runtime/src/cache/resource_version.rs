//! The order of resource versions: the only place that compares them.

use std::cmp::Ordering;

/// Compares two versions of one kind as decimal numbers of any length. None if one of them is not a number: such versions are only equal
/// or not.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    (is_number(one) && is_number(other)).then(|| compare_numbers(one, other))
}

/// Whether the version is a decimal number without leading zeros.
pub(super) fn is_number(version: &str) -> bool {
    version == "0"
        || (!version.is_empty()
            && !version.starts_with('0')
            && version.bytes().all(|byte| byte.is_ascii_digit()))
}

fn compare_numbers(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// A resource version with an order, for sorted collections. Versions that are not numbers are sorted in some order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedVersion(Box<str>);

impl OrderedVersion {
    pub(crate) fn new(version: &str) -> Self {
        Self(version.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for OrderedVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_numbers(&self.0, &other.0)
    }
}

impl PartialOrd for OrderedVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_ordered_and_other_texts_are_not() {
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
            if let Some(order) = order {
                assert_eq!(OrderedVersion::new(one).cmp(&OrderedVersion::new(other)), order);
            }
        }
    }
}
