//! Normalizes responses: removes values that differ between any two servers.

use crate::yaml;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Fields with server-specific values. Only their presence is compared.
const SERVER_SPECIFIC_FIELDS: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "expirationTimestamp",
    "time",
    "token",
    "continue",
    "clusterIP",
    "clusterIPs",
    "storageVersionHash",
];

/// Lists without a stable order: the real server builds them from a map, or sorts them (managers) by time in seconds.
const UNORDERED: &[&str] = &[
    "resourceRules",
    "nonResourceRules",
    "nonResourceURLs",
    "causes",
    "managedFields",
];

/// The cause in a response to a request for a future resource version. It suggests a retry delay, which the real server chooses at random
/// from 1 to 3 seconds for resources without a watch cache, such as events.
const VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";

/// Fields with information about the server's build.
const BUILD_INFO_FIELDS: &[&str] = &["goVersion", "gitCommit", "compiler"];

/// The text that replaces server-specific values.
const PLACEHOLDER: &str = "~";

const UID: &str = r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b";
/// A name that a server generated from the prefix `abc-`.
const GENERATED_NAME: &str = r"(?i)\babc-[a-z0-9]{5}\b";

/// Patterns of server-specific parts of texts, and their replacements.
static TEXT_REPLACEMENTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (UID, "UID"),
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (r"\b10\.0\.\d+\.\d+\b", "IP"),
        (GENERATED_NAME, "abc-XXXXX"),
        (r":[0-9]{5}/(TCP|UDP|SCTP)\b", ":PORT/$1"),
        (r"current: \d+", "current: N"),
        (r"larger than max \(\d+", "larger than max (N"),
        (r#"resourceVersion: "\d+""#, r#"resourceVersion: "N""#),
        (r"resource version: \d+ \(\d+\)", "resource version: N (N)"),
        (r"in record \(\d+\)", "in record (N)"),
        // Node ports that the server allocated.
        (r"Duplicate value: 3[0-2]\d{3}\b", "Duplicate value: PORT"),
        (r"nodePort: \{(\w+) \d+\}", "nodePort: {$1 PORT}"),
        (r"nodePort:3[0-2]\d{3}\b", "nodePort:PORT"),
        (r"^(\d+[smhd]){1,2}$", "AGE"),
        (r"(?m)^( *- )(\d+[smhd]){1,2}$", "${1}AGE"),
        (r#"resourceVersion\\?":\s?\\?"\d+"#, "resourceVersion: N"),
        // managedFields in YAML.
        (
            r"(?m)^ *managedFields:\n(?: *- .*\n| {4,}.*\n)*",
            "managedFields: ~\n",
        ),
        // Messages of YAML parsers about invalid YAML.
        (r#"yaml: [^"\n]*?( \([0-9a-f]+\))?$"#, "yaml: ~$1"),
        // Line numbers in Go's decoder.
        (r"scheme\.go:\d+", "scheme.go"),
    ]
    .map(|(pattern, replacement)| (Regex::new(pattern).unwrap(), replacement))
    .into()
});

/// Patterns in kubectl's output, and their replacements. Random values come first, because some of them look like an age.
static OUTPUT_REPLACEMENTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (UID, "UID"),
        (GENERATED_NAME, "abc-XXXXX"),
        (r"(?m)^eyJ[\w-]+\.[\w-]+\.[\w-]+$", "TOKEN"),
        (
            r#"(?m)(resourceVersion: |resourceVersion":\s?|uid: |uid":\s?)"?[\w-]+"?"#,
            "${1}~",
        ),
        (r"Resource Version: +\d+", "Resource Version: N"),
        (r#"continue": ?"[^"]+""#, "continue: ~"),
        (r"(?m)\b(\d+[smhd])+( ago)?$", "AGE"),
        (r"(?m)(\S) (\d+[smhd])+\b", "${1} AGE"),
        // The age at the start of an event's line.
        (r"(?m)^(\d+[smhd])+ ", "AGE "),
        (r"\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"\d{9,}(-[a-z0-9.-]+)?\.ya?ml", "FILE"),
        (r"/tmp/[\w/.-]+", "/tmp/FILE"),
        (r"(?m)^([IWEF])\d{4} .*\] ", "$1 "),
        (r"\t.*20\d\d-\d\d-\d\d .*", ""),
    ]
    .map(|(pattern, replacement)| (Regex::new(pattern).unwrap(), replacement))
    .into()
});

/// Padding between columns, which depends on the widest value.
static COLUMN_PADDING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\S) {2,}").unwrap());

/// Normalizes a response body for the comparison.
pub(crate) fn body(mut value: Value) -> Value {
    // YAML is parsed, since line folding and quotes differ between YAML writers.
    if let Some(text) = value.as_str().filter(|text| text.starts_with("apiVersion: "))
        && let Some(read) = yaml::read(text)
    {
        value = json!({ "yaml": read });
    }
    normalize(&mut value);
    value
}

