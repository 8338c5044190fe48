//! Plans the files of a package.

use std::path::{Path, PathBuf};

use crate::{
    generation::Decisions,
    ownership::{
        generated::{self, EditedFile},
        managed::{self, ConflictedFile, Resolution},
    },
    plan::{IoError, Plan, slashed},
};

/// The plan of a package's files, and the reasons why it may not be applied.
#[derive(Debug, Default)]
pub struct PackageFiles {
    /// The planned changes.
    pub plan: Plan,
    /// Generated files that were edited by hand.
    pub edited: Vec<EditedFile>,
    /// Managed files with merge conflicts.
    pub conflicts: Vec<ConflictedFile>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Plans one generated file.
pub fn plan_generated(
    root: &Path,
    command: &str,
    path: &Path,
    text: &str,
    decisions: &Decisions,
) -> Result<PackageFiles, IoError> {
    let mut files = PackageFiles::default();
    let overwrite = decisions.may_overwrite(path);
    let plan = &mut files.plan;
    let edited = generated::plan_write_by(command, plan, root, path, text, overwrite, |_| Vec::new())?;
    files.edited.extend(edited);
    Ok(files)
}

/// Plans managed files: changes are merged into the user's. Those in `folder` that are not rendered any more are deleted, unless the user
/// edited them.
pub fn plan_managed(
    root: &Path,
    command: &str,
    folder: &Path,
    renderings: &[(PathBuf, String)],
    decisions: &Decisions,
) -> Result<PackageFiles, IoError> {
    let mut files = PackageFiles::default();
    for (path, rendering) in renderings {
        let resolution = decisions.resolution(path);
        let conflict = managed::plan(&mut files.plan, root, path, rendering, resolution)?;
        files
            .conflicts
            .extend(conflict.map(|conflict| conflict.by(command)));
    }
    for path in managed::paths(root, folder)? {
        let is_rendered = renderings.iter().any(|(rendered, _)| *rendered == path);
        if is_rendered {
            continue;
        }
        let (plan, why) = (&mut files.plan, "no longer needed");
        if managed::plan_removal(plan, root, &path, Resolution::Report, why)?.is_some() {
            files.warnings.push(format!(
                "{} is not part of the package any more, and was edited by hand: delete it",
                slashed(&path)
            ));
        }
    }
    Ok(files)
}
