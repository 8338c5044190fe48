//! YAML parsing.

use serde_json::Value;

/// Parses a YAML document; None if it is invalid.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_saphyr::from_str(text).ok()
}

/// As [`read`], but only `true` and `false` are booleans: Go writes the text `yes` into OpenAPI documents without quotes, and reads it so.
pub(crate) fn read_strictly(text: &str) -> Option<Value> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true }).ok()
}
