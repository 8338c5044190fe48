//! Audit events.

use jiff::Timestamp;
use kubewright_apiserver::audit::AuditRecord;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// One request, from the API server's audit log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The audit ID of the request.
    pub id: String,
    /// The stage of the request.
    pub stage: Stage,
    /// When the API server received it.
    pub received: Timestamp,
    /// When the request reached this stage.
    pub time: Timestamp,
    /// The user; a service account is `system:serviceaccount:<namespace>:<name>`.
    pub user: String,
    /// The User-Agent header.
    pub user_agent: String,
    /// The RBAC verb: server-side apply is `patch`, even if it creates the object.
    pub verb: String,
    /// Path and query; for the embedded server only the path.
    pub uri: String,
    /// The API group; empty for the core group and for non-resource requests.
    pub api_group: String,
    /// The plural resource; empty for non-resource requests, such as `/version`.
    pub resource: String,
    /// The subresource; empty if none.
    pub subresource: String,
    /// The namespace; empty if none.
    pub namespace: String,
    /// The object's name; empty for a collection.
    pub name: String,
    /// The HTTP status code; 0 before the response.
    pub code: u16,
    /// The error message of the API server; usually empty for success.
    pub message: String,
    /// The kind of the sent object or of the resource; may be empty. Used to map kinds to plurals.
    pub kind: String,
    /// Owners in the sent object with `blockOwnerDeletion`. The API server requires permission to update the finalizers of these owners.
    pub blocking_owners: Vec<Owner>,
    /// The annotations of admission webhooks and policies; the real server adds others.
    pub annotations: BTreeMap<String, String>,
}

/// The stage of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum Stage {
    /// The response has started: an open watch.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
    /// The API server panicked.
    Panic,
    /// Request received, or an unknown stage of a later API server.
    #[serde(other)]
    Other,
}

/// An owner in an owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

impl AuditEvent {
    /// Whether the request was forbidden (403 from RBAC or an admission plugin, or 401).
    ///
    /// A 403 because the API server does not know the owner's kind yet is not counted: the real server's admission plugin refreshes its
    /// kinds about every ten seconds, and no permission would help. Controllers retry it.
    pub fn is_forbidden(&self) -> bool {
        self.is_rejected() && !self.message.contains("cannot find RESTMapping")
    }

    /// Whether the response was 401 or 403, for missing permissions or another reason.
    pub(super) fn is_rejected(&self) -> bool {
        matches!(self.code, 401 | 403)
    }

    /// Whether the request is a write.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    /// The resource with its subresource, as in RBAC: `foos/status`.
    pub fn rbac_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// `create apps deployments shop/web: 403 deployments.apps is forbidden: …`
impl fmt::Display for AuditEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.resource.is_empty() {
            write!(f, "{} {}", self.verb, self.uri)?;
        } else {
            let group = if self.api_group.is_empty() {
                "core"
            } else {
                &self.api_group
            };
            write!(f, "{} {group} {}", self.verb, self.rbac_resource())?;
            let separator = if self.namespace.is_empty() || self.name.is_empty() {
                ""
            } else {
                "/"
            };
            let object = format!("{}{separator}{}", self.namespace, self.name);
            if !object.is_empty() {
                write!(f, " {object}")?;
            }
        }
        write!(f, ": {}", self.code)?;
        if !self.message.is_empty() {
            write!(f, " {}", self.message)?;
        }
        Ok(())
    }
}

/// A line of the audit log, `audit.k8s.io/v1`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditLine {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: Stage,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: AuditUser,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    #[serde(default)]
    request_object: Value,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct AuditUser {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
    message: String,
}

impl From<AuditLine> for AuditEvent {
    fn from(line: AuditLine) -> Self {
        Self {
            id: line.audit_id,
            stage: line.stage,
            received: line.request_received_timestamp,
            time: line.stage_timestamp,
            user: line.user.username,
            user_agent: line.user_agent,
            verb: line.verb,
            uri: line.request_uri,
            api_group: line.object_ref.api_group,
            resource: line.object_ref.resource,
            subresource: line.object_ref.subresource,
            namespace: line.object_ref.namespace,
            name: line.object_ref.name,
            code: line.response_status.code,
            message: line.response_status.message,
            kind: text(&line.request_object["kind"]),
            blocking_owners: blocking_owners(&line.request_object),
            annotations: line.annotations,
        }
    }
}

/// A record of the embedded server with its index.
impl From<(usize, AuditRecord)> for AuditEvent {
    fn from((number, record): (usize, AuditRecord)) -> Self {
        // The embedded server records a watch when it opens.
        let stage = if record.verb == "watch" {
            Stage::ResponseStarted
        } else {
            Stage::ResponseComplete
        };
        let owners = record.blocking_owners.into_iter();
        Self {
            id: number.to_string(),
            stage,
            received: record.received,
            time: record.answered,
            user: record.user,
            user_agent: record.user_agent,
            verb: record.verb,
            uri: record.path,
            api_group: record.group,
            resource: record.resource,
            subresource: record.subresource,
            namespace: record.namespace,
            name: record.name,
            code: record.code,
            message: record.message,
            kind: record.kind,
            blocking_owners: owners
                .map(|owner| Owner {
                    group: owner.group,
                    kind: owner.kind,
                })
                .collect(),
            annotations: record.annotations,
        }
    }
}

/// Extracts the blocking owners. The body may have any form (a JSON patch, for one); missing fields are empty.
fn blocking_owners(object: &Value) -> Vec<Owner> {
    let references = object["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    references
        .iter()
        .filter(|reference| reference["blockOwnerDeletion"] == true)
        .map(|reference| {
            let version = text(&reference["apiVersion"]);
            let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
            Owner {
                group,
                kind: text(&reference["kind"]),
            }
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
