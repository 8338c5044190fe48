//! `cargo xtask soak`: the soak test with its arguments.

use anyhow::{Context, ensure};
use std::process::Command;

/// Shows what the test prints as it goes.
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
    ensure!(status.success(), "the soak test: {status}");
    Ok(())
}
