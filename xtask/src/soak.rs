//! `cargo xtask soak`: runs the soak test.

use anyhow::{Context, ensure};
use std::process::Command;

/// Runs the soak test and shows its output.
pub(crate) fn run(seconds: u64, seed: Option<u64>) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command
        .args([
            "test",
            "--locked",
            "--package",
            "kubewright-tests",
            "--test",
            "soak",
        ])
        .args(["--", "--ignored", "--nocapture"])
        .env("KUBEWRIGHT_SOAK_SECONDS", seconds.to_string());
    if let Some(seed) = seed {
        command.env("KUBEWRIGHT_SOAK_SEED", seed.to_string());
    }
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "soak test failed: {status}");
    Ok(())
}
