//! What the published OpenAPI says of types and fields in words: `texts.zst`, which `cargo xtask api-texts` writes. It is unpacked when
//! somebody first asks.

use std::collections::HashMap;
use std::sync::LazyLock;

/// By type, then by field.
type Texts = HashMap<String, HashMap<String, String>>;

static TEXTS: LazyLock<Texts> = LazyLock::new(|| unpack(include_bytes!("texts.zst")).unwrap_or_default());

/// More than the texts are long: what is unpacked is never longer.
const MOST: usize = 4 << 20;

fn unpack(packed: &[u8]) -> Option<Texts> {
    let size = zstd_safe::get_frame_content_size(packed).ok()??;
    let mut text = Vec::with_capacity(usize::try_from(size).ok()?.min(MOST));
    zstd_safe::decompress(&mut text, packed).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The text of a field of a type, as `core.v1.PodSpec` and `nodeName`; that of the type itself for an empty name.
pub fn text(ty: &str, field: &str) -> Option<&'static str> {
    TEXTS.get(ty)?.get(field).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn types_and_fields_have_texts() {
        assert!(
            text("core.v1.Pod", "")
                .unwrap()
                .starts_with("Pod is a collection of containers")
        );
        assert!(text("meta.v1.ObjectMeta", "name").is_some());
        assert_eq!(text("core.v1.Pod", "nope"), None);
    }
}