/// Normalizes kubectl's output for the comparison, as a list of lines.
pub(crate) fn kubectl_output(text: &str) -> Value {
    let mut text = COLUMN_PADDING.replace_all(text, "$1 ").into_owned();
    for (pattern, replacement) in OUTPUT_REPLACEMENTS.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    if text.contains(IP_REPAIR_EVENT) {
        let lines = text.lines().filter(|line| !line.contains(IP_REPAIR_EVENT));
        text = lines.collect::<Vec<_>>().join("\n");
        text = NO_EVENTS.replace(&text, "Events: <none>").into_owned();
    }
    text.lines().map(str::trim_end).collect()
}

/// The reason of an event that the real server creates sporadically, when its cluster IP repair loop runs while an address is allocated.
const IP_REPAIR_EVENT: &str = "ClusterIPNotAllocated";
static NO_EVENTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"Events:\n +Type .*\n +-.*\z").unwrap());

fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // Keys are normalized too: those of managedFields contain uids of owners.
            let retry_after = fields.get("retryAfterSeconds").and_then(Value::as_u64);
            if retry_after.is_some_and(|seconds| (1..=3).contains(&seconds))
                && fields
                    .get("causes")
                    .is_some_and(|causes| causes[0]["reason"] == VERSION_TOO_LARGE)
            {
                fields.insert("retryAfterSeconds".to_owned(), json!(PLACEHOLDER));
            }
            let all_fields = std::mem::take(fields).into_iter();
            *fields = all_fields
                .map(|(key, value)| (normalize_text(&key), value))
                .collect();
            for (key, value) in fields {
                if matches!(key.as_str(), "nodePort" | "healthCheckNodePort") && value.is_number()
                    || BUILD_INFO_FIELDS.contains(&key.as_str())
                {
                    *value = json!(PLACEHOLDER);
                } else if SERVER_SPECIFIC_FIELDS.contains(&key.as_str()) {
                    replace_with_placeholder(value);
                } else {
                    normalize(value);
                }
                if let (true, Value::Array(items)) = (UNORDERED.contains(&key.as_str()), value) {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) => {
            *text = normalize_text(text);
            sort_messages(text);
        }
        _ => {}
    }
}

/// JSON that a message quotes. The real server keeps the field order of its Go structs.
static QUOTED_JSON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"Invalid value: ("\{(?:[^"\\]|\\.)*")"#).unwrap());

fn normalize_text(text: &str) -> String {
    let sorted = QUOTED_JSON.replace_all(text, |found: &regex::Captures<'_>| {
        let quoted = serde_json::from_str::<String>(&found[1]).ok();
        let value = quoted.and_then(|quoted| serde_json::from_str::<Value>(&quoted).ok());
        let Some(mut value) = value else {
            return found[0].to_owned();
        };
        normalize(&mut value);
        format!("Invalid value: {}", json!(value.to_string()))
    });
    let mut text = sorted.into_owned();
    for (pattern, replacement) in TEXT_REPLACEMENTS.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}

/// Sorts the errors that a message lists, since the real server collects some of them from a map.
fn sort_messages(text: &mut String) {
    // An applied object is also walked in random order, and only up to the first unknown field.
    const UNKNOWN: &str = "field not declared in schema";
    const TYPED: &str = "failed to create typed patch object (";
    if let Some((head, messages)) = text.split_once("): ").filter(|(head, _)| head.starts_with(TYPED))
        && messages.contains(UNKNOWN)
    {
        let unknown: Vec<&str> = messages
            .lines()
            .filter(|line| line.contains(UNKNOWN))
            .map(str::trim)
            .collect();
        *text = format!("{head}): {}", unknown.join("; "));
    }
    if let Some((head, messages)) = text.split_once(" is invalid: [")
        && let Some(messages) = messages.strip_suffix(']')
    {
        let mut parts: Vec<&str> = messages.split(", ").collect();
        parts.sort_unstable();
        *text = format!("{head} is invalid: [{}]", parts.join(", "));
    }
    if let Some((head, messages)) = text.split_once(": errors:\n") {
        let mut parts: Vec<&str> = messages.split('\n').collect();
        parts.sort_unstable();
        *text = format!("{head}: errors:\n{}", parts.join("\n"));
    }
}

/// Replaces a non-empty value with a placeholder.
fn replace_with_placeholder(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() || text == "None" => {}
        Value::String(_) => *value = json!(PLACEHOLDER),
        Value::Array(items) => items.iter_mut().for_each(replace_with_placeholder),
        other => normalize(other),
    }
}

#[test]
fn uid_is_not_mistaken_for_an_age() {
    let printed =
        kubectl_output("  UID:  0455130d-3e78-4112-9e7b-0bf455130d61\nfoo  Active  5m3s\nabc-2d4s5\n");
    assert_eq!(printed, json!(["  UID: UID", "foo Active AGE", "abc-XXXXX"]));
}
