//! Answers without what no two servers have in common.

use serde_json::Value;

/// Fields whose values only their server knows.
const OWN: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "time",
    "continue",
    "clusterIP",
    "clusterIPs",
    "storageVersionHash",
    "goVersion",
];

/// A body as it is compared.
pub(crate) fn of(mut value: Value) -> Value {
    clean(&mut value);
    value
}

fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !OWN.contains(&key.as_str()));
            fields.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::String(text) => *text = without_names(text),
        _ => {}
    }
}

/// Without uids, and without the ends of generated names.
fn without_names(text: &str) -> String {
    let uid = |word: &str| word.len() == 36 && word.bytes().filter(|byte| *byte == b'-').count() == 4;
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let mut cleaned = text.to_owned();
    for found in text.split(word).filter(|found| uid(found)) {
        cleaned = cleaned.replace(found, "UID");
    }
    match cleaned.strip_prefix("abc-") {
        Some(rest) if rest.len() == 5 => "abc-".to_owned(),
        _ => cleaned,
    }
}
