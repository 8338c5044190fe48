//! What is no resource: discovery, the version, health, metrics, OpenAPI.

mod aggregated;
mod health;
mod legacy;
mod openapi;

use crate::http::{ApiResponse, Query, RequestInfo, ResponseFormat, respond};
use crate::server::ServerState;
use http::header::ACCEPT;
use http::request::Parts;
use serde_json::json;
use std::fmt::Write as _;

/// Answers a request about no resource.
pub(crate) fn answer(
    state: &ServerState,
    parts: &Parts,
    query: &Query,
    info: &RequestInfo,
    form: ResponseFormat,
) -> ApiResponse {
    let catalog = state.registry.catalog();
    let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let aggregated = aggregated::wanted(accept.unwrap_or_default());
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let found = match path.as_slice() {
        [""] => Some(json!({ "paths": legacy::paths(&catalog) })),
        ["api"] if aggregated => return aggregated::answer(&catalog, true),
        ["apis"] if aggregated => return aggregated::answer(&catalog, false),
        ["api"] => Some(legacy::versions(&state.address())),
        ["api", version] => legacy::resources(&catalog, "", version),
        ["apis"] => Some(legacy::groups(&catalog)),
        ["apis", group] => legacy::group(&catalog, group),
        ["apis", group, version] => legacy::resources(&catalog, group, version),
        ["version"] => Some(state.version.to_json()),
        ["openapi", "v3"] => Some(openapi::index(&catalog)),
        ["openapi", "v3", "api", version] => openapi::document(&catalog, "", version),
        ["openapi", "v3", "apis", group, version] => openapi::document(&catalog, group, version),
        ["openapi", "v2"] => Some(openapi::version_2(&state.version.git_version)),
        [root, below @ ..] if health::ROOTS.contains(root) => {
            let found = health::answer(root, below, query).filter(|_| !info.path.ends_with('/'));
            return found.map_or_else(respond::page_not_found, |text| {
                respond::bytes(200, "text/plain; charset=utf-8", text)
            });
        }
        ["metrics"] => {
            return respond::bytes(
                200,
                "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
                metrics(state),
            );
        }
        _ => None,
    };
    match found {
        Some(value) => respond::value(200, form, &value),
        None => respond::page_not_found(),
    }
}

fn metrics(state: &ServerState) -> String {
    let mut text = String::from(
        "# HELP apiserver_storage_objects Number of stored objects at the time of last check split by kind.\n\
         # TYPE apiserver_storage_objects gauge\n",
    );
    for kind in state.registry.catalog().stored() {
        let count = state.registry.store.count(&kind.table());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "apiserver_storage_objects{{resource=\"{}\"}} {count}",
            kind.qualified()
        );
    }
    text
}
