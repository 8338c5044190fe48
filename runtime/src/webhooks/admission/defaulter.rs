//! [`Defaulter`]: changes objects before they are stored.

use super::{AdmissionError, AdmissionRequest};
use crate::Kind;

/// Changes objects of kind `K` before they are validated and stored: a custom kind, or any other, such as Pods.
///
/// Register it with [`Setup::defaulter`](crate::controller::Setup::defaulter). The answer is a JSON patch with what the defaulter changed
/// and nothing else. Fields that the Rust type does not have are kept, also in elements of lists, where an element is recognized: it did
/// not change, or it has the same `name`, or the list has the same length and the element the same place.
///
/// Beyond that, what [`Validator`](super::Validator) may assume holds. A defaulter may be called again with its own result: it must be
/// idempotent. A change that needs a patch of more than 3 MiB is denied: no API server stores objects of that size. The default of a field that never depends on anything belongs into the schema, which needs no webhook.
pub trait Defaulter<K: Kind>: Send + Sync + 'static {
    /// Changes a new object, or the new version of one. May also deny it.
    fn set_defaults(
        &self,
        object: &mut K,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<(), AdmissionError>> + Send;
}
