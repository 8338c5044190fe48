//! Reading and decoding of request bodies.

use crate::kinds::Kind;
use crate::protobuf;
use crate::quote::quoted;
use crate::status::ApiError;
use crate::types::{self, DecodeError, Type, json_kind};
use crate::yaml;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};

/// The size limit of a request body, as in kube-apiserver.
const MAX_BODY_BYTES: usize = 3 << 20;

/// Media types of request bodies. Custom resources accept the first two.
const OBJECT_MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Reads the whole body, within the size limit.
pub(crate) async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {MAX_BODY_BYTES}"),
        )),
        Err(error) => Err(ApiError::bad_request(format!("the body cannot be read: {error}"))),
    }
}

/// Returns the media type of a body without parameters; JSON if the header is missing.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let text = text
        .as_deref()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match text.trim() {
        "" => "application/json".to_owned(),
        text => text.to_lowercase(),
    }
}

/// Whether the parameters of a body's media type have names and values.
fn has_valid_parameters(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let parameters = text.unwrap_or_default().split(';').skip(1);
    let mut parameters = parameters
        .map(str::trim)
        .filter(|parameter| !parameter.is_empty());
    parameters.all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        !name.is_empty() && !name.contains(char::is_whitespace) && !value.is_empty()
    })
}

/// A decoded request body, and the errors that strict decoding of its text would report.
#[derive(Debug, Default)]
pub(crate) struct DecodedBody {
    pub(crate) object: Value,
    pub(crate) strict_errors: Vec<String>,
}

/// Decodes a body as an object of a kind. Custom resources do not accept protobuf.
pub(crate) fn decode_object(headers: &HeaderMap, body: &[u8], kind: &Kind) -> Result<DecodedBody, ApiError> {
    let custom = kind.definition.is_some();
    let ty = types::builtin(&kind.api_version(), &kind.kind).filter(|_| !custom);
    let kind = &kind.kind;
    decode(headers, body, custom, ty).map_err(|error| match error {
        DecodeBodyError::MediaType(error) => error,
        DecodeBodyError::Malformed(why) => {
            let text = excerpt(body);
            ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({text})"
            ))
        }
    })
}

/// Decodes a body as DeleteOptions.
pub(crate) fn decode_options(headers: &HeaderMap, body: &[u8]) -> Result<Value, ApiError> {
    let decoded = decode(headers, body, false, None).map_err(|error| match error {
        DecodeBodyError::MediaType(error) => error,
        DecodeBodyError::Malformed(why) => ApiError::bad_request(why),
    })?;
    let mut options = decoded.object;
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
        if let DecodeError::Mismatch(why) = fault {
            return Err(ApiError::bad_request(why));
        }
    }
    Ok(options)
}

enum DecodeBodyError {
    /// The media type is not supported.
    MediaType(ApiError),
    /// The text is not an object.
    Malformed(String),
}

/// Without a type, all duplicate fields are strict errors.
fn decode(
    headers: &HeaderMap,
    body: &[u8],
    custom: bool,
    ty: Option<&Type>,
) -> Result<DecodedBody, DecodeBodyError> {
    // Go reads nothing of a media type with invalid parameters.
    let media_type = Some(media_type(headers)).filter(|_| has_valid_parameters(headers));
    let (value, strict_errors) = match media_type.unwrap_or_default().as_str() {
        "application/json" => {
            let decode = if custom {
                types::decode
            } else {
                types::decode_typed
            };
            let decoded = decode(body).map_err(|why| json_parse_error(&why))?;
            let is_seen = |path: &&String| ty.is_none_or(|ty| !types::is_within_custom_decoder(path, ty));
            let duplicates = decoded.duplicates.iter().filter(is_seen);
            let duplicates = duplicates.map(|path| format!("duplicate field {}", quoted(path)));
            (decoded.value, duplicates.collect())
        }
        "application/yaml" => {
            let text =
                std::str::from_utf8(body).map_err(|error| DecodeBodyError::Malformed(error.to_string()))?;
            let read = yaml::parse(text).map_err(DecodeBodyError::Malformed)?;
            (read.value, read.strict_errors)
        }
        "application/vnd.kubernetes.protobuf" if !custom => {
            let read = protobuf::decode(body);
            (
                read.map_err(|why| DecodeBodyError::MediaType(ApiError::bad_request(why)))?,
                vec![],
            )
        }
        _ => {
            let accepted = if custom {
                &OBJECT_MEDIA_TYPES[..2]
            } else {
                OBJECT_MEDIA_TYPES
            };
            return Err(DecodeBodyError::MediaType(ApiError::unsupported_media_type(
                accepted,
            )));
        }
    };
    let object = match value {
        // Go's decoder leaves the target unchanged when it decodes null.
        Value::Null => json!({}),
        Value::Object(_) => value,
        other => {
            let found = json_kind(&other);
            return Err(json_parse_error(&format!(
                "json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )));
        }
    };
    for name in ["apiVersion", "kind"] {
        if !matches!(object[name], Value::Null | Value::String(_)) {
            let found = json_kind(&object[name]);
            return Err(json_parse_error(&format!(
                "json: cannot unmarshal {found} into Go struct field .{name} of type string"
            )));
        }
    }
    Ok(DecodedBody {
        object,
        strict_errors,
    })
}

fn json_parse_error(why: &str) -> DecodeBodyError {
    DecodeBodyError::Malformed(format!("couldn't get version/kind; json parse error: {why}"))
}

/// Returns the start of a body as kube-apiserver quotes it in errors: verbatim if it starts like a JSON object, else in hexadecimal.
pub(crate) fn excerpt(body: &[u8]) -> String {
    use std::fmt::Write as _;
    const MAX_EXCERPT_BYTES: usize = 30;
    let head = &body[..body.len().min(MAX_EXCERPT_BYTES)];
    let mut text = String::new();
    match body.first() {
        None => text.push_str("<empty>"),
        Some(b'{') => text.push_str(&String::from_utf8_lossy(head)),
        // Writing to a string cannot fail.
        Some(_) => head.iter().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        }),
    }
    if body.len() > MAX_EXCERPT_BYTES {
        text + " ..."
    } else {
        text
    }
}
