//! Status and scale.

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

// The bounds on K stand at the methods: there the compiler says what the kind lacks.
impl<K: Kind, V> TypedClient<K, V> {
    /// Replaces the status and returns the object. The API server ignores everything else in `object`.
    ///
    /// Conflicts are as in [`update`](Self::update), and so are fields that `K` does not know: they are dropped.
    pub fn update_status<At>(&self, object: &K) -> ResponseFuture<K>
    where
        K: WithStatus + kube::Resource + Serialize,
        V: MayUpdateStatus<At>,
    {
        self.answer(self.replace(NamespacedName::of(object.meta()), STATUS, object))
    }

    /// Changes parts of the status and returns the object. The patch is one of the object: `{"status": …}`.
    pub fn patch_status<At>(
        &self,
        name: &NamespacedName,
        patch: &PatchBody<impl Serialize>,
    ) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayPatchStatus<At>,
    {
        self.answer(self.change(name, STATUS, patch))
    }

    /// Server-side apply of the status, as [`apply`](Self::apply); the object must exist. What is applied has `metadata.name` and `status`.
    pub fn apply_status<At>(&self, object: &impl Serialize) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayApplyStatus<At>,
    {
        self.answer(self.applied(STATUS, object, &ApplyOptions::new()))
    }

    /// [`apply_status`](Self::apply_status) with options.
    pub fn apply_status_with<At>(&self, object: &impl Serialize, options: &ApplyOptions) -> ResponseFuture<K>
    where
        K: WithStatus,
        V: MayApplyStatus<At>,
    {
        self.answer(self.applied(STATUS, object, options))
    }

    /// Reads the scale: the replicas that are wanted and those that are there.
    pub fn scale<At>(&self, name: &NamespacedName) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayGetScale<At>,
    {
        self.answer(ApiRequest::object(K::info(), "get", name).and_then(|call| {
            let call = call.subresource(SCALE);
            let request = call.request().get_subresource("scale", call.name());
            call.prepare(request)
        }))
    }

    /// Replaces the scale that was read; a conflict if the object changed since.
    pub fn update_scale<At>(&self, scale: &Scale) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayUpdateScale<At>,
    {
        self.answer(self.replace(NamespacedName::of(&scale.metadata), SCALE, scale))
    }

    /// Sets the number of replicas without reading it first.
    pub fn scale_to<At>(&self, name: &NamespacedName, replicas: i32) -> ResponseFuture<Scale>
    where
        K: WithScale,
        V: MayUpdateScale<At>,
    {
        let patch = PatchBody::Merge(serde_json::json!({"spec": {"replicas": replicas}}));
        self.answer(self.change(name, SCALE, &patch))
    }
}
