//! ConversionReview v1: bytes in, bytes out.

use prometheus_client::metrics::counter::Counter;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::converter::Converter;
use crate::{
    ApiResource,
    panics::{caught, caught_silently},
};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// The versions of all kinds that an operator converts.
#[derive(Default)]
pub struct Converters {
    kinds: Vec<Converter>,
    ignored_annotations: Counter,
}

/// Why a review has no response: the server answers with an error.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The body is not a review, or one of another version.
    #[error(
        "expected a {KIND} of {API_VERSION}, got {found}: send conversion reviews to this path, with \
         `conversionReviewVersions: [\"v1\"]` in the definition"
    )]
    NotAReview {
        /// What it is instead.
        found: String,
    },
    /// The body does not decode.
    #[error("the {KIND} does not decode: {reason}")]
    Undecodable {
        /// serde's message.
        reason: String,
    },
    /// It has a kind or version that this release does not convert. Another release may do so.
    #[error("{reason}")]
    UnknownVersion {
        /// The object, and what is known.
        reason: String,
    },
}

/// Why an object is not converted.
enum ObjectError {
    /// Its kind or a version is unknown.
    UnknownVersion(String),
    Failed(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest {
    uid: String,
    #[serde(rename = "desiredAPIVersion", default)]
    desired_api_version: String,
    #[serde(default)]
    objects: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedReview {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnsweredReview {
    api_version: &'static str,
    kind: &'static str,
    response: ReviewResponse,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewResponse {
    uid: String,
    converted_objects: Vec<Map<String, Value>>,
    result: ReviewResult,
}

#[derive(Serialize)]
struct ReviewResult {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Converters {
    pub(crate) fn new(kinds: impl IntoIterator<Item = Converter>) -> Self {
        Self {
            kinds: kinds.into_iter().collect(),
            ignored_annotations: Counter::default(),
        }
    }

    /// Whether there is nothing to convert, so that no server is needed.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The count of annotations that did not decode.
    pub(crate) fn ignored_annotations(&self) -> Counter {
        self.ignored_annotations.clone()
    }

    /// Answers a review: all its objects in the desired version, or a failure that names the object which cannot be converted, or which was
    /// the next one at the deadline.
    ///
    /// # Errors
    /// The body is not a ConversionReview v1, or has an unknown version.
    pub fn review(&self, body: &[u8], deadline: Instant) -> Result<Vec<u8>, ReviewError> {
        let undecodable = |error: serde_json::Error| ReviewError::Undecodable {
            reason: error.to_string(),
        };
        let review: RequestedReview = serde_json::from_slice(body).map_err(undecodable)?;
        if review.kind != KIND || review.api_version != API_VERSION {
            let found = format!("kind {:?} of {:?}", review.kind, review.api_version);
            return Err(ReviewError::NotAReview { found });
        }
        let Some(request) = review.request else {
            return Err(ReviewError::Undecodable {
                reason: "it has no `request`".to_owned(),
            });
        };
        let request: ReviewRequest = serde_json::from_value(request).map_err(undecodable)?;
        let uid = request.uid.clone();
        let (converted_objects, status, message) = match self.convert_all(request, deadline) {
            Ok(objects) => (objects, "Success", None),
            Err(ObjectError::Failed(message)) => (Vec::new(), "Failure", Some(message)),
            Err(ObjectError::UnknownVersion(reason)) => return Err(ReviewError::UnknownVersion { reason }),
        };
        let answer = AnsweredReview {
            api_version: API_VERSION,
            kind: KIND,
            response: ReviewResponse {
                uid,
                converted_objects,
                result: ReviewResult { status, message },
            },
        };
        serde_json::to_vec(&answer).map_err(undecodable)
    }

    /// Converts one object to a version with group. The error names the object.
    pub fn convert(&self, object: Value, desired_api_version: &str) -> Result<Map<String, Value>, String> {
        let converted = self.convert_named(object, desired_api_version);
        converted.map_err(|error| match error {
            ObjectError::UnknownVersion(reason) | ObjectError::Failed(reason) => reason,
        })
    }

    /// Whether objects of this version are converted to that of the resource.
    pub(crate) fn converts(&self, version: &str, resource: &ApiResource) -> bool {
        let mut kinds = self.kinds.iter();
        let converter = kinds.find(|converter| resource.is_version_of(&converter.info));
        converter.is_some_and(|converter| converter.knows(version) && converter.knows(&resource.version))
    }

    fn convert_named(&self, object: Value, desired: &str) -> Result<Map<String, Value>, ObjectError> {
        let Value::Object(object) = object else {
            let reason = "an object of the review is not a JSON object";
            return Err(ObjectError::Failed(reason.to_owned()));
        };
        let described = describe(&object);
        let named = |reason: String| {
            let reason = format!("converting {described} to {desired} failed: {reason}");
            tracing::warn!("{reason}");
            reason
        };
        let converted = self.convert_object(object, desired);
        converted.map_err(|error| match error {
            ObjectError::UnknownVersion(reason) => ObjectError::UnknownVersion(named(reason)),
            ObjectError::Failed(reason) => ObjectError::Failed(named(reason)),
        })
    }

    fn convert_all(
        &self,
        request: ReviewRequest,
        deadline: Instant,
    ) -> Result<Vec<Map<String, Value>>, ObjectError> {
        let (count, started) = (request.objects.len(), Instant::now());
        if count == 0 {
            return Err(ObjectError::Failed("the review has no objects".to_owned()));
        }
        let mut converted = Vec::with_capacity(count);
        for object in request.objects {
            // The API server waits no longer; without this, the thread would continue although its result is not used.
            if Instant::now() >= deadline {
                let next = object.as_object().map(describe).unwrap_or_default();
                return Err(ObjectError::Failed(format!(
                    "{} of {count} objects were converted in {:?}, and the API server waits no longer: the next one is {next}",
                    converted.len(),
                    started.elapsed()
                )));
            }
            converted.push(self.convert_named(object, &request.desired_api_version)?);
        }
        Ok(converted)
    }

    fn convert_object(
        &self,
        object: Map<String, Value>,
        desired: &str,
    ) -> Result<Map<String, Value>, ObjectError> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
        let kind = text("kind");
        let known = |converter: &&Converter| converter.info.group == group && converter.info.kind == kind;
        let Some(converter) = self.kinds.iter().find(known) else {
            let kinds = self.kinds.iter().map(|converter| converter.info.group_resource());
            let kinds: Vec<String> = kinds.collect();
            return Err(ObjectError::UnknownVersion(format!(
                "this operator does not convert the kind {kind:?} of group {group:?}, but {}",
                if kinds.is_empty() {
                    "no kind".to_owned()
                } else {
                    kinds.join(", ")
                }
            )));
        };
        let desired = match desired.split_once('/') {
            Some((desired_group, version)) if desired_group == group => version,
            _ => {
                let reason = format!("the desired version has another group than {group:?}");
                return Err(ObjectError::Failed(reason));
            }
        };
        if let Some(unknown) = [version, desired].into_iter().find(|name| !converter.knows(name)) {
            let known: Vec<&str> = converter.versions().collect();
            return Err(ObjectError::UnknownVersion(format!(
                "{kind} has no version {unknown:?}: the versions are {}",
                known.join(", ")
            )));
        }
        let from = version.to_owned();
        // A panic in the user's code is an error of this object.
        let convert = || converter.convert(object, &from, desired, &self.ignored_annotations);
        let result = if converter.is_sensitive() {
            caught_silently(convert).map_err(|_| {
                "the conversion panicked: the message is hidden because the kind is sensitive".to_owned()
            })
        } else {
            caught(convert).map_err(|panic| format!("the conversion panicked: {panic}"))
        };
        let result = result.and_then(|converted| converted.map_err(|error| error.to_string()));
        result.map_err(ObjectError::Failed)
    }
}

/// Kind, version, namespace and name of an object, as far as it has them.
fn describe(object: &Map<String, Value>) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let of_metadata = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let (namespace, name) = (of_metadata("namespace"), of_metadata("name"));
    let separator = if namespace.is_empty() { "" } else { "/" };
    format!(
        "{} {namespace}{separator}{name} ({})",
        text(object.get("kind")),
        text(object.get("apiVersion"))
    )
}
