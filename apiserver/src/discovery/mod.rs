//! Non-resource requests: discovery, version, health, metrics and OpenAPI.

mod aggregated;
mod entity_tag;
mod extensions;
mod health;
mod legacy;
mod metrics;
mod open_id;
mod openapi;
mod version;

pub use version::VersionInfo;

use crate::auth::ServiceAccountTokens;
use crate::registry::{API_SERVICES, Registry};
use crate::render::{
    ApiResponse, JSON, MEDIA_TYPES, ResponseFormat, accept_header, check_route, is_browser, respond,
};
use crate::request::{Query, RequestInfo};
use crate::status::ApiError;
use crate::types;
use entity_tag::EntityTag;
use extensions::Extensions;
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use serde::Serialize;
use serde_json::json;

/// What the documents describe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedApi<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) accounts: &'a ServiceAccountTokens,
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
    error_format: ResponseFormat,
) -> ApiResponse {
    let catalog = served.registry.catalog();
    let headers = &parts.headers;
    let path: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    let is_core = path == ["api"];
    let extensions = || Extensions::load(served.registry);
    let pretty = query.flag("pretty");
    if (is_core || path == ["apis"])
        && let Some(encoding) = aggregated::negotiate(accept_header(headers), pretty || is_browser(headers))
    {
        if is_core && let Err(error) = check_route(headers, &MEDIA_TYPES) {
            return respond::error(error_format, &error);
        }
        // Read first, so that a later change of the groups gets another tag.
        let revision = served.registry.store.newest_change(API_SERVICES);
        let extensions = if is_core {
            Extensions::default()
        } else {
            extensions()
        };
        let revision = if extensions.is_empty() { 0 } else { revision };
        let tag = EntityTag::new(catalog.revision().wrapping_add(revision));
        let document = || aggregated::document_response(&catalog, &extensions, is_core, encoding);
        let mut response = tag.respond_to_exact_tag(headers, document);
        let public = HeaderValue::from_static("public");
        response.headers_mut().insert(CACHE_CONTROL, public);
        return response;
    }
    let routed = || ResponseFormat::of_document(headers, pretty, true);
    // The handlers of `/apis`, of groups and of custom kinds negotiate, but no route checks the media types before them.
    let unrouted = || ResponseFormat::of_document(headers, pretty, false);
    let document = match path.as_slice() {
        [""] => Some(json!({ "paths": legacy::root_paths(&catalog) })),
        ["api"] => return ordered(routed(), Some(legacy::api_versions(served.address))),
        ["api", version] => return ordered(routed(), legacy::api_resource_list(&catalog, "", version)),
        ["apis"] => return ordered(unrouted(), Some(legacy::api_group_list(&catalog, &extensions()))),
        ["apis", group] => return ordered(unrouted(), legacy::api_group(&catalog, &extensions(), group)),
        ["apis", group, version] if served.registry.has_extension_server(group, version) => {
            return respond::service_unavailable();
        }
        ["apis", group, version] => {
            let is_custom = catalog.group(group).iter().any(|kind| kind.definition.is_some());
            let format = if is_custom { unrouted() } else { routed() };
            return ordered(format, legacy::api_resource_list(&catalog, group, version));
        }
        ["version"] => {
            return match check_route(headers, &[JSON]) {
                Ok(()) => {
                    let ty = types::definition("pkg.version.Info");
                    respond::indented(200, &served.version.to_json(), ty)
                }
                Err(error) => respond::error(error_format, &error),
            };
        }
        [".well-known", "openid-configuration"] => {
            return open_id::configuration(served, headers)
                .unwrap_or_else(|error| respond::error(error_format, &error));
        }
        ["openid", "v1", "jwks"] => {
            return open_id::keys(served, headers)
                .unwrap_or_else(|error| respond::error(error_format, &error));
        }
        ["openapi", ..] if info.path.ends_with('/') => None,
        ["openapi", rest @ ..] => {
            let version = served.version.emulated();
            let response = openapi::respond(&catalog, &version, rest, query, headers);
            return response.unwrap_or_else(respond::page_not_found);
        }
        [root, subpath @ ..] if health::ENDPOINTS.contains(root) => {
            let document = health::respond(root, subpath, query).filter(|_| !info.path.ends_with('/'));
            return document.map_or_else(respond::page_not_found, |text| {
                let mut response = respond::bytes(200, "text/plain; charset=utf-8", text);
                // The checks are handlers of their own.
                if subpath.is_empty() {
                    respond::forbid_sniffing(&mut response);
                }
                response
            });
        }
        ["metrics"] => return prometheus(metrics::text(served.registry)),
        ["metrics", "slis"] => return prometheus(metrics::slis()),
        _ => None,
    };
    match document {
        // The paths have no other encoding.
        Some(value) => respond::indented(200, &value, None),
        None => respond::page_not_found(),
    }
}

/// Responds with metrics.
fn prometheus(text: String) -> ApiResponse {
    respond::bytes(
        200,
        "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
        text,
    )
}

/// Responds with a document, with its fields in the order of its type.
fn ordered(format: Result<ResponseFormat, ApiError>, document: Option<impl Serialize>) -> ApiResponse {
    match (document, format) {
        (Some(document), Ok(format)) => respond::serialized(200, format, &document),
        // An error is in JSON where a route or the handler did not find a media type.
        (Some(_), Err(error)) => respond::error(ResponseFormat::DEFAULT, &error),
        (None, _) => respond::page_not_found(),
    }
}
