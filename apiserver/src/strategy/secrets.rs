//! The strategy of Secrets.

use crate::meta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Moves `stringData` to `data`.
pub(super) fn merge_string_data(secret: &mut Value) {
    let string_data = match secret {
        Value::Object(fields) => fields.remove("stringData"),
        _ => None,
    };
    if let Some(Value::Object(string_data)) = string_data {
        let data = meta::entry_mut(secret, "data");
        for (key, value) in string_data {
            data.insert(key, json!(STANDARD.encode(value.as_str().unwrap_or_default())));
        }
    }
}

/// Returns why the data of a TLS secret is not a certificate with a key, judged by its PEM blocks.
pub(super) fn key_pair_error(secret: &Value) -> Option<String> {
    if secret["type"] != "kubernetes.io/tls" {
        return None;
    }
    let blocks = |key: &str| -> Vec<String> {
        let bytes = STANDARD.decode(secret["data"][key].as_str().unwrap_or_default());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        let block_starts = text.lines().filter_map(|line| line.strip_prefix("-----BEGIN "));
        block_starts
            .filter_map(|rest| rest.trim_end().strip_suffix("-----"))
            .filter(|name| text.contains(&format!("-----END {name}-----")))
            .map(str::to_owned)
            .collect()
    };
    let is_key = |name: &String| name == "PRIVATE KEY" || name.ends_with(" PRIVATE KEY");
    let (certificates, keys) = (blocks("tls.crt"), blocks("tls.key"));
    let reason = if certificates.is_empty() {
        "failed to find any PEM data in certificate input".to_owned()
    } else if certificates.iter().any(|name| name == "CERTIFICATE") {
        if keys.is_empty() {
            "failed to find any PEM data in key input".to_owned()
        } else if keys.iter().any(is_key) {
            return None;
        } else if keys == ["CERTIFICATE"] {
            "found a certificate rather than a key in the PEM for the private key".to_owned()
        } else {
            format!(
                "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the \
                 following types: [{}]",
                keys.join(" ")
            )
        }
    } else if let [only] = certificates.as_slice()
        && is_key(only)
    {
        "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
            .to_owned()
    } else {
        format!(
            "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]",
            certificates.join(" ")
        )
    };
    Some(format!("tls: {reason}"))
}
