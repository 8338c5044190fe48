//! Managed files: changes of the template are merged into the user's file.
//!
//! The merge base is the last rendering. It is kept under [`BASE`] and committed with the project, so that a merge needs
//! neither the network nor an old version of kubewright.

use std::path::{Path, PathBuf};

use super::{
    generated::GENERATE,
    merge::{self, Conflict},
};
use crate::plan::{self, IoError, Plan, slashed};

/// Directory of the last renderings.
pub const BASE: &str = ".kubewright/base";

/// A managed file with merge conflicts.
#[derive(Debug)]
pub struct ConflictedFile {
    /// Relative to the project.
    pub path: PathBuf,
    /// The conflicts, in the file's order.
    pub conflicts: Vec<Conflict>,
    /// The command that resolves them with `--keep` or `--overwrite`.
    pub command: String,
}

impl ConflictedFile {
    /// Sets the command that resolves the conflicts.
    pub(crate) fn by(self, command: &str) -> Self {
        let command = command.to_owned();
        Self { command, ..self }
    }
}

/// How to resolve a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Report it.
    Report,
    /// Replace the user's file with the new rendering.
    TakeTheirs,
    /// Keep the user's file and update only the base.
    KeepOurs,
}

/// Plans the merge of `rendering` into the user's file, and the new base. Returns a conflict instead of planning it.
pub fn plan(
    plan: &mut Plan,
    root: &Path,
    path: &Path,
    rendering: &str,
    resolution: Resolution,
) -> Result<Option<ConflictedFile>, IoError> {
    let base_path = Path::new(BASE).join(path);
    let base = plan::read(&root.join(&base_path))?;
    let before = plan::read(&root.join(path))?;
    // The plan may have changed the user's file already.
    let file = plan.text_after(root, path)?;
    let merged = match (&base, &file) {
        // The user deleted it.
        (Some(_), None) if resolution != Resolution::TakeTheirs => Ok(None),
        (_, None) => Ok(Some(rendering.to_owned())),
        (_, Some(_)) if resolution == Resolution::TakeTheirs => Ok(Some(rendering.to_owned())),
        (_, Some(file)) if resolution == Resolution::KeepOurs => Ok(Some(file.clone())),
        (base, Some(file)) => {
            // Without a base, merge against an empty file: any difference is a conflict.
            merge_lines(base.as_deref().unwrap_or_default(), file, rendering).map(Some)
        }
    };
    match merged {
        Ok(merged) => {
            if let Some(merged) = merged {
                plan.write(path, before, merged);
            }
            if base.as_deref().map(to_lf) != Some(rendering.to_owned()) {
                plan.write(base_path, base, rendering.to_owned());
            }
            Ok(None)
        }
        Err(conflicts) => Ok(Some(ConflictedFile {
            path: path.to_owned(),
            conflicts,
            command: GENERATE.to_owned(),
        })),
    }
}

/// Plans the removal of a file that is not rendered any more, and of its base. An edited file is a conflict; the user's version, once kept,
/// is not managed any more. A file without a base is the user's. `why` is the plan's note.
pub fn plan_removal(
    plan: &mut Plan,
    root: &Path,
    path: &Path,
    resolution: Resolution,
    why: &str,
) -> Result<Option<ConflictedFile>, IoError> {
    let base_path = Path::new(BASE).join(path);
    let Some(base) = plan::read(&root.join(&base_path))? else {
        return Ok(None);
    };
    if let Some(file) = plan::read(&root.join(path))?.filter(|_| resolution != Resolution::KeepOurs) {
        if resolution == Resolution::Report && to_lf(&file) != to_lf(&base) {
            let conflict = Conflict {
                base,
                ours: file,
                theirs: String::new(),
            };
            return Ok(Some(ConflictedFile {
                path: path.to_owned(),
                conflicts: vec![conflict],
                command: GENERATE.to_owned(),
            }));
        }
        plan.delete(path, file, vec![why.to_owned()]);
    }
    plan.delete(base_path, base, Vec::new());
    Ok(None)
}

/// Returns the paths of the managed files in a folder: those that have a merge base.
pub fn paths(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let base = root.join(BASE);
    let mut found = Vec::new();
    let mut folders = vec![base.join(folder)];
    while let Some(folder) = folders.pop() {
        folders.extend(plan::folders(&folder)?);
        let files = plan::files(&folder)?;
        let below = files.iter().filter_map(|file| file.strip_prefix(&base).ok());
        found.extend(below.map(Path::to_owned));
    }
    found.sort();
    Ok(found)
}

/// Merges with the line endings of the user's file: git may have checked out only some of the files with CRLF.
fn merge_lines(base: &str, file: &str, rendering: &str) -> Result<String, Vec<Conflict>> {
    if !file.contains("\r\n") {
        return merge::merge(&to_lf(base), file, rendering);
    }
    let crlf = |text: &str| to_lf(text).replace('\n', "\r\n");
    merge::merge(&crlf(base), file, &crlf(rendering))
}

fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

