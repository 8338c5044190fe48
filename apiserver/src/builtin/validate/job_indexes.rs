//! Indexes of a job's pods as texts, such as `0,2-4`.

/// How many indexes a text names: rising, and all of them below the number of completions.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for interval in text.split(',') {
        let (first, end) = parsed(interval, completions)?;
        follows(last, first)?;
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that both texts name. What is no interval is passed over.
pub(super) fn overlap(one: &str, other: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        let intervals = text.split(',');
        intervals
            .filter_map(|interval| parsed(interval, completions).ok())
            .collect()
    };
    let (one, other) = (intervals(one), intervals(other));
    let (mut at, mut beside) = (0, 0);
    while let (Some((first, end)), Some((start, last))) = (one.get(at), other.get(beside)) {
        if first <= last && start <= end {
            return Some(*first.max(start));
        }
        if first <= start {
            at += 1;
        } else {
            beside += 1;
        }
    }
    None
}

fn parsed(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let number = |text: &str| -> Result<i64, String> {
        let number = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if number >= completions {
            return Err(format!("too large index: {text:?}"));
        }
        Ok(number)
    };
    match interval.split('-').collect::<Vec<_>>()[..] {
        [only] => number(only).map(|only| (only, only)),
        [first, end] => {
            let (first, end) = (number(first)?, number(end)?);
            follows(Some(first), end).map(|()| (first, end))
        }
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

fn follows(previous: Option<i64>, current: i64) -> Result<(), String> {
    match previous {
        Some(previous) if previous >= current => Err(format!(
            "non-increasing order, previous: {previous}, current: {current}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_rise_and_are_counted() {
        for (text, expected) in [
            ("", Ok(0)),
            ("0,2-4", Ok(4)),
            ("1,1", Err("non-increasing order, previous: 1, current: 1")),
            ("3-2", Err("non-increasing order, previous: 3, current: 2")),
            ("7", Err("too large index: \"7\"")),
            ("x", Err("cannot convert string to integer for index: \"x\"")),
            ("-1", Err("cannot convert string to integer for index: \"\"")),
        ] {
            assert_eq!(count(text, 7), expected.map_err(str::to_owned), "{text}");
        }
        let parts = count("1-2-3", 7).unwrap_err();
        assert!(parts.contains("at most two parts"), "{parts}");
    }

    #[test]
    fn indexes_that_both_name_are_found() {
        for (one, other, expected) in [
            ("0-2", "2", Some(2)),
            ("0,4-6", "1,x,5", Some(5)),
            ("0,2", "1,3", None),
            ("", "1", None),
        ] {
            assert_eq!(overlap(one, other, 7), expected, "{one} {other}");
        }
    }
}
