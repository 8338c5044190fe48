//! Server-side apply.

use super::{Bodied, Registry, Target, Written};
use crate::status::ApiError;

impl Registry {
    /// Applies a configuration: the object has these fields, and whoever has others keeps them.
    pub(super) fn apply(&self, _: &Target, _: &str, _: &[u8], _: Bodied<'_>) -> Result<Written, ApiError> {
        Err(ApiError::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
        ]))
    }
}
