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

/// Whether a directory has uncommitted changes.
pub(crate) enum TreeState {
    Clean,
    /// These tracked files do.
    Dirty(Vec<PathBuf>),
    /// It is in no repository, or git is unavailable.
    NoRepository,
}

/// Returns the state of the tracked files in `folder` and below. A repository without a commit counts as none: nothing could be restored.
pub(crate) fn tree_state(context: &Context<'_>, folder: &Path) -> TreeState {
    if !succeeds(context, folder, &["rev-parse", "--verify", "HEAD"]) {
        return TreeState::NoRepository;
    }
    let output = Command::new(&context.git)
        .current_dir(folder)
        .args(["diff", "--name-only", "--relative", "-z", "HEAD", "--", "."])
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else {
        return TreeState::NoRepository;
    };
    let files = paths(&output.stdout);
    if files.is_empty() {
        TreeState::Clean
    } else {
        TreeState::Dirty(files)
    }
}

/// Returns those of these files that git does not track, ignored ones as well: it cannot restore them.
pub(crate) fn untracked(context: &Context<'_>, folder: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    if files.is_empty() {
        // Without paths, git lists all files.
        return Vec::new();
    }
    let output = Command::new(&context.git)
        .current_dir(folder)
        .args(["--literal-pathspecs", "ls-files", "--others", "-z", "--"])
        .args(files)
        .stderr(Stdio::null())
        .output();
    output.map_or_else(|_| Vec::new(), |output| paths(&output.stdout))
}

/// Parses paths that end with a zero byte.
fn paths(output: &[u8]) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(output);
    let paths = text.split('\0').filter(|path| !path.is_empty());
    paths.map(PathBuf::from).collect()
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
