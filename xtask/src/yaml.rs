//! YAML parsing.

use anyhow::Result;
use serde_json::Value;

/// Parses a text with a single document.
pub(crate) fn parse(text: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(text)?)
}
