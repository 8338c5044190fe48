//! The client of one kind.

use std::marker::PhantomData;

use futures::future::BoxFuture;
use kube::core::params::{DeleteParams, GetParams, ListParams, PatchParams, PostParams};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{
    ClientError, Connection, PatchBody, Verbs,
    may::{MayCreate, MayDelete, MayDeleteCollection, MayGet, MayPatch, MayUpdate},
    request::{ApiRequest, PreparedRequest},
};
use crate::{Kind, NamespacedName};

/// Reads and writes objects of kind `K` with the verbs `V`.
///
/// `V` is a tuple of verbs, `(Get, Apply)`; a method of another verb does not compile. In an operator `setup.client()` makes clients,
/// and the operator's role follows from their types.
///
/// Names are those of the API: an object of a namespaced kind must say its namespace, nothing is put in its place. Every write carries
/// the connection's field manager.
/// With leader election a write of a replica that does not lead is refused before it is sent; see [`unfenced`](Self::unfenced).
/// Dropping a future before it is ready may leave its request carried out or not. Methods do not panic.
///
/// # What is sent again
///
/// A request that is refused with 429, 500, 502, 503 or 504 (or another 5xx with `Retry-After`) is sent again, three times at most, if
/// sending it twice does what sending it once does: every read, `apply`, and `delete` with a precondition, which cannot hit another object
/// of the name; its repetition may find that the object is gone already. The pause is what `Retry-After` asks for, else 100, 200, 400 ms;
/// a server that asks for more than 10 s is not waited for, and the error says [how long](ClientError::retry_after). Other writes are sent
/// once: whether a create, an update or a patch was carried out before it failed is for the reconciler to see. A request that was not
/// answered at all is never sent again. Where the queue retries, that is enough; [`retry_on_conflict`](super::retry_on_conflict) is for
/// what must not wait for it.
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

/// The API server's answer, once it is awaited; nothing is sent before that. It borrows nothing: what is written was serialised already.
pub type ResponseFuture<T> = BoxFuture<'static, Result<T, ClientError>>;

impl<K, V> TypedClient<K, V> {
    /// A client of `connection`. In an operator use `setup.client()`, which records what the operator's role must allow.
    pub fn new(connection: Connection) -> Self
    where
        K: Kind,
        V: Verbs<K>,
    {
        Self {
            connection,
            types: PhantomData,
        }
    }
}

impl<K, V> TypedClient<K, V> {
    /// The same client for what every replica may write, not only the leader; see [`Connection::unfenced`].
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self {
            connection: self.connection.unfenced(),
            types: PhantomData,
        }
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Reads one object from the API server, as it is now.
    pub fn get<At>(&self, name: &NamespacedName) -> ResponseFuture<K>
    where
        V: MayGet<At>,
    {
        self.answer(ApiRequest::object(K::info(), "get", name).and_then(|call| {
            let request = call.request().get(call.name(), &GetParams::default());
            call.prepare(request)
        }))
    }

    /// Creates an object and returns what the API server made of it. With `generateName` it chooses the name.
    pub fn create<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: kube::Resource + Serialize,
        V: MayCreate<At>,
    {
        let meta = object.meta();
        let call = ApiRequest::new(K::info(), "create", meta.namespace.as_deref())
            .and_then(ApiRequest::in_namespace);
        self.answer(call.and_then(|mut call| {
            call.name = meta.name.clone().or_else(|| meta.generate_name.clone());
            if call.name.is_none() {
                return Err(call.refuse("the object has neither metadata.name nor metadata.generateName"));
            }
            let (call, body) = call.body(object)?;
            let request = call.request().create(&self.post_params(), body);
            call.prepare(request)
        }))
    }

    /// Replaces an object and returns what the API server made of it.
    ///
    /// With `metadata.resourceVersion`, which every object that was read carries, it is a conflict if the object changed since.
    /// Fields that `K` does not know are dropped, see [`TypedClient`]. `metadata.managedFields` is sent if `object` has it, as client-go
    /// does; objects of the cache have not, and the API server then keeps its own.
    pub fn update<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: kube::Resource + Serialize,
        V: MayUpdate<At>,
    {
        self.answer(self.replace(NamespacedName::of(object.meta()), None, object))
    }

