//! Answers, in the form that was asked for.

use super::Broken;
use super::negotiate::{Encoding, Form, Shape};
use super::tables::{go_type, metadata_only, of_version, table};
use crate::kinds::Kind;
use crate::registry::{Listing, is_presented, present};
use crate::status::ApiError;
use crate::store::Object;
use crate::strategy;
use crate::yaml;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Broken>;
/// An answer.
pub type Answer = Response<Body>;

const JSON: &str = "application/json";
/// About as much as an object's kind and version take.
const HEAD: usize = 128;

/// An answer of bytes.
pub(crate) fn bytes(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(whole(body.into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// What the real server says where nothing is.
pub(crate) fn page_not_found() -> Answer {
    bytes(404, "text/plain; charset=utf-8", "404 page not found\n")
}

/// The same answer to somebody who asked for its head only.
pub(crate) fn without_body(answer: Answer) -> Answer {
    answer.map(|_| whole(Bytes::new()))
}

/// An answer whose body comes by and by.
pub(crate) fn stream(content_type: &'static str, body: Body) -> Answer {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// What the client should be warned of, beside the answer; once each.
pub(crate) fn warn(answer: &mut Answer, warnings: &[String]) {
    for warning in warnings {
        let text: String = warning
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\""))
            && !answer
                .headers()
                .get_all(WARNING)
                .iter()
                .any(|said| *said == value)
        {
            answer.headers_mut().append(WARNING, value);
        }
    }
}

/// The same, before all other warnings.
pub(crate) fn warn_first(answer: &mut Answer, warnings: &[String]) {
    let present: Vec<HeaderValue> = answer.headers().get_all(WARNING).iter().cloned().collect();
    answer.headers_mut().remove(WARNING);
    warn(answer, warnings);
    for warning in present {
        answer.headers_mut().append(WARNING, warning);
    }
}

/// A value, as it is.
pub(crate) fn value(code: u16, form: Form, value: &Value) -> Answer {
    match form.encoding {
        Encoding::Json => bytes(code, JSON, value.to_string()),
        Encoding::PrettyJson => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            bytes(code, JSON, text)
        }
        Encoding::Yaml => bytes(code, "application/yaml", yaml::write(value)),
    }
}

/// A refusal.
pub(crate) fn refusal(form: Form, error: &ApiError) -> Answer {
    let mut response = value(error.code, form, &error.status());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    warn(&mut response, &error.warnings);
    response
}

/// One object.
pub(crate) fn object(code: u16, form: Form, kind: &Kind, object: &Object) -> Answer {
    match form.shape {
        Shape::Objects if form.encoding == Encoding::Json => bytes(code, JSON, object_bytes(kind, object)),
        Shape::Objects => {
            let converted = present(kind, object.value());
            value(code, form, converted.as_ref().unwrap_or_else(|| object.value()))
        }
        Shape::Partial => value(code, form, &metadata_only(form, object.value())),
        Shape::PartialList => {
            let found = go_type(kind, false);
            let why = format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({found})"
            );
            refusal(form, &ApiError::new(406, "NotAcceptable", why))
        }
        Shape::Table => {
            let metadata = json!({ "resourceVersion": object.revision.to_string() });
            value(code, form, &table(form, kind, &[object.value()], &metadata, true))
        }
    }
}

/// An object as JSON, in the version of the kind.
pub(crate) fn object_bytes(kind: &Kind, object: &Object) -> Vec<u8> {
    let mut text = Vec::with_capacity(object.json().len() + HEAD);
    append_object(kind, object, &mut text);
    text
}

/// Appends an object as JSON, in the version of the kind.
pub(crate) fn append_object(kind: &Kind, object: &Object, text: &mut Vec<u8>) {
    if is_presented(kind)
        && let Some(shown) = present(kind, object.value())
    {
        text.extend(serde_json::to_vec(&shown).unwrap_or_default());
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

/// The fields of an object after those that are there, and the closing brace.
fn append_fields(text: &mut Vec<u8>, json: &[u8]) {
    if json.len() > 2 {
        text.push(b',');
        text.extend_from_slice(&json[1..]);
    } else {
        text.push(b'}');
    }
}

/// The metadata of an object, alone.
pub(crate) fn partial(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if object["kind"] == "DaemonSet" {
        strategy::hide_internal_annotations(&mut metadata);
    }
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// A list.
pub(crate) fn list(form: Form, kind: &Kind, listing: &Listing) -> Answer {
    let mut metadata = json!({ "resourceVersion": listing.revision.to_string() });
    // Lists of custom resources say it even where there is nothing to say.
    let says = kind.definition.is_some() && form.shape == Shape::Objects;
    if says || !listing.continue_token.is_empty() {
        metadata["continue"] = json!(listing.continue_token);
    }
    if let Some(remaining) = listing.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    // Lists of custom resources always say how they go on.
    if kind.definition.is_some() && form.shape == Shape::Objects {
        metadata["continue"] = json!(listing.continue_token);
    }
    match form.shape {
        Shape::Objects if form.encoding == Encoding::Json => {
            bytes(200, JSON, list_bytes(kind, listing, &metadata))
        }
        Shape::Objects => {
            let items: Vec<Value> = listing.objects.iter().map(|object| item(kind, object)).collect();
            let list = json!({
                "kind": kind.list_kind(), "apiVersion": kind.api_version(), "metadata": metadata, "items": items,
            });
            value(200, form, &list)
        }
        Shape::Partial => {
            let found = go_type(kind, true);
            let why =
                format!("you requested PartialObjectMetadata, but the requested object is a list ({found})");
            refusal(form, &ApiError::new(406, "NotAcceptable", why))
        }
        Shape::PartialList => {
            let items: Vec<Value> = listing
                .objects
                .iter()
                .map(|object| metadata_only(form, object.value()))
                .collect();
            // Go's empty slice.
            let items = (!items.is_empty()).then_some(items);
            let mut list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items,
            });
            of_version(form, &mut list);
            value(200, form, &list)
        }
        Shape::Table => {
            let objects: Vec<&Value> = listing.objects.iter().map(|object| object.value()).collect();
            value(200, form, &table(form, kind, &objects, &metadata, true))
        }
    }
}

fn list_bytes(kind: &Kind, listing: &Listing, metadata: &Value) -> Vec<u8> {
    let head = format!(
        r#"{{"kind":"{}","apiVersion":"{}","metadata":{metadata},"items":["#,
        kind.list_kind(),
        kind.api_version()
    );
    let mut text = head.into_bytes();
    let json = |object: &std::sync::Arc<Object>| object.json().len() + HEAD;
    text.reserve(listing.objects.iter().map(json).sum());
    for (at, object) in listing.objects.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        if kind.definition.is_some() {
            append_object(kind, object, &mut text);
        } else if is_presented(kind) {
            text.extend_from_slice(item(kind, object).to_string().as_bytes());
        } else {
            text.extend_from_slice(object.json());
        }
    }
    text.extend_from_slice(b"]}");
    text
}

/// Items of built-in lists do not say what they are; those of custom ones do.
fn item(kind: &Kind, object: &Object) -> Value {
    let converted = present(kind, object.value());
    let mut item = converted.unwrap_or_else(|| object.value().clone());
    if let (None, Value::Object(fields)) = (&kind.definition, &mut item) {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    item
}
