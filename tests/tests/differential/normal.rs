//! Answers without what no two servers have in common.

use crate::yaml;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Fields whose values only their server knows. That they are there is compared.
const OWN: &[&str] = &[
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

/// Lists that the real server makes by walking a map, or, of managers, by seconds.
const UNORDERED: &[&str] = &[
    "resourceRules",
    "nonResourceRules",
    "nonResourceURLs",
    "causes",
    "managedFields",
];

/// Who asks for a version of the future is told to come again in some seconds: where the real server has no cache of watches, as of
/// events, it throws dice for one, two or three.
const TOO_LARGE: &str = "ResourceVersionTooLarge";

/// What a server says of how it was built.
const BUILD: &[&str] = &["goVersion", "gitCommit", "compiler"];

/// What stands in their place.
const SOME: &str = "~";

const UID: &str = r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b";
/// A name that a server made of the cases' prefix.
const GENERATED: &str = r"(?i)\babc-[a-z0-9]{5}\b";

/// What a text is cleaned of, and what stands in its place.
static CLEANED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (UID, "UID"),
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (r"\b10\.0\.\d+\.\d+\b", "IP"),
        (GENERATED, "abc-XXXXX"),
        (r":[0-9]{5}/(TCP|UDP|SCTP)\b", ":PORT/$1"),
        (r"current: \d+", "current: N"),
        (r"larger than max \(\d+", "larger than max (N"),
        (r#"resourceVersion: "\d+""#, r#"resourceVersion: "N""#),
        (r"resource version: \d+ \(\d+\)", "resource version: N (N)"),
        (r"in record \(\d+\)", "in record (N)"),
        // A port of nodes that was chosen.
        (r"Duplicate value: 3[0-2]\d{3}\b", "Duplicate value: PORT"),
        (r"nodePort: \{(\w+) \d+\}", "nodePort: {$1 PORT}"),
        (r"nodePort:3[0-2]\d{3}\b", "nodePort:PORT"),
        (r"^(\d+[smhd]){1,2}$", "AGE"),
        (r"(?m)^( *- )(\d+[smhd]){1,2}$", "${1}AGE"),
        (r#"resourceVersion\\?":\s?\\?"\d+"#, "resourceVersion: N"),
        // Within YAML.
        (
            r"(?m)^ *managedFields:\n(?: *- .*\n| {4,}.*\n)*",
            "managedFields: ~\n",
        ),
        // What a parser of YAML says of what is none.
        (r#"yaml: [^"\n]*?( \([0-9a-f]+\))?$"#, "yaml: ~$1"),
        // Where Go's decoder was when it gave up.
        (r"scheme\.go:\d+", "scheme.go"),
    ]
    .map(|(pattern, place)| (Regex::new(pattern).unwrap(), place))
    .into()
});

/// What a command's output is cleaned of. What is random goes first: some of it looks like an age.
static PRINTED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (UID, "UID"),
        (GENERATED, "abc-XXXXX"),
        (r"(?m)^eyJ[\w-]+\.[\w-]+\.[\w-]+$", "TOKEN"),
        (
            r#"(?m)(resourceVersion: |resourceVersion":\s?|uid: |uid":\s?)"?[\w-]+"?"#,
            "${1}~",
        ),
        (r"Resource Version: +\d+", "Resource Version: N"),
        (r#"continue": ?"[^"]+""#, "continue: ~"),
        (r"(?m)\b(\d+[smhd])+( ago)?$", "AGE"),
        (r"(?m)(\S) (\d+[smhd])+\b", "${1} AGE"),
        // Events begin with it.
        (r"(?m)^(\d+[smhd])+ ", "AGE "),
        (r"\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"\d{9,}(-[a-z0-9.-]+)?\.ya?ml", "FILE"),
        (r"/tmp/[\w/.-]+", "/tmp/FILE"),
        (r"(?m)^([IWEF])\d{4} .*\] ", "$1 "),
        (r"\t.*20\d\d-\d\d-\d\d .*", ""),
    ]
    .map(|(pattern, place)| (Regex::new(pattern).unwrap(), place))
    .into()
});

/// Columns are as wide as their widest value.
static SPACES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\S) {2,}").unwrap());

/// A body as it is compared.
pub(crate) fn of(mut value: Value) -> Value {
    // Where lines of YAML are folded, and which quotes they have, is the writer's business.
    if let Some(text) = value.as_str().filter(|text| text.starts_with("apiVersion: "))
        && let Some(read) = yaml::read(text)
    {
        value = json!({ "yaml": read });
    }
    clean(&mut value);
    value
}

