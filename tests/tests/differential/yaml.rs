//! YAML parsing.

use serde_json::Value;

/// Parses a YAML document; None if it is invalid.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_saphyr::from_str(text).ok()
}
