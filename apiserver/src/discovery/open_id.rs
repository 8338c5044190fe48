//! The documents by which other programs verify the tokens of service accounts (OpenID Connect Discovery): the configuration of the issuer, and
//! its keys.

use super::ServedApi;
use crate::render::{ApiResponse, check_route, respond};
use crate::status::ApiError;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderValue};
use serde_json::json;

/// The paths of the documents, with the media types that they have.
pub(super) const CONFIGURATION: (&str, &str) = ("/.well-known/openid-configuration", "application/json");
pub(super) const KEYS: (&str, &str) = ("/openid/v1/jwks", "application/jwk-set+json");

/// Returns the configuration of the issuer.
pub(super) fn configuration(served: ServedApi<'_>, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    // In the order of Go's fields.
    let document = format!(
        r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":{}}}"#,
        json!(served.accounts.issuer()),
        json!(format!("https://{}{}", served.address, KEYS.0)),
        json!(served.accounts.algorithms()),
    );
    public(CONFIGURATION.1, document, headers)
}

/// Returns the keys.
pub(super) fn keys(served: ServedApi<'_>, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    public(KEYS.1, served.accounts.public_keys().to_string(), headers)
}

/// A document that caches may keep for an hour.
fn public(media_type: &'static str, document: String, headers: &HeaderMap) -> Result<ApiResponse, ApiError> {
    check_route(headers, &[media_type])?;
    let mut response = respond::bytes(200, media_type, document);
    let value = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(CACHE_CONTROL, value);
    Ok(response)
}
