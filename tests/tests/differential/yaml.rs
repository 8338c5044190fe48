//! YAML, read in one place.

use serde_json::Value;

/// A document that a server wrote; None for what is none.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_saphyr::from_str(text).ok()
}
