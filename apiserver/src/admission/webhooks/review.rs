//! AdmissionReviews: what a webhook is sent, and what it must return.

use super::WebhookContext;
use super::hook::Hook;
use crate::admission::hook_request::{HookRequest, HookTarget};
use crate::meta;
use crate::quote::quoted;
use crate::request::timeout::timeout_error;
use crate::status::ApiError;
use crate::webhook_client::PendingCall;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::time::Instant;

/// The only patch type.
const JSON_PATCH: &str = "JSONPatch";

/// Why a webhook did not admit a request.
pub(super) enum HookError {
    /// The webhook could not be called, or its response is invalid: the failure policy decides.
    Failed(String),
    /// The webhook, or the server, refuses the request.
    Refused(ApiError),
}

impl HookError {
    /// The error of a request that is refused, or None if the failure policy ignores the failure.
    pub(super) fn refusal(self, hook: &Hook) -> Option<ApiError> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Failed(why) if hook.fails_closed => Some(ApiError::internal(why)),
            Self::Failed(_) => None,
        }
    }

    pub(super) fn failed(hook: &Hook, why: impl std::fmt::Display) -> Self {
        Self::Failed(format!("failed calling webhook {}: {why}", quoted(&hook.name)))
    }
}

/// A review that was sent to a webhook.
pub(super) struct PendingReview {
    uid: String,
    version: String,
    call: PendingCall,
}

impl PendingReview {
    /// Sends a review about an object in the target's version.
    pub(super) fn send(
        hook: &Hook,
        request: &HookRequest<'_>,
        target: &HookTarget,
        object: Option<&Value>,
        context: &WebhookContext<'_>,
    ) -> Result<Self, HookError> {
        if request.dry_run && !matches!(hook.side_effects.as_str(), "None" | "NoneOnDryRun") {
            let why = format!(
                "admission webhook {} does not support dry run",
                quoted(&hook.name)
            );
            return Err(HookError::Refused(ApiError::bad_request(why)));
        }
        let known = |version: &&String| matches!(version.as_str(), "v1" | "v1beta1");
        let Some(version) = hook.review_versions.iter().find(known) else {
            let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(HookError::failed(
                hook,
                format!("could not create admission objects: {why}"),
            ));
        };
        let (uid, api_version) = (meta::new_uid(), format!("admission.k8s.io/{version}"));
        let mut body = request.review_request(target, context);
        body["uid"] = json!(uid);
        body["object"] = object.cloned().unwrap_or_default();
        let old = request.convert(request.old, target, context);
        body["oldObject"] = old.map_err(HookError::Refused)?;
        let review = json!({ "kind": "AdmissionReview", "apiVersion": api_version, "request": body });
        let endpoint = hook.client.resolve(request.store);
        let remaining = context.deadline.saturating_duration_since(Instant::now());
        Ok(Self {
            uid,
            version: version.clone(),
            call: context
                .caller
                .start(&endpoint, &review, hook.timeout.min(remaining)),
        })
    }

    /// Blocks until the response arrives, and reports its warnings and audit annotations. If it admits the request, returns its JSON patch, which
    /// is empty if the webhook changes nothing.
    pub(super) fn wait(
        self,
        hook: &Hook,
        is_mutating: bool,
        context: &WebhookContext<'_>,
    ) -> Result<Vec<u8>, HookError> {
        let failed = |why: String| HookError::failed(hook, why);
        let (uid, version) = (self.uid, self.version);
        let review = self.call.wait();
        // After the deadline the request fails, whatever the failure policy is.
        if context.deadline <= Instant::now() {
            return Err(HookError::Refused(timeout_error()));
        }
        let review = review.map_err(|why| failed(format!("failed to call webhook: {why}")))?;
        check_type(&review, &version).map_err(|why| failed(format!("failed to call webhook: {why}")))?;
        let patch = check_response(&review, &uid, &version, is_mutating);
        let patch = patch.map_err(|why| failed(format!("received invalid webhook response: {why}")))?;
        let response = &review["response"];
        let patch_type = response["patchType"].as_str().unwrap_or(JSON_PATCH);
        let has_type = version == "v1beta1" || patch_type == JSON_PATCH;
        for (key, value) in response["auditAnnotations"].as_object().into_iter().flatten() {
            if let Some(value) = value.as_str() {
                context.report.annotate(format!("{}/{key}", hook.name), value);
            }
        }
        for warning in response["warnings"].as_array().into_iter().flatten() {
            context.report.warn(warning.as_str().unwrap_or_default());
        }
        if response["allowed"] == true {
            if !has_type {
                return Err(failed(format!("unsupported patch type {}", quoted(patch_type))));
            }
            return Ok(patch);
        }
        Err(HookError::Refused(denial(&hook.name, &response["status"])))
    }
}

