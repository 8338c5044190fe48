//! [`AdmissionRequest`]: the write that a webhook is asked about.

use std::fmt;

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::AdmissionError;
use crate::ApiResource;

/// The operation of an [`AdmissionRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object changes; also by a patch.
    Update,
    /// The object is deleted.
    Delete,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        })
    }
}

/// The write that a webhook is asked about.
///
/// Tests make one with [`create`](Self::create), [`update`](Self::update) or [`delete`](Self::delete), and set fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AdmissionRequest {
    /// Identifies this review, not the object.
    pub uid: String,
    /// Create, update or delete.
    pub operation: Operation,
    /// The object's name. Empty if the API server is to generate it.
    #[serde(default)]
    pub name: String,
    /// The object's namespace; none for a cluster-scoped kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The subresource that is written, such as `status`.
    #[serde(default, rename = "subResource", skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The requesting user: name, uid, groups.
    #[serde(default, rename = "userInfo")]
    pub user: UserInfo,
    /// Whether the write will not be stored. A webhook with side effects must not have them then.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of the write, such as `CreateOptions`.
    #[serde(default)]
    pub options: Value,
    /// The resource whose objects the review contains.
    #[serde(default)]
    pub(super) resource: GroupVersionResource,
    #[serde(default)]
    pub(super) object: Option<Value>,
    #[serde(default)]
    pub(super) old_object: Option<Value>,
}

/// A resource in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupVersionResource {
    #[serde(default)]
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
}

impl AdmissionRequest {
    /// Returns a request to create this object, for tests.
    pub fn create(object: &impl Serialize) -> Self {
        Self::of(Operation::Create, Some(json!(object)), None)
    }

    /// Returns a request to replace an object, for tests.
    pub fn update(old: &impl Serialize, new: &impl Serialize) -> Self {
        Self::of(Operation::Update, Some(json!(new)), Some(json!(old)))
    }

    /// Returns a request to delete this object, for tests.
    pub fn delete(object: &impl Serialize) -> Self {
        Self::of(Operation::Delete, None, Some(json!(object)))
    }

    fn of(operation: Operation, object: Option<Value>, old_object: Option<Value>) -> Self {
        let metadata = object
            .as_ref()
            .or(old_object.as_ref())
            .map(|object| &object["metadata"]);
        let text = |field: &str| metadata.and_then(|metadata| metadata[field].as_str().map(str::to_owned));
        Self {
            uid: "test".to_owned(),
            operation,
            name: text("name").unwrap_or_default(),
            namespace: text("namespace"),
            subresource: None,
            user: UserInfo::default(),
            dry_run: false,
            options: Value::Null,
            resource: GroupVersionResource::default(),
            object,
            old_object,
        }
    }

    /// Sets the resource, in the version of the object, as the API server does.
    pub(crate) fn of_resource(mut self, kind: &ApiResource) -> Self {
        let object = self.object.as_ref().or(self.old_object.as_ref());
        let version = object
            .and_then(|object| object["apiVersion"].as_str()?.rsplit('/').next())
            .map_or_else(|| kind.version.to_string(), str::to_owned);
        self.resource = GroupVersionResource {
            group: kind.group.to_string(),
            version,
            resource: kind.plural.to_string(),
        };
        self
    }

    pub(crate) fn set_object(&mut self, object: &Value) {
        self.object = Some(object.clone()).filter(|object| !object.is_null());
    }

    pub(crate) fn raw_old_object(&self) -> Option<&Value> {
        self.old_object.as_ref()
    }

    /// Returns the object with fields that its Rust type does not have, in the version of the webhook's kind. None for a deletion.
    pub fn object(&self) -> Option<&Value> {
        self.object.as_ref()
    }

    /// Decodes the stored object, which is to be changed or deleted. None for a creation.
    pub fn old_object<K: DeserializeOwned>(&self) -> Result<Option<K>, AdmissionError> {
        let old = self.old_object.as_ref();
        // The requesting user may not be allowed to read the stored object: the error quotes no value of it.
        old.map(|old| K::deserialize(old).map_err(|_| undecodable_old_object::<K>(old)))
            .transpose()
    }
}

fn undecodable_old_object<K: DeserializeOwned>(old: &Value) -> AdmissionError {
    let place = match serde_path_to_error::deserialize::<_, K>(old) {
        Ok(_) => String::new(),
        Err(error) => format!(" at `{}`", error.path()),
    };
    AdmissionError::new(format!("the stored object does not decode{place}"))
}
