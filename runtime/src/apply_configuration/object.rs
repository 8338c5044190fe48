//! [`ObjectApply`]: the intent for an object of a custom kind.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use kube::{
    Resource,
    core::{ClusterResourceScope, NamespaceResourceScope, ObjectMeta},
};
use serde::{
    Deserialize, Serialize, Serializer,
    de::{DeserializeOwned, Error as _},
    ser::SerializeMap,
};
use serde_json::Value;

use super::owned_fields::owned_fields;
use crate::{Kind, NamespacedName, WithStatus, controller::controller_reference};

/// The intent of a server-side apply: name, and those fields of metadata, spec and status that the operator wants to own.
///
/// `#[derive(ApplyConfiguration)]` on the spec of a kind `Foo` generates an alias `FooApply`.
/// [`TypedClient::apply`](crate::client::TypedClient::apply) and [`apply_status`](crate::client::TypedClient::apply_status) take it. It
/// serializes with `apiVersion` and `kind`, and without the fields that are not set.
#[derive(Clone)]
pub struct ObjectApply<K, Spec, Status> {
    metadata: ObjectMeta,
    /// The fields of the spec; none if the operator owns none.
    pub spec: Option<Spec>,
    /// The fields of the status; none if the operator owns none.
    pub status: Option<Status>,
    kind: PhantomData<fn() -> K>,
}

impl<K, Spec, Status> ObjectApply<K, Spec, Status>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
{
    /// An intent for the cluster-scoped object with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_name(None, Some(name.into()))
    }
}

impl<K, Spec, Status> ObjectApply<K, Spec, Status>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    /// An intent for the object with this namespace and name.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::with_name(Some(namespace.into()), Some(name.into()))
    }
}

impl<K: Resource<DynamicType = ()>, Spec, Status> ObjectApply<K, Spec, Status> {
    /// An intent for this object: its namespace and name, and none of its fields.
    pub fn of(object: &K) -> Self {
        let metadata = object.meta();
        Self::with_name(metadata.namespace.clone(), metadata.name.clone())
    }

    /// An intent for the object with this name, such as [`NamespacedName::sibling`] returns.
    pub fn named(name: &NamespacedName) -> Self {
        Self::with_name(name.namespace().map(str::to_owned), Some(name.name().to_owned()))
    }

    fn with_name(namespace: Option<String>, name: Option<String>) -> Self {
        Self {
            metadata: ObjectMeta {
                namespace,
                name,
                ..ObjectMeta::default()
            },
            spec: None,
            status: None,
            kind: PhantomData,
        }
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    /// Sets the fields of the spec.
    pub fn spec(mut self, spec: impl Into<Spec>) -> Self {
        self.spec = Some(spec.into());
        self
    }

    /// Sets a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let labels = self.metadata.labels.get_or_insert_with(BTreeMap::new);
        labels.insert(key.into(), value.into());
        self
    }

    /// Sets an annotation.
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let annotations = self.metadata.annotations.get_or_insert_with(BTreeMap::new);
        annotations.insert(key.into(), value.into());
        self
    }

    /// Adds an owner reference to the managing controller, see [`controller_reference`].
    pub fn owner<O: Resource<DynamicType = ()>>(mut self, owner: &O) -> Self {
        let references = self.metadata.owner_references.get_or_insert_with(Vec::new);
        references.push(controller_reference(owner));
        self
    }

    /// Adds a finalizer.
    pub fn finalizer(mut self, finalizer: impl Into<String>) -> Self {
        let finalizers = self.metadata.finalizers.get_or_insert_with(Vec::new);
        finalizers.push(finalizer.into());
        self
    }

    /// Returns the fields that the field manager owns by [`apply`](crate::client::TypedClient::apply), with their values in `object`.
    ///
    /// The field manager of an operator is its name. Applying the result again changes nothing; change it and apply it to keep the other
    /// fields of the last intent. It has no fields if the manager owns none.
    ///
    /// # Errors
    ///
    /// - The object has no `metadata.managedFields`. Informers' caches drop them: read the object with a client.
    /// - Of a value that is applied as a whole the manager owns only a part, and the rest is required.
    pub fn extract(object: &K, field_manager: &str) -> Result<Self, serde_json::Error>
    where
        K: Serialize,
        Spec: DeserializeOwned,
        Status: DeserializeOwned,
    {
        Self::extract_from(object, field_manager, "")
    }

    fn extract_from(object: &K, field_manager: &str, subresource: &str) -> Result<Self, serde_json::Error>
    where
        K: Serialize,
        Spec: DeserializeOwned,
        Status: DeserializeOwned,
    {
        #[derive(Deserialize)]
        struct OwnedFields<Spec, Status> {
            metadata: Option<ObjectMeta>,
            spec: Option<Spec>,
            status: Option<Status>,
        }
        if object.meta().managed_fields.as_ref().is_none_or(Vec::is_empty) {
            return Err(serde_json::Error::custom(
                "the object has no metadata.managedFields, which caches drop: read it with a client",
            ));
        }
        let owned = owned_fields(&serde_json::to_value(object)?, field_manager, subresource);
        let owned: OwnedFields<Spec, Status> = serde_path_to_error::deserialize(Value::Object(owned))
            .map_err(|error| serde_json::Error::custom(format!("owned fields do not decode: {error}")))?;
        let mut extracted = Self::of(object);
        let metadata = owned.metadata.unwrap_or_default();
        extracted.metadata.labels = metadata.labels;
        extracted.metadata.annotations = metadata.annotations;
        extracted.metadata.owner_references = metadata.owner_references;
        extracted.metadata.finalizers = metadata.finalizers;
        extracted.spec = owned.spec;
        extracted.status = owned.status;
        Ok(extracted)
    }
}

impl<K, Spec, Status> ObjectApply<K, Spec, Status>
where
    K: Resource<DynamicType = ()> + WithStatus,
{
    /// Sets the fields of the status. [`apply_status`](crate::client::TypedClient::apply_status) sends them.
    pub fn status(mut self, status: impl Into<Status>) -> Self {
        self.status = Some(status.into());
        self
    }

    /// Returns the fields that the field manager owns by [`apply_status`](crate::client::TypedClient::apply_status), as
    /// [`extract`](Self::extract) does.
    pub fn extract_status(object: &K, field_manager: &str) -> Result<Self, serde_json::Error>
    where
        K: Serialize,
        Spec: DeserializeOwned,
        Status: DeserializeOwned,
    {
        Self::extract_from(object, field_manager, "status")
    }
}

impl<K, Spec: PartialEq, Status: PartialEq> PartialEq for ObjectApply<K, Spec, Status> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata && self.spec == other.spec && self.status == other.status
    }
}

impl<K, Spec: fmt::Debug, Status: fmt::Debug> fmt::Debug for ObjectApply<K, Spec, Status> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectApply")
            .field("metadata", &self.metadata)
            .field("spec", &self.spec)
            .field("status", &self.status)
            .finish()
    }
}

impl<K: Kind, Spec: Serialize, Status: Serialize> Serialize for ObjectApply<K, Spec, Status> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = K::info();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("apiVersion", &info.api_version())?;
        object.serialize_entry("kind", &info.kind)?;
        object.serialize_entry("metadata", &self.metadata)?;
        if let Some(spec) = &self.spec {
            object.serialize_entry("spec", spec)?;
        }
        if let Some(status) = &self.status {
            object.serialize_entry("status", status)?;
        }
        object.end()
    }
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
