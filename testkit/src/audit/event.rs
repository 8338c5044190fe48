//! One request.

use jiff::Timestamp;
use kubewright_apiserver::audit::AuditRecord;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// One request, as the API server logged it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The request's id.
    pub id: String,
    /// How far it has come.
    pub stage: Stage,
    /// When the API server received it.
    pub received: Timestamp,
    /// When it came to this stage.
    pub time: Timestamp,
    /// Who sent it; a service account is `system:serviceaccount:<namespace>:<name>`.
    pub user: String,
    /// The User-Agent header.
    pub user_agent: String,
    /// The verb in RBAC's words: server-side apply is `patch`, also where it creates.
    pub verb: String,
    /// Path and query; of the embedded server the path alone.
    pub uri: String,
    /// The API group; empty for the core group, and for what is no resource.
    pub api_group: String,
    /// The resource in the plural; empty for what is no resource, such as `/version`.
    pub resource: String,
    /// The subresource; empty for none.
    pub subresource: String,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The object's name; empty for a collection.
    pub name: String,
    /// The HTTP status; 0 while there is none.
    pub code: u16,
    /// Why it failed, in the API server's words; mostly empty for success.
    pub message: String,
    /// The kind of the object that was sent, or of the resource; may be empty. It knows the plural of kinds.
    pub kind: String,
    /// The owners in the sent object whose deletion it blocks. The API server lets only those send them who may
    /// update the owner's finalizers.
    pub blocking_owners: Vec<Owner>,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum Stage {
    /// The answer has begun: an open watch.
    ResponseStarted,
    /// It is answered.
    ResponseComplete,
    /// The API server panicked over it.
    Panic,
    /// Received, or a stage of a later API server.
    #[serde(other)]
    Other,
}

/// An owner that an owner reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
}

impl AuditEvent {
    /// Whether it was refused for want of rights (403, whether from RBAC or from an admission plugin, or 401).
    ///
    /// A 403 because the API server does not know the owner's kind yet is none: the real one's admission looks for new
    /// kinds every ten seconds or so, and no right would help. A controller tries again.
    pub fn is_forbidden(&self) -> bool {
        self.is_refused() && !self.message.contains("cannot find RESTMapping")
    }

    /// Whether it was not let through, for want of rights or not.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.code, 401 | 403)
    }

    /// Whether it would change something.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    /// The resource in RBAC's words, such as `foos/status`.
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

/// The log's own form, `audit.k8s.io/v1`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: Stage,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    #[serde(default)]
    request_object: Value,
}

#[derive(Deserialize)]
struct User {
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

impl From<Line> for AuditEvent {
    fn from(line: Line) -> Self {
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
        }
    }
}

/// A record of the embedded server, by its number.
impl From<(usize, AuditRecord)> for AuditEvent {
    fn from((number, record): (usize, AuditRecord)) -> Self {
        // It notes a watch when it opens.
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
        }
    }
}

/// A body may be anything, a JSON patch for one: what is not there is empty.
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