/// Checks that a response can be decoded as an AdmissionReview in the version that was sent, which it need not name.
fn check_type(review: &Value, sent: &str) -> Result<(), String> {
    let text = |key: &str| Some(review[key].as_str().unwrap_or_default()).filter(|text| !text.is_empty());
    let kind = text("kind").unwrap_or("AdmissionReview");
    let sent_version = format!("admission.k8s.io/{sent}");
    let version = text("apiVersion").unwrap_or(&sent_version);
    let is_known = matches!(version, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1");
    if !is_known || kind != "AdmissionReview" {
        return Err(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    if version != sent_version {
        let found = version.rsplit('/').next().unwrap_or_default();
        return Err(format!(
            "converting ({found}.AdmissionReview) to ({sent}.AdmissionReview): unknown conversion"
        ));
    }
    Ok(())
}

/// Checks a response to the review with this uid and version, and returns its patch.
fn check_response(review: &Value, uid: &str, version: &str, is_mutating: bool) -> Result<Vec<u8>, String> {
    let response = &review["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let patch = response["patch"].as_str().unwrap_or_default();
    let patch = BASE64_STANDARD.decode(patch).map_err(|error| error.to_string())?;
    if version == "v1beta1" {
        return Ok(if is_mutating { patch } else { vec![] });
    }
    let responded = response["uid"].as_str().unwrap_or_default();
    if responded != uid {
        return Err(format!(
            "expected response.uid={}, got {}",
            quoted(uid),
            quoted(responded)
        ));
    }
    let text = |key: &str| review[key].as_str().unwrap_or_default();
    let (found, kind) = (text("apiVersion"), text("kind"));
    if found.is_empty() || kind.is_empty() {
        let found = if found.is_empty() { "/" } else { found };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {found}, Kind={kind}"
        ));
    }
    let patch_type = response["patchType"].as_str();
    match (is_mutating, patch.is_empty(), patch_type) {
        (true, false, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (true, true, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (true, false, Some("")) => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        (false, false, _) => Err("validating webhook may not return response.patch".to_owned()),
        (false, _, Some(_)) => Err("validating webhook may not return response.patchType".to_owned()),
        _ => Ok(patch),
    }
}

/// The error for the status with which a webhook denies a request.
fn denial(name: &str, status: &Value) -> ApiError {
    const MIN_ERROR_CODE: u16 = 400;
    let text = |key: &str| status[key].as_str().unwrap_or_default();
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let code = code.unwrap_or_default().max(MIN_ERROR_CODE);
    let denied = format!("admission webhook {} denied the request", quoted(name));
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let mut error = ApiError::new(code, text("reason").to_owned(), message);
    error.details = Some(status["details"].clone()).filter(Value::is_object);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_have_the_code_and_the_message_of_the_status() {
        let denied = |status: Value| {
            let error = denial("h", &status);
            (error.code, error.reason.into_owned(), error.message)
        };
        let prefix = "admission webhook \"h\" denied the request";
        for (status, code, reason, why) in [
            (Value::Null, 400, "", " without explanation"),
            (json!({ "message": "no" }), 400, "", ": no"),
            (json!({ "reason": "Forbidden" }), 400, "Forbidden", ": Forbidden"),
            (
                json!({ "reason": "Forbidden", "message": "no", "code": 403 }),
                403,
                "Forbidden",
                ": no",
            ),
            (json!({ "code": 399 }), 400, "", " without explanation"),
            (json!({ "code": 500 }), 500, "", " without explanation"),
        ] {
            assert_eq!(
                denied(status),
                (code, reason.to_owned(), format!("{prefix}{why}"))
            );
        }
        let details =
            json!({ "causes": [{ "field": "spec.a", "message": "no", "reason": "FieldValueInvalid" }] });
        let error = denial("h", &json!({ "details": details }));
        assert_eq!(error.details, Some(details));
    }

    #[test]
    fn responses_must_fit_the_review() {
        let check = |response: Value, is_mutating| {
            let review = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
            check_type(&review, "v1").and_then(|()| check_response(&review, "1", "v1", is_mutating))
        };
        let patch = BASE64_STANDARD.encode("[]");
        assert_eq!(check(json!({ "uid": "1" }), true), Ok(vec![]));
        let patched = json!({ "uid": "1", "patch": patch, "patchType": "JSONPatch" });
        assert_eq!(check(patched.clone(), true), Ok(b"[]".to_vec()));
        for (response, is_mutating, why) in [
            (Value::Null, true, "webhook response was absent"),
            (
                json!({ "uid": "2" }),
                true,
                r#"expected response.uid="1", got "2""#,
            ),
            (
                json!({ "uid": "1", "patch": patch }),
                true,
                "webhook returned response.patch but not response.patchType",
            ),
            (
                json!({ "uid": "1", "patchType": "JSONPatch" }),
                true,
                "webhook returned response.patchType but not response.patch",
            ),
            (patched, false, "validating webhook may not return response.patch"),
        ] {
            assert_eq!(check(response, is_mutating), Err(why.to_owned()));
        }
        let other = json!({ "apiVersion": "v1", "kind": "Pod" });
        assert_eq!(
            check_type(&other, "v1").unwrap_err(),
            r#"no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#
        );
    }
}
