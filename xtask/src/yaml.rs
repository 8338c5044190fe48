//! YAML, read in one place.

use anyhow::Result;
use serde_json::Value;

/// The one document of a text.
pub(crate) fn read(text: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(text)?)
}
