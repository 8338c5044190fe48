//! Validation of devices' capacity that requests share, and of versions.

use super::device_fields::limited_items;
use super::{Check, array, child};
use crate::types::{add_quantities, compare_quantities, scale_quantity};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeSet;

const MAX_VALUES: usize = 10;

fn is_above(quantity: &str, other: &str) -> bool {
    compare_quantities(quantity, other) == Some(Ordering::Greater)
}

/// Validates how much of a capacity a request gets.
pub(super) fn validate_request_policy(check: &mut Check, policy: &Value, capacity: &str, path: &str) {
    let has_values = !array(&policy["validValues"]).is_empty();
    let range = &policy["validRange"];
    if has_values && !range.is_null() {
        let detail = r#"exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time"#;
        check.forbidden(path, detail);
        return;
    }
    let default = policy["default"].as_str();
    let what = match (has_values, range.is_null()) {
        (true, _) => "validValues",
        (false, false) => "validRange",
        (false, true) => return,
    };
    match default {
        None => check.required(
            &child(path, "default"),
            format!("required when {what} is defined"),
        ),
        Some(default) if has_values => validate_values(check, policy, default, capacity, path),
        Some(default) => validate_range(check, range, default, capacity, &child(path, what)),
    }
}

fn validate_values(check: &mut Check, policy: &Value, default: &str, capacity: &str, path: &str) {
    let values: Vec<&str> = array(&policy["validValues"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let field = child(path, "validValues");
    for (index, pair) in values.windows(2).enumerate() {
        if is_above(pair[0], pair[1]) {
            let path = format!("{field}[{}]", index + 1);
            check.invalid(&path, pair[1], "values must be sorted in ascending order");
        }
    }
    let listed = limited_items(check, policy, "validValues", MAX_VALUES, path);
    let (mut has_default, mut seen) = (false, BTreeSet::new());
    for (value, path) in &listed {
        let value = value.as_str().unwrap_or_default();
        if is_above(value, capacity) {
            check.invalid(
                path,
                value,
                format!("option is larger than capacity value: {capacity}"),
            );
        }
        has_default |= compare_quantities(value, default) == Some(Ordering::Equal);
    }
    for (value, path) in listed {
        let key = scale_quantity(value.as_str().unwrap_or_default(), 0).unwrap_or_default();
        if !seen.insert(key) {
            check.duplicate(&path, key.to_string());
        }
    }
    if !has_default {
        check.invalid(
            &field,
            default,
            "default value is not valid according to the requestPolicy",
        );
    }
}

fn validate_range(check: &mut Check, range: &Value, default: &str, capacity: &str, path: &str) {
    let field = |name: &str| child(path, name);
    let Some(min) = range["min"].as_str() else {
        check.required(&field("min"), "required when validRange is defined");
        return;
    };
    if is_above(min, capacity) {
        check.invalid(
            &field("min"),
            min,
            format!("min is larger than capacity value: {capacity}"),
        );
    }
    if is_above(min, default) {
        check.invalid(&field("min"), default, format!("default is less than min: {min}"));
    }
    let max = range["max"].as_str();
    if let Some(max) = max {
        for (above, below, detail) in [
            (min, max, format!("min is larger than max: {max}")),
            (
                max,
                capacity,
                format!("max is larger than capacity value: {capacity}"),
            ),
            (default, max, format!("default is more than max: {max}")),
        ] {
            if is_above(above, below) {
                check.invalid(&field("max"), above, detail);
            }
        }
    }
    if let Some(step) = range["step"].as_str() {
        validate_step(check, (min, max, step), default, capacity, &field("step"));
    }
}

fn validate_step(
    check: &mut Check,
    (min, max, step): (&str, Option<&str>, &str),
    default: &str,
    capacity: &str,
    path: &str,
) {
    let first = add_quantities(min, step).unwrap_or_default();
    if is_above(&first, capacity) {
        let detail = format!("one step {first} is larger than capacity value: {capacity}");
        check.invalid(path, step, detail);
    }
    let whole = |quantity: &str| scale_quantity(quantity, 0).unwrap_or_default();
    for value in [Some(default), max].into_iter().flatten() {
        let is_multiple = (whole(value) - whole(min)).checked_rem(whole(step));
        if is_multiple != Some(0) {
            let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
            check.invalid(path, value, detail);
        }
    }
}

/// Whether a text is a version by semver.org 2.0.0.
pub(super) fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text
        .split_once('+')
        .map_or((text, None), |(text, build)| (text, Some(build)));
    let (numbers, release) = text
        .split_once('-')
        .map_or((text, None), |(text, release)| (text, Some(release)));
    let is_number = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            && !part.is_empty()
            && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_release =
        |part: &str| is_number(part) || is_word(part) && part.bytes().any(|byte| !byte.is_ascii_digit());
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && release.is_none_or(|release| release.split('.').all(is_release))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_are_those_of_semver() {
        for (text, expected) in [
            ("1.2.3", true),
            ("0.0.0-alpha.1.x-y+001.b", true),
            ("1.2.3-0a", true),
            ("1.2", false),
            ("01.2.3", false),
            ("1.2.3-01", false),
            ("1.2.3-", false),
            ("1.2.3+a+b", false),
            ("v1.2.3", false),
        ] {
            assert_eq!(is_semantic_version(text), expected, "{text}");
        }
    }

    #[test]
    fn step_of_zero_is_reported_and_not_divided_by() {
        let mut check = Check::default();
        let policy = json!({ "default": "1", "validRange": { "min": "1", "step": "0" } });
        validate_request_policy(&mut check, &policy, "2", "p");
        assert_eq!(check.errors.len(), 1);
    }
}
