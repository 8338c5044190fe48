//! Normalizes responses: replaces values that differ between any two servers.
//!
//! Uids and the resource versions of objects are numbered by their first appearance in a case, so that the comparison shows whether a write
//! changed an object and whether a uid is that of the object that was created before. Other such values are replaced by a placeholder, at
//! the places where they occur and nowhere else.

use crate::invalid::{self, PLACEHOLDER};
use crate::{printed_table, yaml};
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::LazyLock;

/// Fields with server-specific values. Only their presence is compared.
const SERVER_SPECIFIC_FIELDS: &[&str] = &[
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

static UID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b").unwrap());
/// A name that a server generated from the prefix `abc-`.
const GENERATED_NAME: &str = r"(?i)\babc-[a-z0-9]{5}\b";

/// Patterns of server-specific parts of texts, and their replacements.
static TEXT_REPLACEMENTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (GENERATED_NAME, "abc-XXXXX"),
        // The volume of a service account's token.
        (r"\bkube-api-access-[a-z0-9]{5}\b", "kube-api-access-XXXXX"),
        (r":[0-9]{5}/(TCP|UDP|SCTP)\b", ":PORT/$1"),
        (r"current: \d+", "current: N"),
        (r"larger than max \(\d+", "larger than max (N"),
        (r#"resourceVersion: "\d+""#, r#"resourceVersion: "N""#),
        (r"resource version: \d+ \(\d+\)", "resource version: N (N)"),
        (r"in record \(\d+\)", "in record (N)"),
        (
            r"ResourceVersion in object meta: \d+",
            "ResourceVersion in object meta: N",
        ),
        // Node ports that the server allocated.
        (r"Duplicate value: 3[0-2]\d{3}\b", "Duplicate value: PORT"),
        (r"nodePort: \{(\w+) \d+\}", "nodePort: {$1 PORT}"),
        (r"nodePort:3[0-2]\d{3}\b", "nodePort:PORT"),
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

/// Patterns in kubectl's output, and their replacements.
static OUTPUT_REPLACEMENTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (GENERATED_NAME, "abc-XXXXX"),
        (r"(?m)^eyJ[\w-]+\.[\w-]+\.[\w-]+$", "TOKEN"),
        (r#"continue": ?"[^"]+""#, "continue: ~"),
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
/// An address of the service network, which the server allocated.
static CLUSTER_IP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b10\.0\.\d+\.\d+\b").unwrap());

/// A resource version in kubectl's output.
static VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(resourceVersion"?: ?"|Resource Version: +)(\d+)"#).unwrap());
/// The addresses of a Service that kubectl describes.
static DESCRIBED_ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(IPs?: +)10\.0\.\d+\.\d+$").unwrap());

/// What the text of a field may contain.
#[derive(Clone, Copy, PartialEq)]
enum TextPlace {
    /// What the client sent, or what does not depend on the server.
    Field,
    /// A message, or a cell with an address: allocated addresses.
    Address,
    /// A cell with an age.
    Age,
}

impl TextPlace {
    /// Returns the place of a field's value.
    fn of_field(self, name: &str) -> Self {
        match name {
            "message" | "warnings" => Self::Address,
            _ => self,
        }
    }
}

/// Normalizes the responses of one server to one case. It remembers the numbers of uids and resource versions.
#[derive(Clone, Default)]
pub(crate) struct Normalizer {
    uids: Numbers,
    versions: Numbers,
    /// The columns of the last Table: only the first event of a watch names them.
    columns: Vec<String>,
}

/// Numbers texts by their first appearance.
#[derive(Clone, Default)]
struct Numbers(HashMap<String, usize>);

impl Numbers {
    fn number(&mut self, text: &str) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(text.to_owned()).or_insert(next)
    }
}

impl Normalizer {
    /// Normalizes a response body for the comparison.
    pub(crate) fn body(&mut self, mut value: Value) -> Value {
        // YAML is parsed, since line folding and quotes differ between YAML writers.
        if let Some(text) = value.as_str().filter(|text| text.starts_with("apiVersion: "))
            && let Some(read) = yaml::read(text)
        {
            value = json!({ "yaml": read });
        }
        self.normalize(&mut value, TextPlace::Field);
        value
    }

    /// Normalizes kubectl's output for the comparison, as a list of lines.
    pub(crate) fn kubectl_output(&mut self, text: &str) -> Value {
        let text = printed_table::clean(text);
        let text = DESCRIBED_ADDRESS.replace_all(&text, "${1}IP");
        let text = COLUMN_PADDING.replace_all(&text, "$1 ");
        let text = VERSION.replace_all(&text, |found: &Captures<'_>| {
            format!("{}VERSION-{}", &found[1], self.versions.number(&found[2]))
        });
        let mut text = self.number_uids(&text);
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

    fn normalize(&mut self, value: &mut Value, place: TextPlace) {
        match value {
            Value::Object(fields) => self.normalize_fields(fields, place),
            Value::Array(items) => items.iter_mut().for_each(|item| self.normalize(item, place)),
            Value::String(text) => {
                *text = self.normalize_text(text, place);
                sort_messages(text);
            }
            _ => {}
        }
    }

    fn normalize_fields(&mut self, fields: &mut Map<String, Value>, place: TextPlace) {
        let retry_after = fields.get("retryAfterSeconds").and_then(Value::as_u64);
        if retry_after.is_some_and(|seconds| (1..=3).contains(&seconds))
            && fields
                .get("causes")
                .is_some_and(|causes| causes[0]["reason"] == VERSION_TOO_LARGE)
        {
            fields.insert("retryAfterSeconds".to_owned(), json!(PLACEHOLDER));
        }
        invalid::normalize_status(fields);
        if let Some(columns) = fields.get("columnDefinitions").and_then(Value::as_array)
            && !columns.is_empty()
        {
            let names = columns.iter().filter_map(|column| column["name"].as_str());
            self.columns = names.map(str::to_owned).collect();
        }
        // Lists and bookmarks have versions too. On the real server they depend on writes of its own.
        let is_object = fields.contains_key("name");
        // Keys are normalized too: those of managedFields contain uids of owners.
        *fields = std::mem::take(fields)
            .into_iter()
            .map(|(key, value)| (self.normalize_text(&key, TextPlace::Field), value))
            .collect();
        for (key, value) in fields {
            match (key.as_str(), &mut *value) {
                ("nodePort" | "healthCheckNodePort", Value::Number(_)) => *value = json!(PLACEHOLDER),
                ("resourceVersion", Value::String(version)) if is_version(version) => {
                    *version = if is_object {
                        format!("VERSION-{}", self.versions.number(version))
                    } else {
                        PLACEHOLDER.to_owned()
                    };
                }
                ("cells", Value::Array(cells)) => self.normalize_cells(cells),
                (key, value) if BUILD_INFO_FIELDS.contains(&key) => *value = json!(PLACEHOLDER),
                (key, value) if SERVER_SPECIFIC_FIELDS.contains(&key) => {
                    self.replace_with_placeholder(value);
                }
                (key, value) => self.normalize(value, place.of_field(key)),
            }
            if let (true, Value::Array(items)) = (UNORDERED.contains(&key.as_str()), value) {
                items.sort_by_cached_key(Value::to_string);
            }
        }
    }

    fn normalize_cells(&mut self, cells: &mut [Value]) {
        for (at, cell) in cells.iter_mut().enumerate() {
            let place = match self.columns.get(at).map(String::as_str) {
                Some("Cluster-IP") => TextPlace::Address,
                // The name of an IPAddress.
                Some("Name") if cell.as_str().is_some_and(|name| name.parse::<Ipv4Addr>().is_ok()) => {
                    TextPlace::Address
                }
                Some(name) if !printed_table::is_age_column(name) => TextPlace::Field,
                // The age of an IPAddress has no column.
                _ => TextPlace::Age,
            };
            self.normalize(cell, place);
        }
    }

    fn normalize_text(&mut self, text: &str, place: TextPlace) -> String {
        let sorted = QUOTED_JSON.replace_all(text, |found: &Captures<'_>| {
            let quoted = serde_json::from_str::<String>(&found[1]).ok();
            let value = quoted.and_then(|quoted| serde_json::from_str::<Value>(&quoted).ok());
            let Some(mut value) = value else {
                return found[0].to_owned();
            };
            self.normalize(&mut value, place);
            format!("Invalid value: {}", json!(value.to_string()))
        });
        let mut text = self.number_uids(&sorted);
        for (pattern, replacement) in TEXT_REPLACEMENTS.iter() {
            text = pattern.replace_all(&text, *replacement).into_owned();
        }
        match place {
            TextPlace::Field => text,
            TextPlace::Address => CLUSTER_IP.replace_all(&text, "IP").into_owned(),
            TextPlace::Age => printed_table::clean_age(&text),
        }
    }

    fn number_uids(&mut self, text: &str) -> String {
        let numbered = UID.replace_all(text, |uid: &Captures<'_>| {
            format!("UID-{}", self.uids.number(&uid[0]))
        });
        numbered.into_owned()
    }

    /// Replaces a non-empty value with a placeholder.
    fn replace_with_placeholder(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.is_empty() || text == "None" => {}
            Value::String(_) => *value = json!(PLACEHOLDER),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.replace_with_placeholder(item)),
            other => self.normalize(other, TextPlace::Field),
        }
    }
}

