//! Reading what a request brings.

use super::deadline;
use crate::protobuf;
use crate::status::ApiError;
use crate::types::{self, Fault, Type, json_kind};
use crate::yaml;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::time::Duration;

/// The most that a body may have, as in the real server.
const LIMIT: usize = 3 << 20;

/// What objects may be written in.
const OBJECT_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Reads a body whole, up to the limit, and for no longer than that: what came of it by then is dropped, and the connection with it.
pub(super) async fn read(body: Incoming, most: Duration) -> Result<Bytes, ApiError> {
    let whole = tokio::time::timeout(most, Limited::new(body, LIMIT).collect()).await;
    match whole.map_err(|_| deadline::passed())? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
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

/// An object that a request brings, and what a strict decoder holds against it as a text.
#[derive(Debug, Default)]
pub(super) struct Brought {
    pub(super) object: Value,
    pub(super) strict_errors: Vec<String>,
}

/// Reads an object of a kind, which is custom or not: custom ones know no protobuf.
pub(super) fn object(
    headers: &HeaderMap,
    body: &[u8],
    kind: &str,
    custom: bool,
) -> Result<Brought, ApiError> {
    brought(headers, body, custom).map_err(|refusal| match refusal {
        Refusal::Type(error) => error,
        Refusal::Text(why) => {
            let text = excerpt(body);
            ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({text})"
            ))
        }
    })
}

/// Reads options that a request brings.
pub(super) fn options(headers: &HeaderMap, body: &[u8], custom: bool) -> Result<Value, ApiError> {
    let brought = brought(headers, body, custom).map_err(|refusal| match refusal {
        Refusal::Type(error) => error,
        Refusal::Text(why) => ApiError::bad_request(why),
    })?;
    let mut options = brought.object;
    let (version, kind) = (
        options["apiVersion"].as_str().unwrap_or_default(),
        options["kind"].as_str().unwrap_or_default(),
    );
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(ApiError::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    for fault in types::check(&mut options, &Type::named("meta.v1.DeleteOptions"), true) {
        if let Fault::Mismatch(why) = fault {
            return Err(ApiError::bad_request(why));
        }
    }
    Ok(options)
}

enum Refusal {
    /// The media type is none of those that are read.
    Type(ApiError),
    /// The text is no object.
    Text(String),
}

fn brought(headers: &HeaderMap, body: &[u8], custom: bool) -> Result<Brought, Refusal> {
    let (value, strict_errors) = match media_type(headers).as_str() {
        "application/json" => {
            let decode = if custom {
                types::decode
            } else {
                types::decode_typed
            };
            let decoded = decode(body).map_err(|why| unreadable(&why))?;
            let duplicates = decoded.duplicates.iter();
            let duplicates = duplicates.map(|path| format!("duplicate field {path:?}"));
            (decoded.value, duplicates.collect())
        }
        "application/yaml" => {
            let text = std::str::from_utf8(body).map_err(|error| Refusal::Text(error.to_string()))?;
            let read = yaml::parse(text).map_err(Refusal::Text)?;
            (read.value, read.strict_errors)
        }
        "application/vnd.kubernetes.protobuf" if !custom => {
            let read = protobuf::read(body);
            (
                read.map_err(|why| Refusal::Type(ApiError::bad_request(why)))?,
                vec![],
            )
        }
        _ => {
            let accepted = if custom { &OBJECT_TYPES[..2] } else { OBJECT_TYPES };
            return Err(Refusal::Type(ApiError::unsupported_media_type(accepted)));
        }
    };
    let object = match value {
        // Go's decoder leaves an object as it is when it reads null.
        Value::Null => json!({}),
        Value::Object(_) => value,
        other => {
            let found = json_kind(&other);
            return Err(unreadable(&format!(
                "json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )));
        }
    };
    for name in ["apiVersion", "kind"] {
        if !matches!(object[name], Value::Null | Value::String(_)) {
            let found = json_kind(&object[name]);
            return Err(unreadable(&format!(
                "json: cannot unmarshal {found} into Go struct field .{name} of type string"
            )));
        }
    }
    Ok(Brought {
        object,
        strict_errors,
    })
}

fn unreadable(why: &str) -> Refusal {
    Refusal::Text(format!("couldn't get version/kind; json parse error: {why}"))
}

/// The beginning of a body, as refusals quote it: as it is where it looks like an object, else in hexadecimal digits.
fn excerpt(body: &[u8]) -> String {
    use std::fmt::Write as _;
    const MOST: usize = 30;
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
