//! The cells of built-in kinds, in the order of their columns.

mod cluster;
mod config;
mod jobs;
mod network;
mod pods;
mod storage;
mod workloads;

use super::age;
use crate::meta::{self, text};
use serde_json::{Value, json};

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";
const UNKNOWN: &str = "<unknown>";

/// Returns the cells of an object of this kind; `None` if the kind has no columns of its own.
pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    workloads::cells(kind, object)
        .or_else(|| jobs::cells(kind, object))
        .or_else(|| network::cells(kind, object))
        .or_else(|| storage::cells(kind, object))
        .or_else(|| config::cells(kind, object))
        .or_else(|| cluster::cells(kind, object))
}

/// Returns the conditions of a row: whether a pod has completed.
pub(super) fn conditions(kind: &str, object: &Value) -> Option<Value> {
    let (reason, message) = match (kind, object["status"]["phase"].as_str()?) {
        ("Pod", "Succeeded") => ("Succeeded", "The pod has completed successfully."),
        ("Pod", "Failed") => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

/// Returns the text, or `default` if it is empty.
fn text_or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn list<'a>(holder: &'a Value, field: &str) -> &'a [Value] {
    meta::array(&holder[field])
}

/// Returns the age of a timestamp.
fn age_since(time: &Value) -> String {
    match time.as_str() {
        Some(time) if !time.is_empty() => age::since(time),
        _ => UNKNOWN.to_owned(),
    }
}

fn age_of(object: &Value) -> String {
    age_since(&object["metadata"]["creationTimestamp"])
}

/// Returns the condition of a type.
fn condition<'a>(holder: &'a Value, ty: &str) -> Option<&'a Value> {
    list(holder, "conditions")
        .iter()
        .find(|condition| condition["type"] == ty)
}

/// Whether a condition in the status is true.
fn has_condition(object: &Value, ty: &str) -> bool {
    condition(&object["status"], ty).is_some_and(|condition| condition["status"] == "True")
}

fn name(object: &Value) -> &Value {
    &object["metadata"]["name"]
}

/// Formats a map of labels as a selector.
fn format_labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let mut pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort();
    text_or(&pairs.join(","), NONE).to_owned()
}

/// Formats a label selector on one line, sorted by key; empty if it selects everything.
fn format_selector(selector: &Value) -> String {
    let pairs = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<(&str, String)> = pairs
        .map(|(key, value)| {
            (
                key.as_str(),
                format!("{key}={}", value.as_str().unwrap_or_default()),
            )
        })
        .collect();
    for requirement in list(selector, "matchExpressions") {
        let key = text(requirement, "key");
        let mut values: Vec<&str> = list(requirement, "values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push((
            key,
            match text(requirement, "operator") {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "DoesNotExist" => format!("!{key}"),
                _ => key.to_owned(),
            },
        ));
    }
    parts.sort_by_key(|(key, _)| *key);
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    parts.join(",")
}

/// The same, but `<none>` instead of an empty text.
fn selector_or_none(selector: &Value) -> String {
    text_or(&format_selector(selector), NONE).to_owned()
}

/// Joins a field of each item with commas.
fn join_field(items: &[Value], field: &str) -> String {
    let texts: Vec<&str> = items.iter().map(|item| text(item, field)).collect();
    texts.join(",")
}

/// Joins the first three texts, with the number of the others.
fn join_first_three(texts: &[String]) -> String {
    const MAX_SHOWN: usize = 3;
    match texts.len().checked_sub(MAX_SHOWN) {
        Some(more) if more > 0 => format!("{} + {more} more...", texts[..MAX_SHOWN].join(",")),
        _ => texts.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_sorted_by_key() {
        let selector = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [
                { "key": "c", "operator": "NotIn", "values": ["y", "x"] }, { "key": "a", "operator": "DoesNotExist" },
                { "key": "d", "operator": "In", "values": ["z"] }, { "key": "e", "operator": "Exists" },
            ],
        });
        assert_eq!(format_selector(&selector), "!a,b=1,c notin (x,y),d in (z),e");
        assert_eq!(selector_or_none(&json!({})), "<none>");
        assert_eq!(format_labels(&json!({ "b": "2", "a": "1" })), "a=1,b=2");
    }

    #[test]
    fn long_lists_are_shortened() {
        let texts: Vec<String> = (0..5).map(|number| number.to_string()).collect();
        assert_eq!(join_first_three(&texts), "0,1,2 + 2 more...");
        assert_eq!(join_first_three(&texts[..3]), "0,1,2");
    }
}
