//! The typed client of one kind: get, create, update, patch, delete.

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

/// A client for objects of kind `K` that can use the verbs `V`.
///
/// `V` is a tuple of verbs, `(Get, Apply)`; a method of another verb does not compile. In an operator `setup.client()` creates clients,
/// and the operator's role follows from their types.
///
/// An object of a namespaced kind must name its namespace; none is assumed. Every write carries the connection's field manager.
/// With leader election, a write of a replica that does not lead fails before it is sent; see [`unfenced`](Self::unfenced).
/// If a future is dropped before it is ready, its request may or may not have been carried out. Methods do not panic.
///
/// # Retries
///
/// A request that is refused with 429, 500, 502, 503 or 504 (or another 5xx with `Retry-After`) is resent, three times at most, if it is
/// idempotent: every read, `apply`, and `delete` with a precondition, which cannot delete another object of the same name (but the retry
/// may find that the object is gone). The delay is `Retry-After`, else 100, 200, 400 ms. A `Retry-After` of more than 10 s is not waited
/// for; [`ClientError::retry_after`] returns it. Other writes are sent once: the reconciler has to see whether a create, an update or a
/// patch was carried out before it failed. A request without a response is never resent. In a reconcile, return the error: the work queue
/// retries with backoff. [`retry_on_conflict`](super::retry_on_conflict) is for changes that cannot wait for that.
///
/// # Which write to choose
///
/// [`apply`](Self::apply) sends the fields that the operator owns and does not touch others. Prefer it.
///
/// [`update`](Self::update) and [`update_status`](Self::update_status) replace the whole object by the fields of the compiled type:
/// **a field that the API server knows and the type lacks is dropped**, for instance one of a newer version of Kubernetes, or of a
/// CustomResourceDefinition that was changed after the operator was built. Use them if the operator owns the whole object, or its whole
/// status.
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

/// The future response of the API server. Nothing is sent before it is awaited. It borrows nothing: the written object is serialized first.
pub type ResponseFuture<T> = BoxFuture<'static, Result<T, ClientError>>;

impl<K, V> TypedClient<K, V> {
    /// Creates a client. In an operator use `setup.client()`, which records the permissions for the operator's role.
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
    /// Returns the same client for writes that every replica may send, not only the leader; see [`Connection::unfenced`].
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self {
            connection: self.connection.unfenced(),
            types: PhantomData,
        }
    }
}

impl<K: Kind, V> TypedClient<K, V> {
    /// Reads one object from the API server (a quorum read; a lister reads from the cache).
    pub fn get<At>(&self, name: &NamespacedName) -> ResponseFuture<K>
    where
        V: MayGet<At>,
    {
        self.send(ApiRequest::object(K::info(), "get", name).and_then(|request| {
            let http_request = request.builder().get(request.name(), &GetParams::default());
            request.prepare(http_request)
        }))
    }

    /// Creates an object and returns it as stored. With `generateName` the API server chooses the name.
    pub fn create<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: kube::Resource + Serialize,
        V: MayCreate<At>,
    {
        self.create_returning(object)
    }

    /// Creates an object, as [`create`](Self::create), and decodes the stored object as another type, such as kube's
    /// `PartialObjectMeta`. For many objects of which little is read: decoding takes longer than anything else here.
    pub fn create_returning<T, At>(&self, object: &K) -> ResponseFuture<T>
    where
        T: DeserializeOwned + 'static,
        K: kube::Resource + Serialize,
        V: MayCreate<At>,
    {
        let meta = object.meta();
        let request = ApiRequest::new(K::info(), "create", meta.namespace.as_deref())
            .and_then(ApiRequest::in_namespace);
        self.send(request.and_then(|mut request| {
            request.name = meta.name.clone().or_else(|| meta.generate_name.clone());
            if request.name.is_none() {
                return Err(request.refuse("the object has neither metadata.name nor metadata.generateName"));
            }
            let (request, body) = request.body(object)?;
            let http_request = request.builder().create(&self.post_params(), body);
            request.prepare(http_request)
        }))
    }

