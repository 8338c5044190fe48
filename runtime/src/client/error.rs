//! Why a request failed.

use std::{error::Error, fmt, time::Duration};

use kube::core::Status;

use super::{request::ApiRequest, retry_after};

/// Why a request failed: what was to be done to which object, and why it was not.
///
/// The message names verb, kind, object and, where there is one, the mend. The cause behind it ([`source`](Error::source))
/// is not repeated in the message.
#[derive(Debug)]
pub struct ClientError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    call: ApiRequest,
    cause: ClientErrorCause,
}

/// What kept a request from succeeding.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientErrorCause {
    /// The API server refused. An answer that is no `Status`, as proxies give, is made one with the HTTP code and the text.
    Refused(Box<Status>),
    /// No answer: not connected, connection lost, credentials missing. Whether the request was carried out is unknown.
    Unanswered(kube::Error),
    /// The request was carried out, its answer is not what was expected of this kind.
    Decode(serde_json::Error),
    /// The object does not serialise; nothing was sent.
    Serialize(serde_json::Error),
    /// The request makes no sense, as the text says; nothing was sent.
    Request(String),
    /// A write of a replica that does not lead, or whose lease was not renewed in time; nothing was sent.
    NotLeading,
}

impl ClientError {
    pub(crate) fn new(call: ApiRequest, cause: ClientErrorCause) -> Self {
        Self(Box::new(Failure { call, cause }))
    }

    /// What kept the request from succeeding.
    pub fn cause(&self) -> &ClientErrorCause {
        &self.0.cause
    }

    /// The API server's answer, when it refused.
    pub fn status(&self) -> Option<&Status> {
        match &self.0.cause {
            ClientErrorCause::Refused(status) => Some(status),
            _ => None,
        }
    }

    /// There is no such object, or the API server does not serve its kind ([`is_kind_missing`](Self::is_kind_missing)).
    pub fn is_not_found(&self) -> bool {
        self.has(404, "NotFound")
    }

    /// The API server does not serve the kind: its CustomResourceDefinition is not installed.
    pub fn is_kind_missing(&self) -> bool {
        // The answer about a missing object names the object; the answer about a missing path does not.
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

    /// The object changed since it was read, or a field that was applied belongs to another manager.
    pub fn is_conflict(&self) -> bool {
        // An existing object is a 409 as well, and reading it again does not help.
        self.has(409, "Conflict") && !self.is_already_exists()
    }

    /// Not allowed, by roles or by an admission plugin.
    pub fn is_forbidden(&self) -> bool {
        self.has(403, "Forbidden")
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

    /// The API server asks to come back later.
    pub fn is_too_many_requests(&self) -> bool {
        self.has(429, "TooManyRequests")
    }

    /// The API server is overloaded, or cannot work at the moment: coming back later may help (429 and 5xx).
    pub fn is_overloaded(&self) -> bool {
        self.is_too_many_requests() || self.status().is_some_and(|status| status.code >= 500)
    }

    /// How long the API server asks to be left alone, in its answer's header or `Status`.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::of(self.status()?)
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

    /// There was no answer; whether the request was carried out is unknown.
    pub fn is_unanswered(&self) -> bool {
        matches!(self.0.cause, ClientErrorCause::Unanswered(_))
    }

    /// This replica may not write, because it does not lead; nothing was sent.
    pub fn is_not_leading(&self) -> bool {
        matches!(self.0.cause, ClientErrorCause::NotLeading)
    }

    /// The write was certainly not carried out: it was refused as wrong, or not sent.
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

    /// What would make the request succeed, where that is known.
    fn mend(&self) -> Option<String> {
        let status = self.status()?;
        let call = &self.0.call;
        let generate = "run `kubewright generate` and apply manifests/rbac";
        if self.is_forbidden() && status.message.contains(" cannot ") && status.message.contains("User ") {
            Some(format!(
                "the operator's role does not allow `{}` on {}: {generate}",
                call.verb(),
                call.resource()
            ))
        } else if self.is_forbidden() && status.message.contains("cannot find RESTMapping") {
            // Its admission learns of new kinds every ten seconds only.
            Some("the API server does not know the owner's kind yet: a try some seconds after its definition was installed succeeds".to_owned())
        } else if self.is_forbidden() && status.message.contains("cannot set blockOwnerDeletion") {
            Some(format!(
                "the operator's role does not allow `update` on the owner's finalizers: {generate}"
            ))
        } else if self.is_unauthorized() {
            Some("the API server does not accept the operator's credentials: renew the token or the certificate".to_owned())
        } else if self.is_kind_missing() {
            let (resource, version) = (call.info.group_resource(), &call.info.version);
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
        write!(f, "cannot {}: ", self.0.call)?;
        if let Some(mend) = self.mend() {
            write!(f, "{mend}; the API server says: ")?;
        }
        match &self.0.cause {
            ClientErrorCause::Refused(status) if status.reason.is_empty() => {
                write!(f, "{} ({})", status.message, status.code)
            }
            ClientErrorCause::Refused(status) => {
                write!(f, "{} ({} {})", status.message, status.code, status.reason)
            }
            ClientErrorCause::Unanswered(_) => f.write_str("the API server gave no answer"),
            ClientErrorCause::Decode(_) => {
                write!(f, "it was done, but the answer is no {}", self.0.call.info.kind)
            }
            ClientErrorCause::Serialize(_) => f.write_str("the object does not serialise to JSON"),
            ClientErrorCause::Request(why) => f.write_str(why),
            ClientErrorCause::NotLeading => f.write_str(
                "this replica does not hold the leader lease, nothing was sent \
                 (what every replica may write goes through `unfenced()`)",
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
