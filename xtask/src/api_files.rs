//! What the generators of the API server's tables share: Go modules, which they read, and files, which they write.

use anyhow::{Context as _, bail};
use kubewright_control_plane::kubernetes_version;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of a Go module, which is downloaded if missing.
pub(crate) fn download_module(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{name}@{version}")])
        .output()
        .context("cannot run go, which downloads Kubernetes' modules: install Go")?;
    let output_json: Value =
        serde_json::from_slice(&output.stdout).context("go mod download: invalid JSON output")?;
    match output_json["Dir"].as_str() {
        Some(folder) => Ok(folder.into()),
        None => bail!("go mod download {name}@{version}: {}", output_json["Error"]),
    }
}

/// Returns the version of Kubernetes' staging modules, which is `v0.X.Y` for `v1.X.Y`.
pub(crate) fn staging_version() -> String {
    kubernetes_version().replacen("v1.", "v0.", 1)
}

/// Writes a file if its text differs; with `check`, fails if it does.
pub(crate) fn write_or_check(path: &Path, text: &str, check: bool) -> anyhow::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|current| current == text) {
        return Ok(());
    }
    if check {
        bail!(
            "{} is stale: run the same command without --check",
            path.display()
        );
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
