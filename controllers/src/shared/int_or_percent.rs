//! Limits of rollouts: numbers, or percentages of all replicas.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// How a percentage becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Up,
    Down,
}

/// A limit that is neither a number nor a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {0:?}: expected a number or a percentage")]
pub(crate) struct InvalidLimit(pub(crate) String);

/// Resolves a number or a percentage of `total`. Negative ones are zero.
pub(crate) fn resolve(limit: &IntOrString, total: i64, rounding: Rounding) -> Result<i64, InvalidLimit> {
    let text = match limit {
        IntOrString::Int(number) => return Ok(i64::from(*number).max(0)),
        IntOrString::String(text) => text,
    };
    let percent = text
        .strip_suffix('%')
        .and_then(|digits| digits.parse::<i32>().ok());
    let percent = percent.ok_or_else(|| InvalidLimit(text.clone()))?;
    let hundredths = i64::from(percent).max(0) * total;
    let part = match rounding {
        Rounding::Up => (hundredths + 99) / 100,
        Rounding::Down => hundredths / 100,
    };
    Ok(part.min(i32::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_and_negative_limits_are_zero() {
        for (limit, total, up, down) in [
            (IntOrString::Int(3), 10, 3, 3),
            (IntOrString::Int(-3), 10, 0, 0),
            (IntOrString::String("39%".to_owned()), 10, 4, 3),
            (IntOrString::String("100%".to_owned()), 7, 7, 7),
            (IntOrString::String("0%".to_owned()), 7, 0, 0),
            (IntOrString::String("-5%".to_owned()), 7, 0, 0),
            (IntOrString::String("1%".to_owned()), 0, 0, 0),
        ] {
            assert_eq!(resolve(&limit, total, Rounding::Up), Ok(up), "{limit:?}");
            assert_eq!(resolve(&limit, total, Rounding::Down), Ok(down), "{limit:?}");
        }
        for text in ["oops", "5", "%", "1.5%"] {
            let limit = IntOrString::String(text.to_owned());
            assert_eq!(
                resolve(&limit, 10, Rounding::Up),
                Err(InvalidLimit(text.to_owned()))
            );
        }
    }
}
