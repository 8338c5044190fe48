//! Non-resource requests: discovery, version, health, metrics and OpenAPI.

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

/// Handles a non-resource request.
pub(crate) fn handle(
    state: &ServerState,
    parts: &Parts,
    query: &Query,
    info: &RequestInfo,
    form: ResponseFormat,
) -> ApiResponse {
    let catalog = state.registry.catalog();
    let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let aggregated = aggregated::is_accepted(accept.unwrap_or_default());
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let document = match path.as_slice() {
        [""] => Some(json!({ "paths": legacy::root_paths(&catalog) })),
        ["api"] if aggregated => return aggregated::document_response(&catalog, true),
        ["apis"] if aggregated => return aggregated::document_response(&catalog, false),
        ["api"] => Some(legacy::api_versions(&state.address())),
        ["api", version] => legacy::api_resource_list(&catalog, "", version),
        ["apis"] => Some(legacy::api_group_list(&catalog)),
        ["apis", group] => legacy::api_group(&catalog, group),
        ["apis", group, version] => legacy::api_resource_list(&catalog, group, version),
        ["version"] => Some(state.version.to_json()),
        ["openapi", ..] if info.path.ends_with('/') => None,
        ["openapi", rest @ ..] => {
            let version = &state.version.git_version;
            let response = openapi::respond(&catalog, version, rest, accept.unwrap_or_default());
            return response.unwrap_or_else(respond::page_not_found);
        }
        [root, subpath @ ..] if health::ENDPOINTS.contains(root) => {
            let document = health::respond(root, subpath, query).filter(|_| !info.path.ends_with('/'));
            return document.map_or_else(respond::page_not_found, |text| {
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
    match document {
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
            kind.group_resource()
        );
    }
    text
}
