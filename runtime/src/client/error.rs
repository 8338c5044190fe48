//! The typed client's error: which request failed, and why.

use std::{error::Error, fmt, time::Duration};

use kube::core::Status;

use super::{request::ApiRequest, retry::retry_after};

/// A failed request: the action, the object and the cause.
///
/// The message names verb, kind, object and, if it is known, the fix. The cause behind it ([`source`](Error::source)) is not repeated in
/// the message.
#[derive(Debug)]
pub struct ClientError(Box<ErrorDetails>);

#[derive(Debug)]
struct ErrorDetails {
    request: ApiRequest,
    cause: ClientErrorCause,
}

// ANCHOR: cause
/// The cause of a failed request.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientErrorCause {
    /// The API server answered with an error. A response without a `Status`, as proxies send, is turned into one with the HTTP code and the
    /// text.
    Refused(Box<Status>),
    /// There was no response: not connected, connection lost, credentials missing. Whether the request was carried out is unknown.
    Unanswered(kube::Error),
    /// The request was carried out, but its response does not decode as this kind.
    Decode(serde_json::Error),
    /// The object does not serialize; nothing was sent.
    Serialize(serde_json::Error),
    /// The request is invalid, for the reason in the text; nothing was sent.
    Request(String),
    /// It was a write, and this replica does not hold the leader lease, or did not renew it in time; nothing was sent.
    NotLeading,
}
// ANCHOR_END: cause

impl ClientError {
    pub(crate) fn new(request: ApiRequest, cause: ClientErrorCause) -> Self {
        Self(Box::new(ErrorDetails { request, cause }))
    }

    /// Returns the cause.
    pub fn cause(&self) -> &ClientErrorCause {
        &self.0.cause
    }

    /// Returns the API server's error response, if there was one.
    pub fn status(&self) -> Option<&Status> {
        match &self.0.cause {
            ClientErrorCause::Refused(status) => Some(status),
            _ => None,
        }
    }

    /// The object does not exist, or the API server does not serve its kind ([`is_kind_missing`](Self::is_kind_missing)).
    pub fn is_not_found(&self) -> bool {
        self.has(404, "NotFound")
    }

    /// The API server does not serve the kind: its CustomResourceDefinition is not installed.
    pub fn is_kind_missing(&self) -> bool {
        // The status of a missing object names the object; that of a missing path does not.
        let named = |status: &Status| {
            status
                .details
                .as_ref()
                .is_some_and(|details| !details.name.is_empty())
        };
        self.is_not_found() && !self.status().is_some_and(named)
    }

    /// An object of that name exists.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// The object changed since it was read, or an applied field is owned by another field manager.
    pub fn is_conflict(&self) -> bool {
        // AlreadyExists is a 409 as well, and does not pass by reading the object again.
        self.has(409, "Conflict") && !self.is_already_exists()
    }

    /// RBAC or an admission plugin does not allow the request.
    pub fn is_forbidden(&self) -> bool {
        self.has(403, "Forbidden")
    }

    /// The client's permissions do not allow the request, as the authorizer words it.
    pub(crate) fn lacks_permission(&self) -> bool {
        let message = self.status().map_or("", |status| &status.message);
        self.is_forbidden()
            && message.contains("User ")
            && message.contains(" cannot ")
            && !message.contains("denied the request")
    }

    /// The API server found the object invalid.
    pub fn is_invalid(&self) -> bool {
        self.has(422, "Invalid")
    }

    /// The credentials were not accepted.
    pub fn is_unauthorized(&self) -> bool {
        self.has(401, "Unauthorized")
    }

    /// The resource version, or the list's page, is too old.
    pub fn is_expired(&self) -> bool {
        self.has(410, "Expired")
    }

    /// The API server limits the client's rate (429).
    pub fn is_too_many_requests(&self) -> bool {
        self.has(429, "TooManyRequests")
    }