/// What a command printed, as it is compared: lines.
pub(crate) fn printed(text: &str) -> Value {
    let mut text = SPACES.replace_all(text, "$1 ").into_owned();
    for (pattern, place) in PRINTED.iter() {
        text = pattern.replace_all(&text, *place).into_owned();
    }
    if text.contains(REPAIRED) {
        let lines = text.lines().filter(|line| !line.contains(REPAIRED));
        text = lines.collect::<Vec<_>>().join("\n");
        text = NO_EVENTS.replace(&text, "Events: <none>").into_owned();
    }
    text.lines().map(str::trim_end).collect()
}

/// An event that the real server sends by chance, when it looks after addresses just as one is given.
const REPAIRED: &str = "ClusterIPNotAllocated";
static NO_EVENTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"Events:\n +Type .*\n +-.*\z").unwrap());

fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // Keys of managed fields, which name owners by their uid.
            let waits = fields.get("retryAfterSeconds").and_then(Value::as_u64);
            if waits.is_some_and(|seconds| (1..=3).contains(&seconds))
                && fields
                    .get("causes")
                    .is_some_and(|causes| causes[0]["reason"] == TOO_LARGE)
            {
                fields.insert("retryAfterSeconds".to_owned(), json!(SOME));
            }
            let whole = std::mem::take(fields).into_iter();
            *fields = whole.map(|(key, value)| (cleaned(&key), value)).collect();
            for (key, value) in fields {
                if matches!(key.as_str(), "nodePort" | "healthCheckNodePort") && value.is_number()
                    || BUILD.contains(&key.as_str())
                {
                    *value = json!(SOME);
                } else if OWN.contains(&key.as_str()) {
                    hide(value);
                } else {
                    clean(value);
                }
                if let (true, Value::Array(items)) = (UNORDERED.contains(&key.as_str()), value) {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::String(text) => {
            *text = cleaned(text);
            sort_faults(text);
        }
        _ => {}
    }
}

/// JSON that a message quotes, whose fields the real server writes in the order of its source.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"Invalid value: ("\{(?:[^"\\]|\\.)*")"#).unwrap());

fn cleaned(text: &str) -> String {
    let sorted = QUOTED.replace_all(text, |found: &regex::Captures<'_>| {
        let quoted = serde_json::from_str::<String>(&found[1]).ok();
        let value = quoted.and_then(|quoted| serde_json::from_str::<Value>(&quoted).ok());
        let Some(mut value) = value else {
            return found[0].to_owned();
        };
        clean(&mut value);
        format!("Invalid value: {}", json!(value.to_string()))
    });
    let mut text = sorted.into_owned();
    for (pattern, place) in CLEANED.iter() {
        text = pattern.replace_all(&text, *place).into_owned();
    }
    text
}

/// The faults that a message lists come in no order where the real server walks a map.
fn sort_faults(text: &mut String) {
    // It walks an applied object in no order, too, and no further than the first field that it does not know.
    const UNKNOWN: &str = "field not declared in schema";
    const TYPED: &str = "failed to create typed patch object (";
    if let Some((head, faults)) = text.split_once("): ").filter(|(head, _)| head.starts_with(TYPED))
        && faults.contains(UNKNOWN)
    {
        let unknown: Vec<&str> = faults
            .lines()
            .filter(|line| line.contains(UNKNOWN))
            .map(str::trim)
            .collect();
        *text = format!("{head}): {}", unknown.join("; "));
    }
    if let Some((head, faults)) = text.split_once(" is invalid: [")
        && let Some(faults) = faults.strip_suffix(']')
    {
        let mut parts: Vec<&str> = faults.split(", ").collect();
        parts.sort_unstable();
        *text = format!("{head} is invalid: [{}]", parts.join(", "));
    }
    if let Some((head, faults)) = text.split_once(": errors:\n") {
        let mut parts: Vec<&str> = faults.split('\n').collect();
        parts.sort_unstable();
        *text = format!("{head}: errors:\n{}", parts.join("\n"));
    }
}

/// Something is there; what it is, is its server's business.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() || text == "None" => {}
        Value::String(_) => *value = json!(SOME),
        Value::Array(items) => items.iter_mut().for_each(hide),
        other => clean(other),
    }
}

#[test]
fn a_uid_is_no_age() {
    let printed = printed("  UID:  0455130d-3e78-4112-9e7b-0bf455130d61\nfoo  Active  5m3s\nabc-2d4s5\n");
    assert_eq!(printed, json!(["  UID: UID", "foo Active AGE", "abc-XXXXX"]));
}
