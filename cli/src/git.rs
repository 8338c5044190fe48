//! The little that we ask git. Without git, or outside a repository, everything works.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Context;

/// What became of `git init`.
pub(crate) enum Init {
    Done,
    /// The folder already lies in a repository.
    Inside,
    NoGit,
}

/// Makes `folder` a repository, and commits nothing.
pub(crate) fn init(context: &Context<'_>, folder: &Path) -> Init {
    if succeeds(context, folder, &["rev-parse", "--is-inside-work-tree"]) {
        Init::Inside
    } else if succeeds(context, folder, &["init", "--quiet"]) {
        Init::Done
    } else {
        Init::NoGit
    }
}

/// Those of the files that are tracked and have changes that no commit holds.
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
