//! Plans the files of a package.

use std::path::{Path, PathBuf};

use crate::{
    Error,
    generation::Decisions,
    ownership::{
        generated,
        managed::{self, Resolution},
    },
    plan::{IoError, Plan, slashed},
};

/// The plan of a package's files.
#[derive(Debug, Default)]
pub struct PackageFiles {
    /// The planned changes.
    pub plan: Plan,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Plans one generated file.
pub fn plan_generated(
    root: &Path,
    command: &'static str,
    path: &Path,
    text: &str,
    decisions: &Decisions,
) -> Result<PackageFiles, Error> {
    let mut files = PackageFiles::default();
    let overwrite = decisions.overwrite.iter().any(|found| found == path);
    let edited = generated::plan_write_by(command, &mut files.plan, root, path, text, overwrite, |_| {
        Vec::new()
    })?;
    match edited {
        Some(edited) => Err(Error::Edited(vec![edited])),
        None => Ok(files),
    }
}

/// Plans managed files: changes are merged into the user's. Those in `folder` that are not rendered any more are deleted, unless the user
/// edited them.
pub fn plan_managed(
    root: &Path,
    command: &'static str,
    folder: &Path,
    renderings: &[(PathBuf, String)],
    decisions: &Decisions,
) -> Result<PackageFiles, Error> {
    let mut files = PackageFiles::default();
    let mut conflicts = Vec::new();
    for (path, rendering) in renderings {
        let resolution = if decisions.overwrite.contains(path) {
            Resolution::TakeTheirs
        } else if decisions.keep.contains(path) {
            Resolution::KeepOurs
        } else {
            Resolution::Report
        };
        let conflict = managed::plan(&mut files.plan, root, path, rendering, resolution)?;
        conflicts.extend(conflict.map(|conflict| conflict.by(command)));
    }
    if !conflicts.is_empty() {
        return Err(Error::Conflict(conflicts));
    }
    for path in managed_files(root, folder)? {
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

/// Returns the paths of the managed files in a folder, of which the merge base exists.
fn managed_files(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let base = root.join(managed::BASE);
    let mut found = Vec::new();
    let mut folders = vec![base.join(folder)];
    while let Some(folder) = folders.pop() {
        folders.extend(crate::plan::folders(&folder)?);
        let files = crate::plan::files(&folder)?;
        found.extend(
            files
                .iter()
                .filter_map(|file| Some(file.strip_prefix(&base).ok()?.to_owned())),
        );
    }
    found.sort();
    Ok(found)
}
