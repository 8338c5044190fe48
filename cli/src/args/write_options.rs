//! The arguments that several commands have: how they write files.

use std::path::PathBuf;

use clap::Args;

/// How a command writes the files of its plan.
#[derive(Clone, Copy, Debug, Args)]
pub struct WriteOptions {
    /// Print the planned changes and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also change or delete files that have uncommitted changes
    #[arg(long)]
    pub allow_dirty: bool,
}

/// How a command writes managed files.
#[derive(Debug, Args)]
pub struct MergeOptions {
    /// Overwrite your version of this file (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<PathBuf>,
    /// Resolve the merge conflict of this file with your version (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub keep: Vec<PathBuf>,
    /// How to write files
    #[command(flatten)]
    pub write: WriteOptions,
}