    /// The API server is overloaded or temporarily unavailable: a retry may succeed (429 and 5xx).
    pub fn is_overloaded(&self) -> bool {
        self.is_too_many_requests() || self.status().is_some_and(|status| status.code >= 500)
    }

    /// Returns the response's `Retry-After`, from its header or its `Status`.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::retry_after(self.status()?)
    }

    /// The namespace is being deleted: nothing can be created in it.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status()
            .and_then(|status| status.details.as_ref())
            .is_some_and(|details| {
                details
                    .causes
                    .iter()
                    .any(|cause| cause.reason == "NamespaceTerminating")
            })
    }

    /// There was no response; whether the request was carried out is unknown.
    pub fn is_unanswered(&self) -> bool {
        matches!(self.0.cause, ClientErrorCause::Unanswered(_))
    }

    /// The write was not sent, because this replica does not lead.
    pub fn is_not_leading(&self) -> bool {
        matches!(self.0.cause, ClientErrorCause::NotLeading)
    }

    /// The write was certainly not carried out: it was refused with 4xx, or not sent.
    pub(super) fn is_rejected(&self) -> bool {
        match &self.0.cause {
            ClientErrorCause::Refused(status) => (400..500).contains(&status.code),
            ClientErrorCause::NotLeading => true,
            _ => false,
        }
    }

    fn has(&self, code: u16, reason: &str) -> bool {
        self.status()
            .is_some_and(|status| status.code == code || status.reason == reason)
    }

    /// Returns how to fix it, where that is known.
    fn fix(&self) -> Option<String> {
        let status = self.status()?;
        let request = &self.0.request;
        let generate = "run `kubewright generate` and apply manifests/rbac";
        if self.lacks_permission() {
            Some(format!(
                "the operator's role does not allow `{}` on {}: {generate}",
                request.verb(),
                request.resource()
            ))
        } else if self.is_forbidden() && status.message.contains("cannot find RESTMapping") {
            // The admission plugin refreshes its list of kinds every ten seconds.
            Some("the API server does not know the owner's kind yet: retry some seconds after its definition was installed".to_owned())
        } else if self.is_forbidden() && status.message.contains("cannot set blockOwnerDeletion") {
            Some(format!(
                "the operator's role does not allow `update` on the owner's finalizers: {generate}"
            ))
        } else if self.is_unauthorized() {
            Some("the API server does not accept the operator's credentials: renew the token or the certificate".to_owned())
        } else if self.is_kind_missing() {
            let (resource, version) = (request.info.group_resource(), &request.info.version);
            Some(format!(
                "the API server does not serve {resource} in version {version}: install its definition (`kubectl apply -f manifests/crds`)"
            ))
        } else {
            None
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: ", self.0.request)?;
        if let Some(fix) = self.fix() {
            write!(f, "{fix}; the API server says: ")?;
        }
        match &self.0.cause {
            ClientErrorCause::Refused(status) if status.reason.is_empty() => {
                write!(f, "{} ({})", status.message, status.code)
            }
            ClientErrorCause::Refused(status) => {
                write!(f, "{} ({} {})", status.message, status.code, status.reason)
            }
            ClientErrorCause::Unanswered(_) => f.write_str("no response from the API server"),
            ClientErrorCause::Decode(_) => {
                write!(
                    f,
                    "it was carried out, but the response does not decode as {}",
                    self.0.request.info.kind
                )
            }
            ClientErrorCause::Serialize(_) => f.write_str("the object does not serialize to JSON"),
            ClientErrorCause::Request(why) => f.write_str(why),
            ClientErrorCause::NotLeading => f.write_str(
                "this replica does not hold the leader lease, nothing was sent \
                 (use `unfenced()` for what every replica may write)",
            ),
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.cause {
            ClientErrorCause::Unanswered(error) => Some(error),
            ClientErrorCause::Decode(error) | ClientErrorCause::Serialize(error) => Some(error),
            ClientErrorCause::Refused(_) | ClientErrorCause::Request(_) | ClientErrorCause::NotLeading => {
                None
            }
        }
    }
}
