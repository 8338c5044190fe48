//! Warnings about deprecated kinds.

use crate::kinds::Kind;
use crate::render::{ApiResponse, respond};
use crate::status::ApiError;

/// The deprecation warning for Endpoints.
const ENDPOINTS_DEPRECATION: &str =
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

/// The deprecation warning for ComponentStatuses.
const COMPONENTS_DEPRECATION: &str = "v1 ComponentStatus is deprecated in v1.19+";

/// Adds the deprecation warning of the kind, if any; errors carry it too.
pub(super) fn with_deprecation(
    kind: &Kind,
    response: Result<ApiResponse, ApiError>,
) -> Result<ApiResponse, ApiError> {
    let Some(warning) = deprecation(kind) else {
        return response;
    };
    let mut response = response.map_err(|error| error.with_warnings(std::slice::from_ref(&warning)))?;
    respond::prepend_warnings(&mut response, &[warning]);
    Ok(response)
}

/// Returns the deprecation warning of a kind, if it is deprecated.
pub(super) fn deprecation(kind: &Kind) -> Option<String> {
    match &kind.definition {
        Some(definition) => definition.version(&kind.version)?.deprecation.clone(),
        None => match (kind.group.as_str(), kind.plural.as_str()) {
            ("", "endpoints") => Some(ENDPOINTS_DEPRECATION.to_owned()),
            ("", "componentstatuses") => Some(COMPONENTS_DEPRECATION.to_owned()),
            _ => None,
        },
    }
}
