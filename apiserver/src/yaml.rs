//! YAML, read and written in one place.

use serde_json::Value;

/// One document.
pub(crate) fn read(text: &str) -> Result<Value, Box<serde_saphyr::Error>> {
    serde_saphyr::from_str(text).map_err(Box::new)
}

/// One document.
pub(crate) fn write(value: &Value) -> Result<String, serde_saphyr::SerializeError> {
    let mut text = String::new();
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)?;
    Ok(text)
}
