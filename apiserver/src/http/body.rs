//! Reading what a request brings.

use crate::protobuf;
use crate::status::ApiError;
use crate::yaml;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

/// The most that a body may have, as in the real server.
const LIMIT: usize = 3 << 20;

/// What objects may be written in.
const OBJECT_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Reads a body whole, up to the limit.
pub(super) async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    match Limited::new(body, LIMIT).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::generic(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {LIMIT}"),
        )),
        Err(error) => Err(ApiError::bad_request(format!("the body cannot be read: {error}"))),
    }
}

/// The media type of a body, without parameters; JSON where nothing is said.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let text = text.unwrap_or_default().split(';').next().unwrap_or_default();
    match text.trim() {
        "" => "application/json".to_owned(),
        text => text.to_lowercase(),
    }
}

/// Reads an object of a kind, which is custom or not: custom ones know no protobuf.
pub(super) fn object(headers: &HeaderMap, body: &[u8], kind: &str, custom: bool) -> Result<Value, ApiError> {
    let value = match media_type(headers).as_str() {
        "application/json" => serde_json::from_slice(body).map_err(|error| unreadable(kind, body, &error)),
        "application/yaml" => match std::str::from_utf8(body) {
            Ok(text) => yaml::read(text).map_err(|error| ApiError::bad_request(error.to_string())),
            Err(error) => Err(ApiError::bad_request(error.to_string())),
        },
        "application/vnd.kubernetes.protobuf" if !custom => {
            protobuf::read(body).map_err(ApiError::bad_request)
        }
        _ if custom => Err(ApiError::unsupported_media_type(&OBJECT_TYPES[..2])),
        _ => Err(ApiError::unsupported_media_type(OBJECT_TYPES)),
    }?;
    if value.is_object() {
        return Ok(value);
    }
    let text = excerpt(body);
    Err(ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: json: cannot \
         unmarshal {} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }} ({text})",
        match value {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        }
    )))
}

fn unreadable(kind: &str, body: &[u8], error: &serde_json::Error) -> ApiError {
    let why = if error.is_eof() {
        "unexpected end of JSON input".to_owned()
    } else {
        error.to_string()
    };
    let text = excerpt(body);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why} ({text})"
    ))
}

/// The beginning of a body, as refusals quote it: as it is where it looks like an object, else in hexadecimal digits.
fn excerpt(body: &[u8]) -> String {
    use std::fmt::Write as _;
    const MOST: usize = 1024;
    let head = &body[..body.len().min(MOST)];
    let mut text = String::new();
    match body.first() {
        None => text.push_str("<empty>"),
        Some(b'{') => text.push_str(&String::from_utf8_lossy(head)),
        // Writing to a string cannot fail.
        Some(_) => head.iter().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        }),
    }
    if body.len() > MOST { text + " ..." } else { text }
}
