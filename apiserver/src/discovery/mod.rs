//! Non-resource requests: discovery, version, health, metrics and OpenAPI.

mod aggregated;
mod health;
mod legacy;
mod openapi;
mod version;

pub use version::VersionInfo;

use crate::registry::Registry;
use crate::render::{ApiResponse, ResponseFormat, respond};
use crate::request::{Query, RequestInfo};
use http::header::ACCEPT;
use http::request::Parts;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write as _;

/// What the documents describe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedApi<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) version: &'a VersionInfo,
    /// Host and port of the server.
    pub(crate) address: &'a str,
}

/// Handles a non-resource request.
pub(crate) fn handle(
    served: ServedApi<'_>,
    parts: &Parts,
    query: &Query,
    info: &RequestInfo,
    form: ResponseFormat,
) -> ApiResponse {
    let catalog = served.registry.catalog();
    let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let aggregated = aggregated::is_accepted(accept.unwrap_or_default());
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let document = match path.as_slice() {
        [""] => Some(json!({ "paths": legacy::root_paths(&catalog) })),
        ["api"] if aggregated => return aggregated::document_response(&catalog, true),
        ["apis"] if aggregated => return aggregated::document_response(&catalog, false),
        ["api"] => return ordered(form, Some(legacy::api_versions(served.address))),
        ["api", version] => return ordered(form, legacy::api_resource_list(&catalog, "", version)),
        ["apis"] => return ordered(form, Some(legacy::api_group_list(&catalog))),
        ["apis", group] => return ordered(form, legacy::api_group(&catalog, group)),
        ["apis", group, version] => {
            return ordered(form, legacy::api_resource_list(&catalog, group, version));
        }
        ["version"] => Some(served.version.to_json()),
        ["openapi", ..] if info.path.ends_with('/') => None,
        ["openapi", rest @ ..] => {
            let version = &served.version.git_version;
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
                metrics(served.registry),
            );
        }
        _ => None,
    };
    match document {
        Some(value) => respond::value(200, form, &value),
        None => respond::page_not_found(),
    }
}

/// Responds with a document, with its fields in the order of its type.
fn ordered(form: ResponseFormat, document: Option<impl Serialize>) -> ApiResponse {
    match document {
        Some(document) => respond::serialized(200, form, &document),
        None => respond::page_not_found(),
    }
}

fn metrics(registry: &Registry) -> String {
    let mut text = String::from(
        "# HELP apiserver_storage_objects Number of stored objects at the time of last check split by kind.\n\
         # TYPE apiserver_storage_objects gauge\n",
    );
    for kind in registry.catalog().stored() {
        let count = registry.store.count(&kind.table());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "apiserver_storage_objects{{resource=\"{}\"}} {count}",
            kind.group_resource()
        );
    }
    text
}
