//! Arithmetic with quantities. A result has the format that Go's `resource.Quantity` gives it.

use super::scalars::{QuantityFormat, binary_text, canonical_quantity, split_quantity, unit_of};
use std::cmp::Ordering;

const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// The precision of quantities, as a power of ten.
const NANO: i32 = -9;

/// Adds two quantities. The result has the format of the first summand that is not zero. Returns `None` for invalid quantities and numbers too
/// large to compute with.
pub fn add_quantities(first: &str, second: &str) -> Option<String> {
    combine(first, second, i128::checked_add)
}

/// Subtracts the second quantity from the first, with formats and errors as in [`add_quantities`].
pub fn subtract_quantities(first: &str, second: &str) -> Option<String> {
    combine(first, second, i128::checked_sub)
}

/// Compares two quantities. Returns `None` for invalid quantities and numbers too large to compute with.
pub fn compare_quantities(first: &str, second: &str) -> Option<Ordering> {
    Some(Amount::parse(first)?.nanos.cmp(&Amount::parse(second)?.nanos))
}

/// Rounds a quantity up to a whole number.
pub fn round_up_quantity(text: &str) -> Option<String> {
    canonical_quantity(text, 0)
}

/// Returns a quantity in units of this power of ten, rounded up. Returns `None` for invalid quantities, and for powers below those of
/// quantities.
pub fn scale_quantity(text: &str, power: i32) -> Option<i128> {
    let nanos = Amount::parse(text)?.nanos;
    let unit = nanos_per(power)?;
    Some(nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) > 0))
}

/// Returns a power of ten in billionths. Returns `None` for powers below those of quantities.
fn nanos_per(power: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(power.checked_sub(NANO)?).ok()?)
}

fn combine(first: &str, second: &str, operation: fn(i128, i128) -> Option<i128>) -> Option<String> {
    let (first, second) = (Amount::parse(first)?, Amount::parse(second)?);
    let nanos = operation(first.nanos, second.nanos)?;
    let format = if first.nanos == 0 {
        second.format
    } else {
        first.format
    };
    Amount { nanos, format }.to_text()
}

/// A number in billionths, and the format in which it is written.
struct Amount {
    nanos: i128,
    format: QuantityFormat,
}

impl Amount {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction, suffix) = split_quantity(text);
        let value: i128 = format!("{whole}{fraction}").parse().ok()?;
        let (power, binary, format) = unit_of(suffix)?;
        let unit = 1024_i128.checked_pow(u32::try_from(binary).ok()?)?;
        let unit = unit.checked_mul(nanos_per(power)?)?;
        let parts = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let nanos = value.checked_mul(unit)? / parts;
        Some(Self {
            nanos: if text.starts_with('-') { -nanos } else { nanos },
            format,
        })
    }

    fn to_text(&self) -> Option<String> {
        let nanos = self.nanos;
        match self.format {
            QuantityFormat::Binary if nanos % NANOS_PER_UNIT == 0 && nanos.abs() >= 1024 * NANOS_PER_UNIT => {
                Some(binary_text(nanos / NANOS_PER_UNIT))
            }
            QuantityFormat::Exponent => canonical_quantity(&format!("{nanos}e{NANO}"), NANO),
            QuantityFormat::Binary | QuantityFormat::Decimal => {
                canonical_quantity(&format!("{nanos}n"), NANO)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_keep_the_format_of_the_first_quantity() {
        for (first, second, sum, difference) in [
            ("1", "500m", "1500m", "500m"),
            ("0", "1Gi", "1Gi", "-1Gi"),
            ("1Gi", "0", "1Gi", "1Gi"),
            ("1Gi", "1Gi", "2Gi", "0"),
            ("1Gi", "512Mi", "1536Mi", "512Mi"),
            ("1Gi", "500M", "1573741824", "573741824"),
            ("500M", "1Gi", "1573741824", "-573741824"),
            ("512", "488", "1k", "24"),
            ("1Ki", "24", "1048", "1k"),
            ("1Ki", "500m", "1024500m", "1023500m"),
            ("1e3", "1", "1001", "999"),
            ("1e3", "1e3", "2e3", "0"),
            ("-2", "500m", "-1500m", "-2500m"),
            ("8Ki", "8Ki", "16Ki", "0"),
        ] {
            assert_eq!(
                add_quantities(first, second).as_deref(),
                Some(sum),
                "{first} + {second}"
            );
            assert_eq!(
                subtract_quantities(first, second).as_deref(),
                Some(difference),
                "{first} - {second}"
            );
        }
        assert_eq!(add_quantities("1", "one"), None);
        assert_eq!(add_quantities(&"9".repeat(40), "1"), None);
    }

    #[test]
    fn quantities_are_compared_exactly() {
        for (first, second, expected) in [
            ("1", "1000m", Ordering::Equal),
            ("1Ki", "1k", Ordering::Greater),
            ("-1", "0", Ordering::Less),
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("1e3", "1k", Ordering::Equal),
            ("1E", "1e18", Ordering::Equal),
        ] {
            assert_eq!(
                compare_quantities(first, second),
                Some(expected),
                "{first} {second}"
            );
        }
        assert_eq!(compare_quantities("", "1"), None);
    }

    #[test]
    fn quantities_are_scaled_and_rounded_up() {
        for (text, power, expected) in [
            ("1500m", 0, 2),
            ("1500m", -3, 1500),
            ("1Ki", 0, 1024),
            ("-1500m", 0, -1),
        ] {
            assert_eq!(scale_quantity(text, power), Some(expected), "{text}");
        }
    }

    #[test]
    fn fractions_are_rounded_up_to_whole_numbers() {
        for (text, expected) in [("1500m", "2"), ("1Gi", "1Gi"), ("100m", "1"), ("0", "0")] {
            assert_eq!(round_up_quantity(text).as_deref(), Some(expected), "{text}");
        }
    }
}
