//! Who owns which fields.

use super::{Bodied, Registry, Target};
use serde_json::Value;

impl Registry {
    /// Notes who changed which fields.
    pub(super) fn track_fields(
        &self,
        _target: &Target,
        _before: Option<&Value>,
        _object: &mut Value,
        _part: &str,
        _by: Bodied<'_>,
    ) {
    }
}
