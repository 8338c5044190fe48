//! The subresources status and scale.

use k8s_openapi::api::autoscaling::v1::Scale;
use serde::Serialize;

use super::{
    ApplyOptions, PatchBody, ResponseFuture, TypedClient,
    may::{MayApplyStatus, MayGetScale, MayPatchStatus, MayUpdateScale, MayUpdateStatus},
    request::ApiRequest,
};
use crate::{Kind, NamespacedName, WithScale, WithStatus};

const STATUS: Option<&str> = Some("status");
const SCALE: Option<&str> = Some("scale");

// The bounds on K are at the methods: so the compiler's error names the missing subresource.
impl<K: Kind, V> TypedClient<K, V> {
    /// Replaces the status and returns the object. The API server ignores all other fields of `object`.
    ///
    /// As with [`update`](Self::update), a changed object is a conflict, and fields that `K` lacks are dropped.
    pub fn update_status<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: WithStatus + kube::Resource + Serialize,
        V: MayUpdateStatus<At>,
    {
        self.send(self.prepare_update(NamespacedName::of(object.meta()), STATUS, object))
    }

    /// Patches the status and returns the object. The patch is relative to the object: `{"status": …}`.
    pub fn patch_status<At>(
        &self,
        name: &NamespacedName,
        patch: &PatchBody<impl Serialize>,
    ) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayPatchStatus<At>,
    {
        self.send(self.prepare_patch(name, STATUS, patch))
    }

    /// Server-side apply of the status; the object must exist. The intent has `metadata.name` and `status`.
    ///
    /// As [`apply`](Self::apply), it sends no request if the informers' caches show that it would change nothing. The returned object comes
    /// from the cache then and lacks `metadata.managedFields`.
    pub fn apply_status<At>(&self, object: &impl Serialize) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayApplyStatus<At>,
    {
        self.send(self.prepare_apply(STATUS, object, &ApplyOptions::new()))
    }

    /// [`apply_status`](Self::apply_status) with options.
    pub fn apply_status_with<At>(&self, object: &impl Serialize, options: &ApplyOptions) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayApplyStatus<At>,
    {
        self.send(self.prepare_apply(STATUS, object, options))
    }

    /// Reads the scale: desired and actual replicas.
    pub fn scale<At>(&self, name: &NamespacedName) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayGetScale<At>,
    {
        self.send(ApiRequest::object(K::info(), "get", name).and_then(|request| {
            let request = request.subresource(SCALE);
            let http_request = request.builder().get_subresource("scale", request.name());
            request.prepare(http_request)
        }))
    }

    /// Replaces the scale. It fails with a conflict if the object changed since it was read.
    pub fn update_scale<At>(&self, scale: &Scale) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayUpdateScale<At>,
    {
        self.send(self.prepare_update(NamespacedName::of(&scale.metadata), SCALE, scale))
    }

    /// Sets the number of replicas without reading it first.
    pub fn scale_to<At>(&self, name: &NamespacedName, replicas: i32) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayUpdateScale<At>,
    {
        let patch = PatchBody::Merge(serde_json::json!({"spec": {"replicas": replicas}}));
        self.send(self.prepare_patch(name, SCALE, &patch))
    }
}