impl std::fmt::Display for ConflictedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = slashed(&self.path);
        for Conflict { base, ours, theirs } in &self.conflicts {
            let end = |text: &str| {
                if text.is_empty() || text.ends_with('\n') {
                    ""
                } else {
                    "\n"
                }
            };
            write!(
                f,
                "<<<<<<< {path}\n{ours}{}||||||| before\n{base}{}=======\n{theirs}{}>>>>>>> kubewright\n",
                end(ours),
                end(base),
                end(theirs),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OLD: &str = "a\nb\nc\nd\n";
    const NEW: &str = "a\nb\nc\nD\n";

    fn planned(
        base: Option<&str>,
        file: Option<&str>,
        resolution: Resolution,
    ) -> (Vec<(String, Option<String>)>, Option<ConflictedFile>) {
        let root = tempfile::tempdir().unwrap();
        let path = Path::new("ci/ci.yml");
        for (folder, text) in [(".kubewright/base/ci", base), ("ci", file)] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            if let Some(text) = text {
                fs::write(root.path().join(folder).join("ci.yml"), text).unwrap();
            }
        }
        let mut result = Plan::default();
        let conflict = plan(&mut result, root.path(), path, NEW, resolution).unwrap();
        let changes = result
            .changes()
            .map(|change| (slashed(&change.path), change.after.clone()));
        (changes.collect(), conflict)
    }

    fn change(path: &str, text: &str) -> (String, Option<String>) {
        (path.to_owned(), Some(text.to_owned()))
    }

    #[test]
    fn merges_new_renderings_and_keeps_the_users_changes() {
        let base = change(".kubewright/base/ci/ci.yml", NEW);
        let report = Resolution::Report;
        let cases = [
            (None, None, Some(NEW)),
            (Some(OLD), Some(OLD), Some(NEW)),
            (Some(OLD), Some("mine\na\nb\nc\nd\n"), Some("mine\na\nb\nc\nD\n")),
            (
                Some(OLD),
                Some("A\r\nb\r\nc\r\nd\r\n"),
                Some("A\r\nb\r\nc\r\nD\r\n"),
            ),
            (Some(OLD), None, None),
            (None, Some(NEW), None),
        ];
        for (old, file, expected) in cases {
            let (changes, conflict) = planned(old, file, report);
            assert!(conflict.is_none(), "{old:?} {file:?}");
            let file = expected.map(|text| change("ci/ci.yml", text));
            assert_eq!(
                changes,
                [Some(base.clone()), file]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
            );
        }
        let (changes, _) = planned(Some(NEW), Some("mine\n"), report);
        assert_eq!(changes, [], "the rendering did not change");
    }

    #[test]
    fn files_that_are_not_rendered_any_more_are_deleted_unless_they_were_edited() {
        let planned = |base: Option<&str>, file: Option<&str>, resolution| {
            let root = tempfile::tempdir().unwrap();
            let path = Path::new("policy.yaml");
            fs::create_dir_all(root.path().join(BASE)).unwrap();
            for (path, text) in [(Path::new(BASE).join(path), base), (path.to_owned(), file)] {
                if let Some(text) = text {
                    fs::write(root.path().join(path), text).unwrap();
                }
            }
            let mut result = Plan::default();
            let conflict = plan_removal(&mut result, root.path(), path, resolution, "not needed").unwrap();
            let changes = result
                .changes()
                .map(|change| (slashed(&change.path), change.after.clone()));
            (
                changes.collect::<Vec<_>>(),
                conflict.map(|conflict| conflict.to_string()),
            )
        };
        let deleted = |paths: &[&str]| {
            paths
                .iter()
                .map(|&path| (path.to_owned(), None))
                .collect::<Vec<_>>()
        };
        let both = deleted(&[".kubewright/base/policy.yaml", "policy.yaml"]);
        let base = deleted(&[".kubewright/base/policy.yaml"]);
        let (report, mine) = (Resolution::Report, "mine\n");
        assert_eq!(
            planned(None, Some(mine), report),
            (vec![], None),
            "the user's own file"
        );
        assert_eq!(planned(Some(OLD), Some(OLD), report), (both.clone(), None));
        let crlf = OLD.replace('\n', "\r\n");
        assert_eq!(planned(Some(OLD), Some(&crlf), report), (both.clone(), None));
        assert_eq!(planned(Some(OLD), None, report), (base.clone(), None));
        let (changes, conflict) = planned(Some(OLD), Some(mine), report);
        assert_eq!(changes, []);
        let conflict = conflict.unwrap();
        assert!(
            conflict.starts_with("<<<<<<< policy.yaml\nmine\n|||||||"),
            "{conflict}"
        );
        assert_eq!(planned(Some(OLD), Some(mine), Resolution::KeepOurs), (base, None));
        assert_eq!(
            planned(Some(OLD), Some(mine), Resolution::TakeTheirs),
            (both, None)
        );
    }

    #[test]
    fn conflicts_are_not_planned_without_a_resolution() {
        let mine = "a\nb\nc\nmine\n";
        let (changes, conflict) = planned(Some(OLD), Some(mine), Resolution::Report);
        assert_eq!(changes, []);
        assert_eq!(
            conflict.unwrap().to_string(),
            "<<<<<<< ci/ci.yml\nmine\n||||||| before\nd\n=======\nD\n>>>>>>> kubewright\n"
        );
        let base = change(".kubewright/base/ci/ci.yml", NEW);
        let (changes, _) = planned(Some(OLD), Some(mine), Resolution::KeepOurs);
        assert_eq!(changes, std::slice::from_ref(&base));
        let (changes, _) = planned(Some(OLD), Some(mine), Resolution::TakeTheirs);
        assert_eq!(changes, [base, change("ci/ci.yml", NEW)]);
        let (_, conflict) = planned(None, Some(mine), Resolution::Report);
        assert!(conflict.is_some(), "the user's file without a base");
    }
}
