//! Responses, in the negotiated format.

use super::negotiate::{Encoding, JSON, PROTOBUF, Representation, ResponseFormat};
pub(crate) use super::warnings::{add_warnings, limit_warnings, prepend_warnings, with_warnings};

use super::representation::{go_type, metadata_only, scale_table, set_meta_version, table};
use crate::go_json;
use crate::kinds::Kind;
use crate::kinds::{convert::needs_conversion, to_request_version};
use crate::protobuf;
use crate::quote::quoted;
use crate::registry::Listing;
use crate::status::ApiError;
use crate::storage::Object;
use crate::types;
use crate::yaml;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, ConnectionAborted>;
/// A response.
pub type ApiResponse = Response<Body>;

/// Closes the connection without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionAborted;

impl fmt::Display for ConnectionAborted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection was aborted by a layer")
    }
}

impl std::error::Error for ConnectionAborted {}

/// The approximate length of an object's kind and apiVersion in JSON.
const TYPE_META_BYTES: usize = 128;

/// A response with the given bytes.
pub(crate) fn bytes(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> ApiResponse {
    let mut response = Response::new(full_body(body.into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A response without a body.
pub(crate) fn status(code: StatusCode) -> ApiResponse {
    let mut response = Response::new(full_body(Bytes::new()));
    *response.status_mut() = code;
    response
}

fn full_body(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// The 404 of kube-apiserver for a path without a route.
pub(crate) fn page_not_found() -> ApiResponse {
    text_error(404, "404 page not found\n")
}

/// The 503 of kube-apiserver for an extension server that is not available.
pub(crate) fn service_unavailable() -> ApiResponse {
    text_error(503, "service unavailable\n")
}

/// An error as a text, like that of Go's `http.Error`.
fn text_error(code: u16, text: impl Into<Bytes>) -> ApiResponse {
    let mut response = bytes(code, "text/plain; charset=utf-8", text);
    forbid_sniffing(&mut response);
    response
}

/// Forbids clients to guess the content type, as kube-apiserver does in some responses.
pub(crate) fn forbid_sniffing(response: &mut ApiResponse) {
    let value = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, value);
}

/// The 400 of Go's HTTP server for a request that it does not parse.
pub(crate) fn malformed_request() -> ApiResponse {
    let mut response = bytes(400, "text/plain; charset=utf-8", "400 Bad Request");
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The 500 of kube-apiserver for a path of resources that ends with a verb.
pub(crate) fn incomplete_path(path: &str) -> ApiResponse {
    let why = "failed to create RequestInfo: unable to determine kind and namespace from url";
    let text = format!("Internal Server Error: {}: {why}, {path}\n", quoted(path));
    // As kube-apiserver escapes it for HTML.
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text_error(500, text)
}

/// Removes the body, for a HEAD request.
pub(crate) fn without_body(response: ApiResponse) -> ApiResponse {
    response.map(|_| full_body(Bytes::new()))
}

/// A response with a streaming body.
pub(crate) fn stream(content_type: &'static str, body: Body) -> ApiResponse {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A response with a document; in JSON, its fields are in the order of its type. Documents are types that always serialize.
pub(crate) fn serialized(code: u16, format: ResponseFormat, document: &impl Serialize) -> ApiResponse {
    match format.encoding {
        Encoding::Json => bytes(code, JSON, document_json(document, false)),
        Encoding::PrettyJson => bytes(code, JSON, document_json(document, true)),
        Encoding::Yaml | Encoding::Protobuf => {
            value(code, format, &serde_json::to_value(document).unwrap_or_default())
        }
    }
}

/// Returns the JSON of a document: indented, or on a line.
pub(crate) fn document_json(document: &impl Serialize, pretty: bool) -> Vec<u8> {
    if pretty {
        return serde_json::to_vec_pretty(document).unwrap_or_default();
    }
    let mut line = serde_json::to_vec(document).unwrap_or_default();
    line.push(b'\n');
    line
}

/// A response with the given value. As in kube-apiserver, JSON ends with a newline unless it is indented.
pub(crate) fn value(code: u16, format: ResponseFormat, value: &Value) -> ApiResponse {
    match format.encoding {
        Encoding::Json => json_line(code, go_json::encode(value)),
        Encoding::PrettyJson => indented(code, value, go_json::type_of_kind(value)),
        Encoding::Yaml => bytes(code, "application/yaml", yaml::write(value)),
        Encoding::Protobuf => match protobuf::encode(value) {
            Ok(encoded) => bytes(code, PROTOBUF, encoded),
            Err(why) => json_line(500, go_json::encode(&ApiError::internal(why).status())),
        },
    }
}

/// A response with indented JSON, with the fields of objects in the order of their types.
pub(crate) fn indented(code: u16, value: &Value, ty: Option<&types::Type>) -> ApiResponse {
    bytes(code, JSON, go_json::encode_pretty(value, ty))
}

fn json_line(code: u16, mut json: Vec<u8>) -> ApiResponse {
    json.push(b'\n');
    bytes(code, JSON, json)
}

/// A response with the error as a Status.
pub(crate) fn error(format: ResponseFormat, error: &ApiError) -> ApiResponse {
    let mut response = value(error.code, format, &error.status());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    add_warnings(&mut response, &error.warnings);
    response
}

/// The response to a request whose deadline has passed. kube-apiserver writes it without negotiation, and without the kind.
pub(crate) fn timed_out(error: &ApiError) -> ApiResponse {
    let mut json = vec![];
    go_json::write_without_kind(&mut json, &error.status());
    json.push(b'\n');
    bytes(error.code, "text/plain; charset=utf-8", json)
}

/// A response with one object.
///
/// # Errors
///
/// 406 if the client requests a list.
pub(crate) fn object(
    code: u16,
    format: ResponseFormat,
    kind: &Kind,
    object: &Object,
) -> Result<ApiResponse, ApiError> {
    Ok(match format.representation {
        Representation::Objects if format.encoding == Encoding::Json => {
            json_line(code, object_bytes(kind, object))
        }
        Representation::Objects => {
            let converted = to_request_version(kind, object.value());
            value(code, format, converted.as_ref().unwrap_or_else(|| object.value()))
        }
        Representation::PartialMetadata => value(code, format, &metadata_only(format, object.value())),
        Representation::PartialMetadataList => return Err(not_a_list(kind)),
        Representation::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            value(
                code,
                format,
                &table(format, kind, &[object.value()], &metadata, true),
            )
        }
    })
}

/// The error for a list that is requested where there is one object.
fn not_a_list(kind: &Kind) -> ApiError {
    if kind.definition.is_some() {
        return ApiError::new(500, "", "content is not a list");
    }
    let found = go_type(kind, false);
    let why =
        format!("you requested PartialObjectMetadataList, but the requested object is not a list ({found})");
    ApiError::new(406, "NotAcceptable", why)
}

/// The error for an object that is requested where there is a list.
pub(crate) fn is_a_list(kind: &Kind) -> ApiError {
    let found = go_type(kind, true);
    let why = format!("you requested PartialObjectMetadata, but the requested object is a list ({found})");
    ApiError::new(406, "NotAcceptable", why)
}

/// A response with an object that is not stored, and has no Table.
///
/// # Errors
///
/// 406 if the client requests a list.
pub(crate) fn unstored(
    code: u16,
    format: ResponseFormat,
    kind: &Kind,
    object: &Value,
) -> Result<ApiResponse, ApiError> {
    match format.representation {
        Representation::PartialMetadata => Ok(value(code, format, &metadata_only(format, object))),
        Representation::PartialMetadataList => Err(not_a_list(kind)),
        Representation::Objects | Representation::Table => Ok(value(code, format, object)),
    }
}

/// A response with the scale of an object of a kind.
///
/// # Errors
///
/// 406 if the client requests a list.
pub(crate) fn scale(format: ResponseFormat, kind: &Kind, scale: &Value) -> Result<ApiResponse, ApiError> {
    let is_custom = kind.definition.is_some();
    let subresource = kind.subresource("scale");
    let scale_kind = subresource.map_or_else(|| kind.clone(), |scale| kind.for_subresource(scale));
    if format.representation == Representation::Table {
        let table = scale_table(format, &scale_kind, is_custom, scale);
        return Ok(value(200, format, &table));
    }
    unstored(200, format, &scale_kind, scale)
}

/// Returns an object as JSON, in the version of the kind.
pub(crate) fn object_bytes(kind: &Kind, object: &Object) -> Vec<u8> {
    let mut text = Vec::with_capacity(object.json().len() + TYPE_META_BYTES);
    append_object(kind, object, &mut text);
    text
}

/// Appends an object as JSON, in the version of the kind.
pub(crate) fn append_object(kind: &Kind, object: &Object, text: &mut Vec<u8>) {
    if needs_conversion(kind)
        && let Some(converted) = to_request_version(kind, object.value())
    {
        go_json::write(text, &converted, go_json::type_of_kind(&converted));
        return;
    }
    if kind.definition.is_some() {
        append_custom(kind, object, text);
        return;
    }
    text.extend_from_slice(br#"{"kind":""#);
    text.extend_from_slice(kind.kind.as_bytes());
    text.extend_from_slice(br#"","apiVersion":""#);
    if !kind.group.is_empty() {
        text.extend_from_slice(kind.group.as_bytes());
        text.push(b'/');
    }
    text.extend_from_slice(kind.version.as_bytes());
    text.push(b'"');
    append_fields(text, object.json());
}

/// Appends a custom resource, whose fields are in the order of their names.
fn append_custom(kind: &Kind, object: &Object, text: &mut Vec<u8>) {
    let json = object.json();
    let first_field = json.get(2..).unwrap_or_default();
    // Most have no field before `metadata`.
    if !json.starts_with(b"{\"") || first_field > b"kind".as_slice() {
        let head = format!(
            r#"{{"apiVersion":"{}","kind":"{}""#,
            kind.api_version(),
            kind.kind
        );
        text.extend_from_slice(head.as_bytes());
        append_fields(text, json);
        return;
    }
    let mut value = object.value_once().into_owned();
    value["apiVersion"] = json!(kind.api_version());
    value["kind"] = json!(kind.kind);
    go_json::write(text, &value, None);
}

/// Appends the fields of an object after earlier fields, and the closing brace.
fn append_fields(text: &mut Vec<u8>, json: &[u8]) {
    if json.len() > 2 {
        text.push(b',');
        text.extend_from_slice(&json[1..]);
    } else {
        text.push(b'}');
    }
}

/// A response with a list.
///
/// # Errors
///
/// 406 if the client requests one object.
pub(crate) fn list(format: ResponseFormat, kind: &Kind, listing: &Listing) -> Result<ApiResponse, ApiError> {
    let mut metadata = json!({ "resourceVersion": listing.revision.to_string() });
    // Lists of custom resources contain `continue` even if it is empty.
    let has_continue = kind.definition.is_some() && format.representation == Representation::Objects;
    if has_continue || !listing.continue_token.is_empty() {
        metadata["continue"] = json!(listing.continue_token);
    }
    if let Some(remaining) = listing.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    Ok(match format.representation {
        Representation::Objects if format.encoding == Encoding::Json => {
            json_line(200, list_bytes(kind, listing, &metadata))
        }
        // One item after the other: their trees are larger than their JSON.
        Representation::Objects if format.encoding == Encoding::Protobuf => {
            let list =
                json!({ "kind": kind.list_kind(), "apiVersion": kind.api_version(), "metadata": metadata });
            let items = listing.objects.iter().map(|object| {
                let object = object.value_once();
                to_request_version(kind, &object).map_or(object, Cow::Owned)
            });
            match protobuf::encode_list(&list, items) {
                Ok(list) => bytes(200, PROTOBUF, list),
                Err(why) => return Err(ApiError::internal(why)),
            }
        }
        Representation::Objects => {
            let items: Vec<Value> = listing
                .objects
                .iter()
                .map(|object| list_item(kind, object))
                .collect();
            let list = json!({
                "kind": kind.list_kind(), "apiVersion": kind.api_version(), "metadata": metadata, "items": items,
            });
            value(200, format, &list)
        }
        Representation::PartialMetadata => return Err(is_a_list(kind)),
        Representation::PartialMetadataList => {
            let objects = listing.objects.iter().map(|object| object.value());
            value(200, format, &metadata_list(format, objects, &metadata))
        }
        Representation::Table => {
            let objects: Vec<&Value> = listing.objects.iter().map(|object| object.value()).collect();
            value(200, format, &table(format, kind, &objects, &metadata, true))
        }
    })
}

/// Returns the PartialObjectMetadataList of objects.
pub(crate) fn metadata_list<'a>(
    format: ResponseFormat,
    objects: impl Iterator<Item = &'a Value>,
    metadata: &Value,
) -> Value {
    let items: Vec<Value> = objects.map(|object| metadata_only(format, object)).collect();
    // A nil slice in Go.
    let items = (!items.is_empty()).then_some(items);
    let mut list = json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items,
    });
    set_meta_version(format, &mut list);
    list
}

fn list_bytes(kind: &Kind, listing: &Listing, metadata: &Value) -> Vec<u8> {
    let (list_kind, version, is_custom) = (kind.list_kind(), kind.api_version(), kind.definition.is_some());
    let mut list_metadata = vec![];
    let metadata_type = types::definition("meta.v1.ListMeta").filter(|_| !is_custom);
    go_json::write(&mut list_metadata, metadata, metadata_type);
    let list_metadata = String::from_utf8_lossy(&list_metadata);
    let (head, tail) = if is_custom {
        (
            format!(r#"{{"apiVersion":"{version}","items":["#),
            format!(r#"],"kind":"{list_kind}","metadata":{list_metadata}}}"#),
        )
    } else {
        (
            format!(
                r#"{{"kind":"{list_kind}","apiVersion":"{version}","metadata":{list_metadata},"items":["#
            ),
            "]}".to_owned(),
        )
    };
    let mut text = head.into_bytes();
    let json = |object: &std::sync::Arc<Object>| object.json().len() + TYPE_META_BYTES;
    text.reserve(listing.objects.iter().map(json).sum());
    for (at, object) in listing.objects.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        if is_custom {
            append_object(kind, object, &mut text);
        } else if needs_conversion(kind) {
            let item = to_request_version(kind, object.value());
            go_json::write_without_kind(&mut text, item.as_ref().unwrap_or_else(|| object.value()));
        } else {
            text.extend_from_slice(object.json());
        }
    }
    text.extend_from_slice(tail.as_bytes());
    text
}

/// Returns a list item. Items of built-in lists have no kind and apiVersion; those of custom resources do.
fn list_item(kind: &Kind, object: &Object) -> Value {
    let converted = to_request_version(kind, object.value());
    let mut item = converted.unwrap_or_else(|| object.value().clone());
    if let (None, Value::Object(fields)) = (&kind.definition, &mut item) {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    item
}
