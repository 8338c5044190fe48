//! The client of one kind.

use std::marker::PhantomData;

use kube::core::params::{DeleteParams, GetParams, PatchParams, PostParams};
use serde::Serialize;

use super::{
    Allows, ClientError, Connection, Create, Delete, Get, Patch, PatchBody, Update, Verbs, call::Call,
};
use crate::{Kind, ObjectName};

/// Reads and writes objects of kind `K` with the verbs `V`.
///
/// `V` is a tuple of verbs, `(Get, Apply)`; a method of another verb does not compile. In an operator `setup.client()` makes clients,
/// and the operator's role follows from their types.
///
/// Names are those of the API: an object of a namespaced kind must say its namespace, nothing is put in its place. Requests are sent
/// once and not repeated; see [`retry_on_conflict`](super::retry_on_conflict). Every write carries the connection's field manager.
/// Dropping a future before it is ready may leave its request carried out or not. Methods do not panic.
///
/// # Which write to choose
///
/// [`apply`](Self::apply) sends the fields that the operator wants to own and leaves all others alone. Prefer it.
///
/// [`update`](Self::update) and [`update_status`](Self::update_status) replace the whole object by what the compiled type knows of it:
/// **a field that the API server has and the type has not is dropped**, be it of a newer version of Kubernetes or of a definition that
/// was changed after the operator was built. Use them where the operator owns the whole object, or its whole status.
pub struct TypedClient<K, V> {
    pub(super) connection: Connection,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for TypedClient<K, V> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            types: PhantomData,
        }
    }
}

impl<K: Kind, V: Verbs<K>> TypedClient<K, V> {
    /// A client of `connection`. In an operator use `setup.client()`, which records what the operator's role must allow.
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            types: PhantomData,
        }
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Reads one object from the API server, as it is now.
    pub async fn get<At>(&self, name: &ObjectName) -> Result<K, ClientError>
    where
        V: Allows<Get, At>,
    {
        let call = Call::object(K::info(), "get", name)?;
        let request = call.request().get(call.name(), &GetParams::default());
        call.fetch(&self.connection, request).await
    }

    /// Creates an object and returns what the API server made of it. With `generateName` it chooses the name.
    pub async fn create<At>(&self, object: &K) -> Result<K, ClientError>
    where
        K: kube::Resource + Serialize,
        V: Allows<Create, At>,
    {
        let meta = object.meta();
        let mut call = Call::new(K::info(), "create", meta.namespace.as_deref())?.in_namespace()?;
        call.name = meta.name.clone().or_else(|| meta.generate_name.clone());
        if call.name.is_none() {
            return Err(call.refuse("the object has neither metadata.name nor metadata.generateName"));
        }
        let (call, body) = call.body(object)?;
        let request = call.request().create(&self.post_params(), body);
        call.fetch(&self.connection, request).await
    }

    /// Replaces an object and returns what the API server made of it.
    ///
    /// With `metadata.resourceVersion`, which every object that was read carries, it is a conflict if the object changed since.
    /// Fields that `K` does not know are dropped, see [`TypedClient`]. `metadata.managedFields` is sent if `object` has it, as client-go
    /// does; objects of the cache have not, and the API server then keeps its own.
    pub async fn update<At>(&self, object: &K) -> Result<K, ClientError>
    where
        K: kube::Resource + Serialize,
        V: Allows<Update, At>,
    {
        self.replace(object, None).await
    }

    /// Changes parts of an object and returns what the API server made of it.
    pub async fn patch<At>(
        &self,
        name: &ObjectName,
        patch: &PatchBody<impl Serialize>,
    ) -> Result<K, ClientError>
    where
        V: Allows<Patch, At>,
    {
        self.send_patch(name, None, patch).await
    }

    /// Deletes an object. The API server may still have it for a while: until its finalizers are gone, or its grace period is over.
    ///
    /// `DeleteParams` has the propagation policy, the grace period and preconditions: uid and resource version that must fit,
    /// otherwise it is a conflict.
    pub async fn delete<At>(&self, name: &ObjectName, params: &DeleteParams) -> Result<(), ClientError>
    where
        V: Allows<Delete, At>,
    {
        let call = Call::object(K::info(), "delete", name)?;
        let request = call.request().delete(call.name(), params);
        call.send(&self.connection, request).await?;
        Ok(())
    }

    pub(super) async fn replace(
        &self,
        object: &K,
        subresource: Option<&'static str>,
    ) -> Result<K, ClientError>
    where
        K: kube::Resource + Serialize,
    {
        let Some(name) = ObjectName::of(object.meta()) else {
            return Err(Call::new(K::info(), "update", None)?.refuse("the object has no metadata.name"));
        };
        let call = Call::object(K::info(), "update", &name)?.subresource(subresource);
        let (call, body) = call.body(object)?;
        let (request, params) = (call.request(), self.post_params());
        let request = match subresource {
            None => request.replace(call.name(), &params, body),
            Some(subresource) => request.replace_subresource(subresource, call.name(), &params, body),
        };
        call.fetch(&self.connection, request).await
    }

    pub(super) async fn send_patch<T: serde::de::DeserializeOwned>(
        &self,
        name: &ObjectName,
        subresource: Option<&'static str>,
        patch: &PatchBody<impl Serialize>,
    ) -> Result<T, ClientError> {
        let call = Call::object(K::info(), "patch", name)?.subresource(subresource);
        let params = PatchParams {
            field_manager: Some(self.connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let (call, body) = call.body(patch.value())?;
        let request = call.patch(&params, patch.content_type(), body);
        call.fetch(&self.connection, request).await
    }

    pub(super) fn post_params(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.connection.field_manager().to_owned()),
        }
    }
}
