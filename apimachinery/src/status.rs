//! API errors with the codes and messages of kube-apiserver.

use crate::field::FieldError;
use crate::quote::quoted;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What errors call a resource.
pub trait ResourceNames {
    /// Returns the API group (empty for the core group), the plural resource name, such as `pods`, and the kind, such as `Pod`.
    fn resource_names(&self) -> [&str; 3];
}

impl<T: ResourceNames> ResourceNames for Arc<T> {
    fn resource_names(&self) -> [&str; 3] {
        self.as_ref().resource_names()
    }
}

/// An error of the API, which is sent as a `Status` object.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: Cow<'static, str>,
    /// The human-readable message.
    pub message: String,
    /// The details: name, group, kind, causes, retryAfterSeconds.
    pub details: Option<Value>,
    /// The token to continue a list after 410 Gone; empty otherwise.
    pub continue_token: Box<str>,
    /// Warnings for the client.
    pub warnings: Box<[String]>,
}

/// One cause of an error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// The reason, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The message without the field.
    pub message: String,
    /// The field path, such as `spec.replicas`.
    pub field: String,
}

impl Cause {
    /// Joins the causes to one text.
    pub fn join(causes: &[Self]) -> String {
        let texts: Vec<String> = causes.iter().map(ToString::to_string).collect();
        match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        }
    }

    /// An invalid value, quoted as JSON.
    pub fn invalid(field: impl Into<String>, value: &Value, why: impl fmt::Display) -> Self {
        let value = value.as_str().map_or_else(|| value.to_string(), quoted);
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {why}"),
        )
    }

    /// A missing value.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// A value that must not be set, or must not change.
    pub fn forbidden(field: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    /// A value that is not one of the supported ones.
    pub fn not_supported(field: impl Into<String>, value: &Value, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            known.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Returns the cause as the details of a Status show it.
    pub fn to_json(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }

    /// A cause with another reason.
    pub fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            message,
            field: field.into(),
        }
    }
}

impl From<FieldError> for Cause {
    fn from(error: FieldError) -> Self {
        Self::new(error.kind.reason(), error.field.clone(), error.body())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

impl ApiError {
    /// An error without details.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            continue_token: Box::default(),
            warnings: Box::default(),
        }
    }

    /// An error with empty details.
    pub fn generic(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::with_details(code, reason, message, json!({}))
    }

    /// 400 Bad Request.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404 for an object that does not exist.
    pub fn not_found(resource: &impl ResourceNames, name: &str) -> Self {
        let message = format!("{} {} not found", group_resource(resource), quoted(name));
        Self::with_details(404, "NotFound", message, resource_details(resource, name))
    }