    /// Changes parts of an object and returns what the API server made of it.
    pub fn patch<At>(&self, name: &NamespacedName, patch: &PatchBody<impl Serialize>) -> ResponseFuture<K>
    where
        V: MayPatch<At>,
    {
        self.answer(self.change(name, None, patch))
    }

    /// Deletes an object. The API server may still have it for a while: until its finalizers are gone, or its grace period is over.
    ///
    /// `DeleteParams` has the propagation policy, the grace period and preconditions: uid and resource version that must fit,
    /// otherwise it is a conflict.
    pub fn delete<At>(&self, name: &NamespacedName, params: &DeleteParams) -> ResponseFuture<()>
    where
        V: MayDelete<At>,
    {
        let prepared = ApiRequest::object(K::info(), "delete", name).and_then(|call| {
            let request = call.request().delete(call.name(), params);
            let prepared = call.prepare(request)?;
            Ok(match params.preconditions {
                Some(_) => prepared.repeatable(),
                None => prepared,
            })
        });
        // A Status, or the object that waits for its finalizers.
        let answer = self.answer::<IgnoredAny>(prepared);
        Box::pin(async { answer.await.map(drop) })
    }

    /// Deletes all objects of a namespace, or of all namespaces, that the selectors of `selected` fit; without selectors: all.
    ///
    /// The API server deletes them one after the other, as [`delete`](Self::delete) does, and may fail half way; then the request can be sent
    /// again.
    pub fn delete_collection<At>(
        &self,
        namespace: Option<&str>,
        selected: &ListParams,
        params: &DeleteParams,
    ) -> ResponseFuture<()>
    where
        V: MayDeleteCollection<At>,
    {
        let prepared = ApiRequest::new(K::info(), "delete all", namespace).and_then(|call| {
            let request = call.request().delete_collection(params, selected);
            call.prepare(request)
        });
        // A Status, or the list of what was deleted.
        let answer = self.answer::<IgnoredAny>(prepared);
        Box::pin(async { answer.await.map(drop) })
    }

    /// The answer to a prepared request; what is wrong with the request is its answer.
    pub(super) fn answer<T: DeserializeOwned + 'static>(
        &self,
        prepared: Result<PreparedRequest, ClientError>,
    ) -> ResponseFuture<T> {
        let connection = self.connection.clone();
        Box::pin(async move { prepared?.fetch(&connection).await })
    }

    pub(super) fn replace(
        &self,
        name: Option<NamespacedName>,
        subresource: Option<&'static str>,
        object: &impl Serialize,
    ) -> Result<PreparedRequest, ClientError> {
        let Some(name) = name else {
            let call = ApiRequest::new(K::info(), "update", None)?.subresource(subresource);
            return Err(call.refuse("the object has no metadata.name"));
        };
        let call = ApiRequest::object(K::info(), "update", &name)?.subresource(subresource);
        let (call, body) = call.body(object)?;
        let (request, params) = (call.request(), self.post_params());
        let request = match subresource {
            None => request.replace(call.name(), &params, body),
            Some(subresource) => request.replace_subresource(subresource, call.name(), &params, body),
        };
        call.prepare(request)
    }

    pub(super) fn change(
        &self,
        name: &NamespacedName,
        subresource: Option<&'static str>,
        patch: &PatchBody<impl Serialize>,
    ) -> Result<PreparedRequest, ClientError> {
        let call = ApiRequest::object(K::info(), "patch", name)?.subresource(subresource);
        let params = PatchParams {
            field_manager: Some(self.connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let (call, body) = call.body(patch.value())?;
        let request = call.patch(&params, patch.content_type(), body);
        call.prepare(request)
    }

    fn post_params(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.connection.field_manager().to_owned()),
        }
    }
}