/// Whether a server chose this resource version.
fn is_version(text: &str) -> bool {
    !["", "0"].contains(&text) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The reason of an event that the real server creates sporadically, when its cluster IP repair loop runs while an address is allocated.
const IP_REPAIR_EVENT: &str = "ClusterIPNotAllocated";
static NO_EVENTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"Events:\n +Type .*\n +-.*\z").unwrap());

/// JSON that a message quotes. The real server keeps the field order of its Go structs.
static QUOTED_JSON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"Invalid value: ("\{(?:[^"\\]|\\.)*")"#).unwrap());

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

#[test]
fn uids_and_versions_in_printed_text_are_numbered() {
    let mut normalizer = Normalizer::default();
    let uid = "0455130d-3e78-4112-9e7b-0bf455130d61";
    let text = format!(
        "  resourceVersion: \"7\"\n  uid: {uid}\n  \"resourceVersion\": \"9\",\nResource Version:  7\nabc-2d4s5\n"
    );
    assert_eq!(
        normalizer.kubectl_output(&text),
        json!([
            "  resourceVersion: \"VERSION-1\"",
            "  uid: UID-1",
            "  \"resourceVersion\": \"VERSION-2\",",
            "Resource Version: VERSION-1",
            "abc-XXXXX",
        ])
    );
}

#[test]
fn uids_and_versions_are_numbered_and_quantities_are_kept() {
    let mut normalizer = Normalizer::default();
    let object = |uid: &str, version: &str| json!({ "metadata": { "name": "a", "uid": uid, "resourceVersion": version }, "cpu": "67m" });
    let [one, other] = [
        "0455130d-3e78-4112-9e7b-0bf455130d61",
        "1455130d-3e78-4112-9e7b-0bf455130d61",
    ];
    let bodies = [(one, "7"), (one, "7"), (other, "9"), (one, "9")]
        .map(|(uid, version)| normalizer.body(object(uid, version)));
    let expected = [(1, 1), (1, 1), (2, 2), (1, 2)]
        .map(|(uid, version)| object(&format!("UID-{uid}"), &format!("VERSION-{version}")));
    assert_eq!(bodies, expected);
    let columns = ["Name", "CPU", "Age"].map(|name| json!({ "name": name }));
    let table = |version: &str, age: &str| json!({ "metadata": { "resourceVersion": version }, "columnDefinitions": columns, "rows": [{ "cells": ["10m", "67m", age] }] });
    assert_eq!(normalizer.body(table("12", "67m")), table("~", "AGE"));
    // Later events of a watch have no columns.
    let [row, cleaned] =
        ["5s", "AGE"].map(|age| json!({ "columnDefinitions": [], "rows": [{ "cells": ["5s", "5s", age] }] }));
    assert_eq!(normalizer.body(row), cleaned);
}
