//! AdmissionReview v1: bytes in, bytes out.

use std::{error::Error as StdError, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::future::BoxFuture;
use kube::core::Status;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    AdmissionError, AdmissionRequest, Defaulter, Operation, Validator,
    patch::{merged, patch},
    refusal::{Refusal, bad_request, missing, named, refusal, too_large},
    request::GroupVersionResource,
    sent_version::SentVersion,
};
use crate::{ApiResource, Kind, conversion::Converters};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The largest patch of a defaulter, in bytes. The API server takes requests of at most this size, and stores only smaller objects.
const MAX_PATCH_BYTES: usize = 3 << 20;

/// What a review was answered with, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AdmissionOutcome {
    Allowed,
    Denied,
}

/// A validator or defaulter of one kind, without its type. Cloning copies a pointer.
#[derive(Clone)]
pub(crate) struct AdmissionHandler(Arc<dyn Answer>);

trait Answer: Send + Sync {
    fn kind(&self) -> ApiResource;
    fn answer<'a>(&'a self, request: &'a ReviewedRequest<'_>) -> BoxFuture<'a, Result<Answered, Refusal>>;
}

/// The request of a review, in the version of the webhook.
struct ReviewedRequest<'a> {
    request: AdmissionRequest,
    /// The version in which the API server sent it, if that is another one.
    sent: Option<SentVersion<'a>>,
    /// Whether a refusal must not quote its object.
    is_sensitive: bool,
}

/// What a webhook says about a write that it allows.
#[derive(Default)]
struct Answered {
    warnings: Vec<String>,
    /// A JSON patch; empty if nothing changes.
    patch: Vec<u8>,
}

struct Validating<K, V>(V, std::marker::PhantomData<fn() -> K>);
struct Defaulting<K, D>(D, std::marker::PhantomData<fn() -> K>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<AdmissionRequest>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewResponse<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// An answered review.
#[derive(Debug)]
pub(crate) struct AnsweredReview {
    pub(crate) body: Vec<u8>,
    pub(crate) outcome: AdmissionOutcome,
    /// None if the review does not decode.
    pub(crate) operation: Option<Operation>,
}

/// Why a review has no answer: the API server applies the failure policy.
#[derive(Debug)]
pub(crate) struct ReviewFailure {
    pub(crate) operation: Operation,
    pub(crate) error: AdmissionError,
}

impl AdmissionHandler {
    pub(crate) fn validating<K: Kind>(validator: impl Validator<K>) -> Self {
        Self(Arc::new(Validating(validator, std::marker::PhantomData)))
    }

    pub(crate) fn defaulting<K: Kind + Serialize>(defaulter: impl Defaulter<K>) -> Self {
        Self(Arc::new(Defaulting(defaulter, std::marker::PhantomData)))
    }

    /// Answers an AdmissionReview, also of objects in another version that is converted. That an object of a sensitive kind does not decode is
    /// answered without quoting it.
    pub(crate) async fn review(
        &self,
        body: &[u8],
        is_sensitive: bool,
        converters: &Converters,
    ) -> Result<AnsweredReview, ReviewFailure> {
        let kind = self.0.kind();
        let (request, sent) = match decode_review(body).and_then(|mut request| {
            check_resource(&request.resource, &kind, converters)?;
            let sent = SentVersion::convert(&mut request, &kind, converters)?;
            Ok((request, sent))
        }) {
            Ok(decoded) => decoded,
            Err(message) => return Ok(answer(&uid_of(body), None, Err((&bad_request(message), &[])))),
        };
        let (operation, uid) = (request.operation, request.uid.clone());
        let reviewed = ReviewedRequest {
            request,
            sent,
            is_sensitive,
        };
        let answered = match self.0.answer(&reviewed).await {
            Ok(answered) => answer(&uid, Some(operation), Ok(&answered)),
            Err(Refusal::Denied(status, warnings)) => {
                answer(&uid, Some(operation), Err((&status, &warnings)))
            }
            Err(Refusal::Failed(error)) => return Err(ReviewFailure { operation, error }),
        };
        Ok(answered)
    }
}

impl<K: Kind, V: Validator<K>> Answer for Validating<K, V> {
    fn kind(&self) -> ApiResource {
        K::info()
    }

    fn answer<'a>(&'a self, reviewed: &'a ReviewedRequest<'_>) -> BoxFuture<'a, Result<Answered, Refusal>> {
        Box::pin(async move {
            let (validator, request) = (&self.0, &reviewed.request);
            let old = || -> Result<K, Refusal> {
                let old = request.old_object().map_err(Refusal::Failed)?;
                old.ok_or_else(|| missing("request.oldObject", request))
            };
            let validation = match request.operation {
                Operation::Create => validator.create(&object(reviewed)?, request).await,
                Operation::Update => validator.update(&object(reviewed)?, &old()?, request).await,
                Operation::Delete => validator.delete(&old()?, request).await,
            };
            let validation = validation.map_err(|error| refusal(error, request, &K::info()))?;
            let warnings = validation.warnings().to_vec();
            if validation.causes().is_empty() {
                return Ok(Answered {
                    warnings,
                    ..Answered::default()
                });
            }
            Err(refusal(validation.into(), request, &K::info()))
        })
    }
}

