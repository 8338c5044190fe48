//! What cargo says of the packages of a workspace.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Returns the packages of the workspace with this manifest, as `cargo metadata` prints them.
pub(crate) fn packages(manifest: &Path) -> anyhow::Result<Vec<Value>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata of {}: {}",
        manifest.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let mut metadata: Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    match metadata["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => anyhow::bail!("cargo metadata of {} has no packages", manifest.display()),
    }
}
