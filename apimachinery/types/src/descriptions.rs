//! The descriptions of types and fields in the published OpenAPI: `texts.zst`, which `cargo xtask api-texts` writes. It is decompressed on
//! first use.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Descriptions by type, then by field.
type Descriptions = HashMap<String, HashMap<String, String>>;

static DESCRIPTIONS: LazyLock<Descriptions> =
    LazyLock::new(|| decompress(include_bytes!("texts.zst")).unwrap_or_default());

/// Upper limit of the decompressed size, in bytes; the table is smaller.
const MAX_DECOMPRESSED_BYTES: usize = 4 << 20;

fn decompress(compressed: &[u8]) -> Option<Descriptions> {
    let size = zstd_safe::get_frame_content_size(compressed).ok()??;
    let mut text = Vec::with_capacity(usize::try_from(size).ok()?.min(MAX_DECOMPRESSED_BYTES));
    zstd_safe::decompress(&mut text, compressed).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the description of a field of a type, such as `core.v1.PodSpec` and `nodeName`; for an empty field name, that of the type
/// itself.
pub fn description(ty: &str, field: &str) -> Option<&'static str> {
    DESCRIPTIONS.get(ty)?.get(field).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::description;

    #[test]
    fn types_and_fields_have_descriptions() {
        assert!(
            description("core.v1.Pod", "")
                .unwrap()
                .starts_with("Pod is a collection of containers")
        );
        assert!(description("meta.v1.ObjectMeta", "name").is_some());
        assert_eq!(description("core.v1.Pod", "nope"), None);
    }
}
