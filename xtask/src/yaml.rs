//! YAML parsing.

use anyhow::Result;
use serde_json::Value;

/// Parses all documents of a text; empty ones are left out.
pub(crate) fn parse_all(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

/// Parses a text with a single document.
pub(crate) fn parse(text: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str(text)?)
}
