//! Calls of git. git is optional: commands work without it and outside repositories.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Context;

/// Result of [`init`].
pub(crate) enum InitOutcome {
    Created,
    /// The directory is already in a repository.
    InRepository,
    GitUnavailable,
}

/// Runs `git init` in `folder` unless it is in a repository. Commits nothing.
pub(crate) fn init(context: &Context<'_>, folder: &Path) -> InitOutcome {
    if succeeds(context, folder, &["rev-parse", "--is-inside-work-tree"]) {
        InitOutcome::InRepository
    } else if succeeds(context, folder, &["init", "--quiet"]) {
        InitOutcome::Created
    } else {
        InitOutcome::GitUnavailable
    }
}

/// Returns the tracked files that have uncommitted changes.
pub(crate) fn uncommitted(context: &Context<'_>, folder: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let is_dirty = |file: &&PathBuf| {
        let output = Command::new(&context.git)
            .current_dir(folder)
            .args(["status", "--porcelain", "--untracked-files=no", "--"])
            .arg(file)
            .stderr(Stdio::null())
            .output();
        output.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
    };
    files.iter().filter(is_dirty).cloned().collect()
}

fn succeeds(context: &Context<'_>, folder: &Path, args: &[&str]) -> bool {
    Command::new(&context.git)
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
