//! Status and scale.

use k8s_openapi::api::autoscaling::v1::Scale;
use kube::core::params::PostParams;
use serde::Serialize;

use super::{
    Allows, ApplyOptions, ApplyStatus, ClientError, GetScale, PatchBody, PatchStatus, TypedClient,
    UpdateScale, UpdateStatus, call::Call,
};
use crate::{ObjectName, WithScale, WithStatus};

const STATUS: Option<&str> = Some("status");
const SCALE: Option<&str> = Some("scale");

impl<K: WithStatus, V> TypedClient<K, V> {
    /// Replaces the status and returns the object. The API server ignores everything else in `object`.
    ///
    /// Conflicts are as in [`update`](Self::update), and so are fields that `K` does not know: they are dropped.
    pub async fn update_status<At>(&self, object: &K) -> Result<K, ClientError>
    where
        K: kube::Resource + Serialize,
        V: Allows<UpdateStatus, At>,
    {
        self.replace(object, STATUS).await
    }

    /// Changes parts of the status and returns the object. The patch is one of the object: `{"status": …}`.
    pub async fn patch_status<At>(
        &self,
        name: &ObjectName,
        patch: &PatchBody<impl Serialize>,
    ) -> Result<K, ClientError>
    where
        V: Allows<PatchStatus, At>,
    {
        self.send_patch(name, STATUS, patch).await
    }

    /// Server-side apply of the status, as [`apply`](Self::apply); the object must exist. What is applied has `metadata.name` and `status`.
    pub async fn apply_status<At>(&self, object: &impl Serialize) -> Result<K, ClientError>
    where
        V: Allows<ApplyStatus, At>,
    {
        self.send_apply(STATUS, object, &ApplyOptions::new()).await
    }

    /// [`apply_status`](Self::apply_status) with options.
    pub async fn apply_status_with<At>(
        &self,
        object: &impl Serialize,
        options: &ApplyOptions,
    ) -> Result<K, ClientError>
    where
        V: Allows<ApplyStatus, At>,
    {
        self.send_apply(STATUS, object, options).await
    }
}

impl<K: WithScale, V> TypedClient<K, V> {
    /// Reads the scale: the replicas that are wanted and those that are there.
    pub async fn scale<At>(&self, name: &ObjectName) -> Result<Scale, ClientError>
    where
        V: Allows<GetScale, At>,
    {
        let call = Call::object(K::info(), "get", name)?.subresource(SCALE);
        let request = call.request().get_subresource("scale", call.name());
        call.fetch(&self.connection, request).await
    }

    /// Replaces the scale that was read; a conflict if the object changed since.
    pub async fn update_scale<At>(&self, scale: &Scale) -> Result<Scale, ClientError>
    where
        V: Allows<UpdateScale, At>,
    {
        let Some(name) = ObjectName::of(&scale.metadata) else {
            return Err(Call::new(K::info(), "update", None)?
                .subresource(SCALE)
                .refuse("the scale has no metadata.name"));
        };
        let call = Call::object(K::info(), "update", &name)?.subresource(SCALE);
        let (call, body) = call.body(scale)?;
        let params: PostParams = self.post_params();
        let request = call
            .request()
            .replace_subresource("scale", call.name(), &params, body);
        call.fetch(&self.connection, request).await
    }

    /// Sets the number of replicas without reading it first.
    pub async fn scale_to<At>(&self, name: &ObjectName, replicas: i32) -> Result<Scale, ClientError>
    where
        V: Allows<UpdateScale, At>,
    {
        let patch = PatchBody::Merge(serde_json::json!({"spec": {"replicas": replicas}}));
        self.send_patch(name, SCALE, &patch).await
    }
}
