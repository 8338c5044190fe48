//! Parses index lists of indexed jobs, such as `0,2-4`.

/// Counts the indexes of a list, which must be ascending and below the number of completions.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for interval in text.split(',') {
        let (first, end) = parse_interval(interval, completions)?;
        check_ascending(last, first)?;
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// Returns the first index that both lists contain. Invalid intervals are skipped.
pub(super) fn overlap(first_list: &str, second_list: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        let intervals = text.split(',');
        intervals
            .filter_map(|interval| parse_interval(interval, completions).ok())
            .collect()
    };
    let (first_list, second_list) = (intervals(first_list), intervals(second_list));
    let (mut first_at, mut second_at) = (0, 0);
    while let (Some((first, end)), Some((start, last))) =
        (first_list.get(first_at), second_list.get(second_at))
    {
        if first <= last && start <= end {
            return Some(*first.max(start));
        }
        if first <= start {
            first_at += 1;
        } else {
            second_at += 1;
        }
    }
    None
}

fn parse_interval(interval: &str, completions: i64) -> Result<(i64, i64), String> {
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
            check_ascending(Some(first), end).map(|()| (first, end))
        }
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

fn check_ascending(previous: Option<i64>, current: i64) -> Result<(), String> {
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
    fn indexes_are_ascending_and_counted() {
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
    fn first_common_index_is_found() {
        for (first_list, second_list, expected) in [
            ("0-2", "2", Some(2)),
            ("0,4-6", "1,x,5", Some(5)),
            ("0,2", "1,3", None),
            ("", "1", None),
        ] {
            assert_eq!(
                overlap(first_list, second_list, 7),
                expected,
                "{first_list} {second_list}"
            );
        }
    }
}