    /// 404 for a resource that is not served.
    pub fn no_such_resource() -> Self {
        Self::generic(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// 405 Method Not Allowed.
    pub fn method_not_allowed() -> Self {
        Self::generic(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// 409 for a name that is taken.
    pub fn already_exists(resource: &impl ResourceNames, name: &str) -> Self {
        let message = format!("{} {} already exists", group_resource(resource), quoted(name));
        Self::with_details(409, "AlreadyExists", message, resource_details(resource, name))
    }

    /// 409 for a failed precondition.
    pub fn conflict(resource: &impl ResourceNames, name: &str, why: impl fmt::Display) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            group_resource(resource)
        );
        Self::with_details(409, "Conflict", message, resource_details(resource, name))
    }

    /// 409 for an outdated resource version.
    pub fn modified(resource: &impl ResourceNames, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 403 by admission, regardless of permissions.
    pub fn forbidden(resource: &impl ResourceNames, name: &str, why: impl fmt::Display) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", group_resource(resource))
        } else {
            format!("{} {name:?} is forbidden: {why}", group_resource(resource))
        };
        Self::with_details(403, "Forbidden", message, resource_details(resource, name))
    }

    /// 422 with the causes.
    pub fn invalid(resource: &impl ResourceNames, name: &str, causes: &[Cause]) -> Self {
        // Events of `events.k8s.io` are validated as core events.
        let [group, _, kind] = resource.resource_names();
        let group = if kind == "Event" { "" } else { group };
        Self::invalid_of(group, kind, name, causes)
    }

    /// 422 for a kind that is not served, such as `ListOptions`. Each cause is reported once.
    pub fn invalid_of(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut seen = BTreeSet::new();
        let causes: Vec<Cause> = causes
            .iter()
            .filter(|cause| seen.insert(*cause))
            .cloned()
            .collect();
        let text = Cause::join(&causes);
        let qualified = with_group(kind, group);
        let mut details = details(name, group, kind);
        details["causes"] = causes.iter().map(Cause::to_json).collect();
        Self::with_details(
            422,
            "Invalid",
            format!("{qualified} {} is invalid: {text}", quoted(name)),
            details,
        )
    }

    /// 410 for a resource version that was compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 415 Unsupported Media Type; lists the accepted types.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 401 Unauthorized.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 500 Internal Server Error.
    pub fn internal(why: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {why}");
        let details = json!({ "causes": [{ "message": why.to_string() }] });
        Self::with_details(500, "InternalError", message, details)
    }

    /// An error with these details.
    pub fn with_details(code: u16, reason: &'static str, message: impl Into<String>, details: Value) -> Self {
        Self {
            details: Some(details),
            ..Self::new(code, reason, message)
        }
    }

    /// Adds a cause to the details.
    #[must_use]
    pub fn with_cause(mut self, cause: &Cause) -> Self {
        let mut entry = json!({ "reason": cause.reason });
        if !cause.message.is_empty() {
            entry["message"] = json!(cause.message);
        }
        if !cause.field.is_empty() {
            entry["field"] = json!(cause.field);
        }
        let details = self.details.get_or_insert_with(|| json!({}));
        match &mut details["causes"] {
            Value::Array(causes) => causes.push(entry),
            causes => *causes = json!([entry]),
        }
        self
    }

    /// Puts warnings in front of the existing ones.
    #[must_use]
    pub fn with_warnings(mut self, warnings: &[String]) -> Self {
        self.warnings = [warnings, &self.warnings].concat().into();
        self
    }

    /// Sets `retryAfterSeconds`.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.details.get_or_insert_with(|| json!({}))["retryAfterSeconds"] = json!(seconds);
        self
    }

    /// Returns `retryAfterSeconds`.
    pub fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }

    /// Returns the `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.continue_token.is_empty() {
            status["metadata"]["continue"] = json!(self.continue_token);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

/// Returns the resource with its group, such as `deployments.apps` or `pods`.
pub fn group_resource(resource: &impl ResourceNames) -> String {
    let [group, plural, _] = resource.resource_names();
    with_group(plural, group)
}

/// Returns the name of a resource or kind with its group, if it has one.
fn with_group(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

fn resource_details(resource: &impl ResourceNames, name: &str) -> Value {
    let [group, plural, _] = resource.resource_names();
    details(name, group, plural)
}

/// Returns the details of a Status, without empty fields.
pub fn details(name: &str, group: &str, kind: &str) -> Value {
    let mut details = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details.insert(key.into(), value.into());
        }
    }
    Value::Object(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_causes_are_joined_in_brackets_without_duplicates() {
        let [a, b] = [Cause::required("a", ""), Cause::forbidden("b", "no")];
        let causes = [a.clone(), b, a];
        let error = ApiError::invalid_of("demo.dev", "Foo", "x", &causes);
        assert_eq!(
            error.message,
            r#"Foo.demo.dev "x" is invalid: [a: Required value, b: Forbidden: no]"#
        );
        assert_eq!(
            error.status()["details"],
            json!({
                "name": "x", "group": "demo.dev", "kind": "Foo", "causes": [
                    { "reason": "FieldValueRequired", "message": "Required value", "field": "a" },
                    { "reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "b" },
                ],
            })
        );
    }
}
