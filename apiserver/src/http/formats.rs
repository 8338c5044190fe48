//! The formats in which resources are served.

use super::ServerState;
use crate::render::{self, Representation, ResponseFormat};
use crate::request::RequestInfo;
use crate::status::ApiError;
use http::HeaderMap;

/// Kinds whose statuses have no Tables.
const STATUSES_WITHOUT_TABLE: &[&str] = &[
    "APIService",
    "CustomResourceDefinition",
    "DeviceTaintRule",
    "PodGroup",
    "ResourceClaim",
    "ResourcePoolStatusRequest",
];

/// Checks the Accept header as the routes of built-in kinds do, before the handler negotiates. Custom resources have no routes.
pub(super) fn check_route(
    state: &ServerState,
    info: &RequestInfo,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    match render::check_route(headers, &render::MEDIA_TYPES) {
        Err(_) if is_custom(state, info) => Ok(()),
        checked => checked,
    }
}

/// Whether the resource is served in a format.
pub(super) fn has_format(state: &ServerState, info: &RequestInfo, format: ResponseFormat) -> bool {
    let is_table = format.representation == Representation::Table;
    if !is_table && !format.is_whole_protobuf() {
        return true;
    }
    let catalog = state.registry.catalog();
    let Some(kind) = catalog.resource(&info.group, &info.version, &info.resource) else {
        return true;
    };
    match (&kind.definition, info.subresource.as_str()) {
        (Some(_), _) => is_table,
        (None, _) if !is_table => true,
        (None, "") => kind.is_stored() || kind.is_virtual(),
        (None, "status") => !STATUSES_WITHOUT_TABLE.contains(&kind.kind.as_str()),
        (None, subresource) => subresource == "scale",
    }
}

/// Whether the request is for a custom resource.
fn is_custom(state: &ServerState, info: &RequestInfo) -> bool {
    let catalog = state.registry.catalog();
    let kind = catalog.resource(&info.group, &info.version, &info.resource);
    kind.is_some_and(|kind| kind.definition.is_some())
}
