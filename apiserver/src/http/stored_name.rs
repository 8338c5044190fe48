//! The names of stored objects, as kube-apiserver checks them when it looks for one, whether the path or the body has the name.

use crate::meta::names;
use crate::quote::quoted;
use crate::status::ApiError;

/// Refuses a name under which nothing can be stored.
pub(super) fn check_stored_name(name: &str) -> Result<(), ApiError> {
    if name.is_empty() {
        return Err(ApiError::bad_request("Name parameter required."));
    }
    let errors = names::path_segment_errors(name);
    if errors.is_empty() {
        return Ok(());
    }
    let (name, why) = (quoted(name), errors.join(";"));
    Err(ApiError::bad_request(format!(
        "Name parameter invalid: {name}: {why}"
    )))
}
