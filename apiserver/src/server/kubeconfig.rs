//! Kubeconfig files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;

const NAME: &str = "kubewright";

/// Returns a kubeconfig in JSON, which is also YAML.
pub(super) fn to_text(url: &str, authority: Option<&str>, token: &str, namespace: &str) -> String {
    let mut cluster = json!({ "server": url });
    if let Some(pem) = authority {
        cluster["certificate-authority-data"] = json!(STANDARD.encode(pem));
    }
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": NAME,
        "clusters": [{ "name": NAME, "cluster": cluster }],
        "contexts": [{ "name": NAME, "context": { "cluster": NAME, "user": NAME, "namespace": namespace } }],
        "users": [{ "name": NAME, "user": { "token": token } }],
    });
    format!("{config:#}\n")
}

/// Writes a file with mode 0600.
pub(super) fn write_private_file(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}
