//! [`Validator`]: accepts or denies writes of one kind.

use super::{AdmissionError, AdmissionRequest, Validation};
use crate::Kind;

/// Accepts or denies writes of kind `K`: a custom kind, or any other, such as Pods.
///
/// Register it with [`Setup::validator`](crate::controller::Setup::validator). The methods may be written as `async fn`; the defaults
/// accept. The type's fields may be listers and typed clients.
///
/// ```
/// # use kubewright::webhooks::{AdmissionError, AdmissionRequest, Validation, Validator};
/// # use k8s_openapi::api::apps::v1::Deployment;
/// struct Replicas;
///
/// impl Validator<Deployment> for Replicas {
///     async fn create(&self, new: &Deployment, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
///         let mut validation = Validation::new();
///         match new.spec.as_ref().and_then(|spec| spec.replicas) {
///             Some(replicas) if replicas > 50 => validation.invalid("spec.replicas", replicas, "must be at most 50"),
///             Some(1) => validation.warn("one replica is not highly available"),
///             _ => {}
///         }
///         Ok(validation)
///     }
///
///     async fn update(&self, new: &Deployment, old: &Deployment, request: &AdmissionRequest) -> Result<Validation, AdmissionError> {
///         if new.metadata.labels != old.metadata.labels {
///             return Err(AdmissionError::forbidden("labels cannot be changed"));
///         }
///         self.create(new, request).await
///     }
/// }
/// ```
///
/// # What a validator may assume
///
/// - It sees the object as it will be stored: after defaults, and after all mutating webhooks.
/// - The API server may call it more than once for one write, and the write may fail later. It must not have side effects.
/// - Calls are concurrent. A slow call delays only the write that it is about, up to the timeout; then the failure policy decides. It must
///   not block the thread.
/// - An `Err` other than [`AdmissionError::forbidden`], and a panic, do not deny the write: the failure policy decides. They are logged and
///   returned to the API server; the message of a panic is not if the kind is Secret, or marked as sensitive.
/// - A stored object that does not decode is such a failure. A new one is denied, with the field that is wrong.
pub trait Validator<K: Kind>: Send + Sync + 'static {
    /// Checks a new object.
    fn create(
        &self,
        object: &K,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<Validation, AdmissionError>> + Send {
        let _ = (object, request);
        async { Ok(Validation::new()) }
    }

    /// Checks a change from `old` to `object`. Also called for updates of an object that is being deleted, such as the removal of its
    /// finalizers: what is not changed should not be denied.
    fn update(
        &self,
        object: &K,
        old: &K,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<Validation, AdmissionError>> + Send {
        let _ = (object, old, request);
        async { Ok(Validation::new()) }
    }

    /// Checks a deletion.
    fn delete(
        &self,
        object: &K,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<Validation, AdmissionError>> + Send {
        let _ = (object, request);
        async { Ok(Validation::new()) }
    }
}
