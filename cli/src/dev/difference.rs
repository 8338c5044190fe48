//! What became of an object, in a line: which values are others than before.

use serde_json::{Map, Value};

/// How many values a line shows.
const SHOWN: usize = 6;
/// How long a value may be.
const WIDTH: usize = 60;

/// What nobody wants to read: the API server's own, and times that go with something else.
const SILENT: &[&str] = &[
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

/// The values that differ, `path old → new`; None when nothing is worth a line.
pub(super) fn describe(old: &Value, new: &Value) -> Option<String> {
    let mut found = Vec::new();
    compare("", old, new, &mut found);
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    Some(found.join(", "))
}

fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    if old == new {
        return;
    }
    let empty = Map::new();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => fields(path, old, new, found),
        (Value::Null, Value::Object(new)) => fields(path, &empty, new, found),
        (Value::Object(old), Value::Null) => fields(path, old, &empty, found),
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) if keyed(old) && keyed(new) => {
            let (old, new) = (by_key(old), by_key(new));
            if path == "status.conditions" {
                conditions(&old, &new, found);
            } else {
                fields(path, &old, &new, found);
            }
        }
        _ => found.push(format!("{path} {} → {}", short(old), short(new))),
    }
}

fn fields(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Vec<String>) {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    for key in new
        .keys()
        .chain(gone)
        .filter(|key| !SILENT.contains(&key.as_str()))
    {
        let below = if key.starts_with('[') || path.is_empty() {
            format!("{path}{key}")
        } else {
            format!("{path}.{key}")
        };
        let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        compare(&below, &of(old), &of(new), found);
    }
}

/// A condition is its status, for a reason; the message says the reason once more.
fn conditions(old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Vec<String>) {
    for (key, condition) in new {
        let before = old.get(key).map_or(&Value::Null, |before| &before["status"]);
        if *before != condition["status"] {
            let reason = condition["reason"].as_str().map(|reason| format!(" ({reason})"));
            let name = key.trim_matches(['[', ']']);
            let (before, after) = (short(before), short(&condition["status"]));
            found.push(format!("{name} {before} → {after}{}", reason.unwrap_or_default()));
        }
    }
}

/// Whether a list's items have names of their own.
fn keyed(list: &Value) -> bool {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().all(|item| key(item).is_some())
}

fn key(item: &Value) -> Option<&str> {
    ["type", "name", "uid"].iter().find_map(|key| item[*key].as_str())
}

fn by_key(list: &Value) -> Map<String, Value> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |item: &Value| {
        let mut rest = item.clone();
        if let Value::Object(rest) = &mut rest {
            rest.remove("type");
        }
        (format!("[{}]", key(item).unwrap_or_default()), rest)
    };
    items.iter().map(entry).collect()
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.replace('\n', "⏎");
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_values_by_their_paths() {
        let old = json!({ "metadata": { "resourceVersion": "1" }, "spec": { "replicas": 1 } });
        let new = json!({ "metadata": { "resourceVersion": "2" }, "spec": { "replicas": 2 },
            "status": { "conditions": [{ "type": "Ready", "status": "False", "reason": "Slow", "lastTransitionTime": "now" }] } });
        assert_eq!(
            describe(&old, &new).unwrap(),
            "spec.replicas 1 → 2, Ready - → False (Slow)"
        );
    }

    #[test]
    fn is_silent_about_what_is_not_worth_a_line() {
        let object =
            |version: &str| json!({ "metadata": { "resourceVersion": version, "managedFields": [version] } });
        assert_eq!(describe(&object("1"), &object("2")), None);
    }

    #[test]
    fn stays_short() {
        let values: Map<String, Value> = (0..9)
            .map(|at| (format!("key{at}"), json!("x".repeat(99))))
            .collect();
        let text = describe(&json!({}), &json!({ "data": values })).unwrap();
        assert!(text.ends_with("…, and 3 more"), "{text}");
        assert!(text.chars().count() < 600);
    }
}
