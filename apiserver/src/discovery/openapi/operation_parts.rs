//! The parts of operations: media types, query parameters, bodies and responses.

use super::parameters;
use crate::kinds::Kind;
use serde_json::{Map, Value, json};

pub(super) const OBJECT_TYPES: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
pub(super) const LIST_TYPES: &[&str] = &[
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
pub(super) const LOG_TYPES: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
    "text/plain",
];
pub(super) const CUSTOM_TYPES: &[&str] = &["application/json", "application/yaml"];
pub(super) const ANY_TYPE: &[&str] = &["*/*"];
pub(super) const PATCH_TYPES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

pub(super) const LIST_PARAMETERS: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
pub(super) const DELETE_PARAMETERS: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
pub(super) const WRITE_PARAMETERS: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
pub(super) const PATCH_PARAMETERS: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
pub(super) const DELETE_OPTIONS: &str = "meta.v1.DeleteOptions";

pub(super) fn object_types(kind: &Kind) -> &'static [&'static str] {
    if kind.definition.is_some() {
        CUSTOM_TYPES
    } else {
        OBJECT_TYPES
    }
}

pub(super) fn body_types(kind: &Kind) -> &'static [&'static str] {
    if kind.definition.is_some() {
        CUSTOM_TYPES
    } else {
        ANY_TYPE
    }
}

pub(super) fn with_pretty(section: &str, names: &[&str]) -> Vec<Value> {
    let names = names.iter().chain(&["pretty"]);
    names.map(|name| parameters::query(section, name)).collect()
}

pub(super) fn content(types: &[&str], schema: &Value) -> Value {
    let entries = types.iter();
    entries
        .map(|media_type| ((*media_type).to_owned(), json!({ "schema": schema })))
        .collect::<Map<_, _>>()
        .into()
}

pub(super) fn body(types: &[&str], schema: &Value, required: bool) -> Value {
    let mut body = json!({ "content": content(types, schema) });
    if required {
        body["required"] = json!(true);
    }
    body
}

pub(super) fn response(code: u16, types: &[&str], schema: &Value) -> Value {
    let description = match code {
        201 => "Created",
        202 => "Accepted",
        _ => "OK",
    };
    json!({ "description": description, "content": content(types, schema) })
}
