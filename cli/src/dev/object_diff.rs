//! Summarizes the difference of two versions of an object in one line.

use serde_json::{Map, Value};

/// Most values in a line; the rest is counted.
const MAX_SHOWN_VALUES: usize = 6;
/// Longest shown value, in characters.
const MAX_VALUE_CHARS: usize = 60;

/// Fields that are not shown: bookkeeping of the API server, and times that change with other fields.
const IGNORED_FIELDS: &[&str] = &[
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
    "observedGeneration",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Returns the changed values as `path old → new`; None if only ignored fields changed.
pub(super) fn summarize_changes(old: &Value, new: &Value) -> Option<String> {
    let mut changes = Vec::new();
    compare("", old, new, &mut changes);
    if changes.is_empty() {
        return None;
    }
    let more = changes.len().saturating_sub(MAX_SHOWN_VALUES);
    changes.truncate(MAX_SHOWN_VALUES);
    if more > 0 {
        changes.push(format!("and {more} more"));
    }
    Some(changes.join(", "))
}

fn compare(path: &str, old: &Value, new: &Value, changes: &mut Vec<String>) {
    if old == new {
        return;
    }
    let empty = Map::new();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => compare_fields(path, old, new, changes),
        (Value::Null, Value::Object(new)) => compare_fields(path, &empty, new, changes),
        (Value::Object(old), Value::Null) => compare_fields(path, old, &empty, changes),
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) if has_keys(old) && has_keys(new) => {
            let (old, new) = (by_key(old), by_key(new));
            if path == "status.conditions" {
                compare_conditions(&old, &new, changes);
            } else {
                compare_fields(path, &old, &new, changes);
            }
        }
        _ => changes.push(format!("{path} {} → {}", abbreviated(old), abbreviated(new))),
    }
}

fn compare_fields(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, changes: &mut Vec<String>) {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    for key in new
        .keys()
        .chain(gone)
        .filter(|key| !IGNORED_FIELDS.contains(&key.as_str()))
    {
        let below = if key.starts_with('[') || path.is_empty() {
            format!("{path}{key}")
        } else {
            format!("{path}.{key}")
        };
        let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        compare(&below, &of(old), &of(new), changes);
    }
}

/// Shows a condition as its status and reason; the message only repeats the reason.
fn compare_conditions(old: &Map<String, Value>, new: &Map<String, Value>, changes: &mut Vec<String>) {
    for (key, condition) in new {
        let before = old.get(key).map_or(&Value::Null, |before| &before["status"]);
        if *before != condition["status"] {
            let reason = condition["reason"].as_str().map(|reason| format!(" ({reason})"));
            let name = key.trim_matches(['[', ']']);
            let (before, after) = (abbreviated(before), abbreviated(&condition["status"]));
            changes.push(format!("{name} {before} → {after}{}", reason.unwrap_or_default()));
        }
    }
}

/// Whether all items of a list have a key.
fn has_keys(list: &Value) -> bool {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().all(|item| item_key(item).is_some())
}

fn item_key(item: &Value) -> Option<&str> {
    ["type", "name", "uid"].iter().find_map(|key| item[*key].as_str())
}

fn by_key(list: &Value) -> Map<String, Value> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |item: &Value| {
        let mut rest = item.clone();
        if let Value::Object(rest) = &mut rest {
            rest.remove("type");
        }
        (format!("[{}]", item_key(item).unwrap_or_default()), rest)
    };
    items.iter().map(entry).collect()
}

fn abbreviated(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.replace('\n', "⏎");
    match line.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_changed_values_with_their_paths() {
        let old = json!({ "metadata": { "resourceVersion": "1" }, "spec": { "replicas": 1 } });
        let new = json!({ "metadata": { "resourceVersion": "2" }, "spec": { "replicas": 2 },
            "status": { "conditions": [{ "type": "Ready", "status": "False", "reason": "Slow", "lastTransitionTime": "now" }] } });
        assert_eq!(
            summarize_changes(&old, &new).unwrap(),
            "spec.replicas 1 → 2, Ready - → False (Slow)"
        );
    }

    #[test]
    fn ignores_bookkeeping_fields() {
        let object =
            |version: &str| json!({ "metadata": { "resourceVersion": version, "managedFields": [version] } });
        assert_eq!(summarize_changes(&object("1"), &object("2")), None);
    }

    #[test]
    fn long_summaries_are_truncated() {
        let values: Map<String, Value> = (0..9)
            .map(|at| (format!("key{at}"), json!("x".repeat(99))))
            .collect();
        let text = summarize_changes(&json!({}), &json!({ "data": values })).unwrap();
        assert!(text.ends_with("…, and 3 more"), "{text}");
        assert!(text.chars().count() < 600);
    }
}