    /// Replaces an object and returns it as stored.
    ///
    /// With `metadata.resourceVersion`, which every object that was read has, it fails with a conflict if the object changed since.
    /// Fields that `K` lacks are dropped, see [`TypedClient`]. `metadata.managedFields` is sent if `object` has it, as client-go does;
    /// cached objects lack it, and the API server keeps its own then.
    pub fn update<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: kube::Resource + Serialize,
        V: MayUpdate<At>,
    {
        self.send(self.prepare_update(NamespacedName::of(object.meta()), None, object))
    }

    /// Patches an object and returns it as stored.
    pub fn patch<At>(&self, name: &NamespacedName, patch: &PatchBody<impl Serialize>) -> ResponseFuture<K>
    where
        V: MayPatch<At>,
    {
        self.send(self.prepare_patch(name, None, patch))
    }

    /// Deletes an object. It may continue to exist until its finalizers are removed and its grace period is over.
    ///
    /// `DeleteParams` has the propagation policy, the grace period and preconditions: another uid or resource version is a conflict.
    pub fn delete<At>(&self, name: &NamespacedName, params: &DeleteParams) -> ResponseFuture<()>
    where
        V: MayDelete<At>,
    {
        let prepared = ApiRequest::object(K::info(), "delete", name).and_then(|request| {
            let http_request = request.builder().delete(request.name(), params);
            let prepared = request.prepare(http_request)?;
            Ok(match params.preconditions {
                Some(_) => prepared.repeatable(),
                None => prepared,
            })
        });
        // The response is a Status, or the object if it has finalizers.
        let response = self.send::<IgnoredAny>(prepared);
        Box::pin(async { response.await.map(drop) })
    }

    /// Deletes all objects of a namespace, or of all namespaces, that match the selectors of `selected`; without selectors: all.
    ///
    /// The API server deletes them one by one, as [`delete`](Self::delete) does, and may fail half way. The request can be retried then.
    pub fn delete_collection<At>(
        &self,
        namespace: Option<&str>,
        selected: &ListParams,
        params: &DeleteParams,
    ) -> ResponseFuture<()>
    where
        V: MayDeleteCollection<At>,
    {
        let prepared = ApiRequest::new(K::info(), "delete all", namespace).and_then(|request| {
            let http_request = request.builder().delete_collection(params, selected);
            request.prepare(http_request)
        });
        // The response is a Status, or the list of the deleted objects.
        let response = self.send::<IgnoredAny>(prepared);
        Box::pin(async { response.await.map(drop) })
    }

    /// Sends a prepared request, or returns the error of its preparation, when awaited.
    pub(super) fn send<T: DeserializeOwned + 'static>(
        &self,
        prepared: Result<PreparedRequest, ClientError>,
    ) -> ResponseFuture<T> {
        let connection = self.connection.clone();
        Box::pin(async move { prepared?.fetch(&connection).await })
    }

    pub(super) fn prepare_update(
        &self,
        name: Option<NamespacedName>,
        subresource: Option<&'static str>,
        object: &impl Serialize,
    ) -> Result<PreparedRequest, ClientError> {
        let Some(name) = name else {
            let request = ApiRequest::new(K::info(), "update", None)?.subresource(subresource);
            return Err(request.refuse("the object has no metadata.name"));
        };
        let request = ApiRequest::object(K::info(), "update", &name)?.subresource(subresource);
        let (request, body) = request.body(object)?;
        let (builder, params) = (request.builder(), self.post_params());
        let http_request = match subresource {
            None => builder.replace(request.name(), &params, body),
            Some(subresource) => builder.replace_subresource(subresource, request.name(), &params, body),
        };
        request.prepare(http_request)
    }

    pub(super) fn prepare_patch(
        &self,
        name: &NamespacedName,
        subresource: Option<&'static str>,
        patch: &PatchBody<impl Serialize>,
    ) -> Result<PreparedRequest, ClientError> {
        let request = ApiRequest::object(K::info(), "patch", name)?.subresource(subresource);
        let params = PatchParams {
            field_manager: Some(self.connection.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let (request, body) = request.body(patch.value())?;
        let http_request = request.patch(&params, patch.content_type(), body);
        request.prepare(http_request)
    }

    fn post_params(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.connection.field_manager().to_owned()),
        }
    }
}
