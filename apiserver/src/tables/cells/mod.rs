//! The cells of built-in kinds, in the order of their columns.

mod config;
mod jobs;
mod network;
mod pods;
mod storage;
mod workloads;

use super::age;
use crate::meta::text;
use serde_json::{Value, json};

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";
const UNKNOWN: &str = "<unknown>";

/// The cells of an object of this kind; None of kinds that have no columns of their own.
pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    workloads::cells(kind, object)
        .or_else(|| jobs::cells(kind, object))
        .or_else(|| network::cells(kind, object))
        .or_else(|| storage::cells(kind, object))
        .or_else(|| config::cells(kind, object))
}

/// What a row says beside its cells: that a pod has ended.
pub(super) fn conditions(kind: &str, object: &Value) -> Option<Value> {
    let (reason, message) = match (kind, object["status"]["phase"].as_str()?) {
        ("Pod", "Succeeded") => ("Succeeded", "The pod has completed successfully."),
        ("Pod", "Failed") => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

/// The text, or what stands for none.
fn or<'a>(text: &'a str, none: &'a str) -> &'a str {
    if text.is_empty() { none } else { text }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn list<'a>(holder: &'a Value, field: &str) -> &'a [Value] {
    holder[field].as_array().map_or(&[], Vec::as_slice)
}

/// How long ago a time was.
fn since(time: &Value) -> String {
    match time.as_str() {
        Some(time) if !time.is_empty() => age::since(time),
        _ => UNKNOWN.to_owned(),
    }
}

fn created(object: &Value) -> String {
    since(&object["metadata"]["creationTimestamp"])
}

fn name(object: &Value) -> &Value {
    &object["metadata"]["name"]
}

/// A map of labels as a selector of them.
fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let mut pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort();
    or(&pairs.join(","), NONE).to_owned()
}

/// A label selector in one line, its requirements by key; empty when it has none.
fn selector(selector: &Value) -> String {
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

/// The same, with a word where there is none.
fn selector_or_none(of: &Value) -> String {
    or(&selector(of), NONE).to_owned()
}

/// A field of each item, in one line.
fn joined(items: &[Value], field: &str) -> String {
    let texts: Vec<&str> = items.iter().map(|item| text(item, field)).collect();
    texts.join(",")
}

/// The first three, and how many more there are.
fn shortened(texts: &[String]) -> String {
    const MOST: usize = 3;
    match texts.len().checked_sub(MOST) {
        Some(more) if more > 0 => format!("{} + {more} more...", texts[..MOST].join(",")),
        _ => texts.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_sorted_by_key() {
        let of = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [
                { "key": "c", "operator": "NotIn", "values": ["y", "x"] }, { "key": "a", "operator": "DoesNotExist" },
                { "key": "d", "operator": "In", "values": ["z"] }, { "key": "e", "operator": "Exists" },
            ],
        });
        assert_eq!(selector(&of), "!a,b=1,c notin (x,y),d in (z),e");
        assert_eq!(selector_or_none(&json!({})), "<none>");
        assert_eq!(labels(&json!({ "b": "2", "a": "1" })), "a=1,b=2");
    }

    #[test]
    fn long_lists_are_cut() {
        let texts: Vec<String> = (0..5).map(|number| number.to_string()).collect();
        assert_eq!(shortened(&texts), "0,1,2 + 2 more...");
        assert_eq!(shortened(&texts[..3]), "0,1,2");
    }
}