impl<K: Kind + Serialize, D: Defaulter<K>> Answer for Defaulting<K, D> {
    fn kind(&self) -> ApiResource {
        K::info()
    }

    fn answer<'a>(&'a self, reviewed: &'a ReviewedRequest<'_>) -> BoxFuture<'a, Result<Answered, Refusal>> {
        Box::pin(async move {
            let request = &reviewed.request;
            if request.operation == Operation::Delete {
                return Ok(Answered::default());
            }
            let mut object: K = object(reviewed)?;
            let serialized =
                |object: &K| serde_json::to_value(object).map_err(|error| Refusal::Failed(error.into()));
            let before = serialized(&object)?;
            let defaulted = self.0.set_defaults(&mut object, request).await;
            defaulted.map_err(|error| refusal(error, request, &K::info()))?;
            let raw = request.object().unwrap_or(&Value::Null);
            let after = serialized(&object)?;
            let patch = match &reviewed.sent {
                None => patch(raw, &before, &after),
                Some(_) if before == after => return Ok(Answered::default()),
                Some(sent) => sent
                    .patch(merged(raw, &before, &after))
                    .map_err(Refusal::Failed)?,
            };
            if patch.0.is_empty() {
                return Ok(Answered::default());
            }
            let patch = serde_json::to_vec(&patch).map_err(|error| Refusal::Failed(error.into()))?;
            if patch.len() > MAX_PATCH_BYTES {
                return Err(too_large(patch.len(), MAX_PATCH_BYTES, request, &K::info()));
            }
            Ok(Answered {
                patch,
                ..Answered::default()
            })
        })
    }
}

/// Decodes the object of a creation or an update.
fn object<K: Kind>(reviewed: &ReviewedRequest<'_>) -> Result<K, Refusal> {
    let request = &reviewed.request;
    let object = request
        .object()
        .ok_or_else(|| missing("request.object", request))?;
    K::deserialize(object).map_err(|error| {
        let kind = K::info();
        let problem = if reviewed.is_sensitive {
            "the reason is hidden because the kind is sensitive".to_owned()
        } else {
            with_path::<K>(object, &error)
        };
        let message = format!("{} cannot be decoded: {problem}", named(&kind, request));
        Refusal::Denied(Box::new(bad_request(message)), Vec::new())
    })
}

/// Decodes again, slower, to find the field.
fn with_path<T: DeserializeOwned>(value: &Value, error: &dyn StdError) -> String {
    match serde_path_to_error::deserialize::<_, T>(value) {
        Err(error) if error.path().iter().next().is_some() => format!("{}: {}", error.path(), error.inner()),
        _ => error.to_string(),
    }
}

fn decode_review(body: &[u8]) -> Result<AdmissionRequest, String> {
    let review: Review = serde_json::from_slice(body).map_err(|error| {
        let mut decoder = serde_json::Deserializer::from_slice(body);
        let problem = match serde_path_to_error::deserialize::<_, Review>(&mut decoder) {
            Err(error) if !error.inner().is_syntax() && !error.inner().is_eof() => {
                format!("{}: {}", error.path(), error.inner())
            }
            _ => error.to_string(),
        };
        format!("the body is no AdmissionReview: {problem}")
    })?;
    if (&*review.api_version, &*review.kind) != (API_VERSION, KIND) {
        return Err(format!(
            "expected apiVersion {API_VERSION} and kind {KIND}, got {:?} and {:?}",
            review.api_version, review.kind
        ));
    }
    review
        .request
        .ok_or_else(|| "request is missing in the AdmissionReview".to_owned())
}

/// The API server converts objects to a version of the rule, so another one is a mistake in the configuration.
fn check_resource(
    found: &GroupVersionResource,
    kind: &ApiResource,
    converters: &Converters,
) -> Result<(), String> {
    let GroupVersionResource {
        group,
        version,
        resource,
    } = found;
    let is_known = *version == kind.version || converters.converts(version, kind);
    if is_known && (&**group, &**resource) == (&*kind.group, &*kind.plural) {
        return Ok(());
    }
    Err(format!(
        "request.resource is {group}/{version} {resource}, and this webhook is for {}/{} {}: correct the rules of its configuration",
        kind.group, kind.version, kind.plural
    ))
}

/// The uid of a review that has no correct request, if there is one.
fn uid_of(body: &[u8]) -> String {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    review["request"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn answer(
    uid: &str,
    operation: Option<Operation>,
    answered: Result<&Answered, (&Status, &[String])>,
) -> AnsweredReview {
    let (status, patch, warnings) = match answered {
        Ok(Answered { warnings, patch }) => (None, &**patch, &**warnings),
        Err((status, warnings)) => (Some(status), &[][..], warnings),
    };
    let is_patched = !patch.is_empty();
    let patch = is_patched.then(|| BASE64_STANDARD.encode(patch));
    let review = ReviewResponse {
        api_version: API_VERSION,
        kind: KIND,
        response: Response {
            uid,
            allowed: status.is_none(),
            status,
            patch_type: is_patched.then_some("JSONPatch"),
            patch,
            warnings,
        },
    };
    AnsweredReview {
        // Texts and a list: serializing it does not fail.
        body: serde_json::to_vec(&review).unwrap_or_default(),
        outcome: match status {
            None => AdmissionOutcome::Allowed,
            Some(_) => AdmissionOutcome::Denied,
        },
        operation,
    }
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
