//! Planned file changes, in memory, and their application.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use similar::TextDiff;

// ANCHOR: errors
/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct IoError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}
// ANCHOR_END: errors

impl IoError {
    pub(crate) fn new(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self {
            action,
            path: path.into(),
            source,
        }
    }

    /// Whether the reader of our output closed the pipe.
    pub fn is_broken_pipe(&self) -> bool {
        self.source.kind() == io::ErrorKind::BrokenPipe
    }
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the plan's root.
    pub path: PathBuf,
    /// The current text; none if the file does not exist.
    pub before: Option<String>,
    /// The new text; none to delete the file.
    pub after: Option<String>,
    /// Notes on the change for the user, as in `BREAKING spec.a removed`.
    pub notes: Vec<String>,
}

impl FileChange {
    fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "create",
            (Some(_), Some(_)) => "update",
            (Some(_), None) => "delete",
        }
    }

    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let path = slashed(&self.path);
        let side = |prefix: &str, text: &Option<String>| match text {
            Some(_) => format!("{prefix}/{path}"),
            None => "/dev/null".to_owned(),
        };
        unified_diff(
            (
                &side("a", &self.before),
                self.before.as_deref().unwrap_or_default(),
            ),
            (&side("b", &self.after), self.after.as_deref().unwrap_or_default()),
        )
    }
}

impl fmt::Display for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb(), slashed(&self.path))?;
        if !self.notes.is_empty() {
            write!(f, ": {}", self.notes.join(", "))?;
        }
        Ok(())
    }
}

/// The file changes of a command, below one directory. Unchanged files are not in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    changes: BTreeMap<PathBuf, FileChange>,
}

impl Plan {
    /// Plans to write `after` to the file.
    pub fn write(&mut self, path: impl Into<PathBuf>, before: Option<String>, after: String) {
        self.set(path.into(), before, Some(after), Vec::new());
    }

    /// Like [`write`](Self::write), with notes.
    pub fn write_with_notes(
        &mut self,
        path: impl Into<PathBuf>,
        before: Option<String>,
        after: String,
        notes: Vec<String>,
    ) {
        self.set(path.into(), before, Some(after), notes);
    }

    /// Plans to delete the file.
    pub fn delete(&mut self, path: impl Into<PathBuf>, before: String, notes: Vec<String>) {
        self.set(path.into(), Some(before), None, notes);
    }

    fn set(&mut self, path: PathBuf, before: Option<String>, after: Option<String>, notes: Vec<String>) {
        if before != after {
            let change = FileChange {
                path: path.clone(),
                before,
                after,
                notes,
            };
            self.changes.insert(path, change);
        }
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the changes, sorted by path.
    pub fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.changes.values()
    }

    /// Adds the changes of another plan, of which those of a file replace the ones here.
    pub fn extend(&mut self, other: Self) {
        self.changes.extend(other.changes);
    }

    /// Returns the text that a file below `root` has after the plan was applied; none if it does not exist then.
    pub fn text_after(&self, root: &Path, path: &Path) -> Result<Option<String>, IoError> {
        match self.changes.get(path) {
            Some(change) => Ok(change.after.clone()),
            None => read(&root.join(path)),
        }
    }

    /// Whether a directory below `root` exists after the plan was applied.
    pub fn is_folder_after(&self, root: &Path, path: &Path) -> bool {
        let is_below = |change: &FileChange| change.after.is_some() && change.path.starts_with(path);
        root.join(path).is_dir()
            || self
                .changes()
                .any(|change| change.path != path && is_below(change))
    }

    /// Returns the files that exist and are changed or deleted.
    pub fn existing_files(&self) -> Vec<PathBuf> {
        let existing = self.changes().filter(|change| change.before.is_some());
        existing.map(|change| change.path.clone()).collect()
    }

    /// Returns all changes as one unified diff.
    pub fn diff(&self) -> String {
        self.diff_of(|_| true)
    }

    /// Returns the changes of some files as one unified diff.
    pub fn diff_of(&self, is_shown: impl Fn(&Path) -> bool) -> String {
        let shown = self.changes().filter(|change| is_shown(&change.path));
        shown.map(FileChange::diff).collect()
    }

    /// Applies all changes below `root`, or none.
    ///
    /// New texts are first written to temporary files beside their targets, and renamed when all are written. If a
    /// rename fails, the ones before it are undone. Folders that only had deleted files are deleted, too.
    pub fn apply(&self, root: &Path) -> Result<(), IoError> {
        let mut staged = StagedFiles::default();
        for change in self.changes.values() {
            if let Some(after) = &change.after {
                staged.stage(&root.join(&change.path), after)?;
            }
        }
        for (done, change) in self.changes.values().enumerate() {
            if let Err(error) = staged.commit(&root.join(&change.path), change.after.is_some()) {
                for undone in self.changes.values().take(done) {
                    restore(&root.join(&undone.path), undone.before.as_deref());
                }
                return Err(error);
            }
        }
        for change in self.changes.values().filter(|change| change.after.is_none()) {
            let folders = change
                .path
                .ancestors()
                .skip(1)
                .filter(|path| !path.as_os_str().is_empty());
            for folder in folders {
                // Fails if the folder has other files.
                if fs::remove_dir(root.join(folder)).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.changes().try_for_each(|change| writeln!(f, "{change}"))
    }
}

/// Temporary files and the directories created for them. Dropping it removes the uncommitted ones.
#[derive(Default)]
struct StagedFiles {
    files: BTreeMap<PathBuf, tempfile::TempPath>,
    folders: Vec<PathBuf>,
    committed: bool,
}

impl StagedFiles {
    fn stage(&mut self, target: &Path, text: &str) -> Result<(), IoError> {
        let folder = target.parent().unwrap_or(Path::new("."));
        self.make_folder(folder)?;
        let failed = |source| IoError::new("write", target, source);
        let mut file = temp_file_builder().tempfile_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        if let Ok(old) = fs::metadata(target) {
            file.as_file()
                .set_permissions(old.permissions())
                .map_err(failed)?;
        }
        self.files.insert(target.to_owned(), file.into_temp_path());
        Ok(())
    }

    fn make_folder(&mut self, folder: &Path) -> Result<(), IoError> {
        let missing: Vec<_> = folder.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing
            .into_iter()
            .rev()
            .filter(|path| !path.as_os_str().is_empty())
        {
            fs::create_dir(path).map_err(|source| IoError::new("create", path, source))?;
            self.folders.push(path.to_owned());
        }
        Ok(())
    }

    fn commit(&mut self, target: &Path, written: bool) -> Result<(), IoError> {
        self.committed = true;
        match self.files.remove(target) {
            Some(file) => file
                .persist(target)
                .map_err(|error| IoError::new("write", target, error.error)),
            None if written => Ok(()),
            None => fs::remove_file(target).map_err(|source| IoError::new("delete", target, source)),
        }
    }
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        self.files.clear();
        if !self.committed {
            for folder in self.folders.drain(..).rev() {
                // Fails if another process has created a file there.
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

/// Returns a builder of temporary files with the usual permissions of new files; the default is owner-only.
fn temp_file_builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kubewright-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

fn restore(path: &Path, before: Option<&str>) {
    // Ignore errors here: the caller reports the first one.
    let _ = match before {
        Some(text) => fs::write(path, text),
        None => fs::remove_file(path),
    };
}

/// Returns a file's text; none if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, IoError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IoError::new("read", path, source)),
    }
}

/// Returns the files of a directory, sorted; empty if it does not exist.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    Ok(entries(folder)?
        .into_iter()
        .filter(|path| path.is_file())
        .collect())
}

/// Returns the [`files`] with that extension.
pub fn files_with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, IoError> {
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    Ok(files(folder)?.into_iter().filter(is_wanted).collect())
}

/// Returns the Rust files below a directory; empty if it does not exist.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut found = files_with_extension(folder, "rs")?;
    for below in folders(folder)? {
        found.extend(rust_files(&below)?);
    }
    Ok(found)
}

/// Returns the subdirectories of a directory, sorted; empty if it does not exist.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    Ok(entries(folder)?
        .into_iter()
        .filter(|path| path.is_dir())
        .collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let failed = |source| IoError::new("read", folder, source);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = entries
        .map(|entry| Ok(entry.map_err(failed)?.path()))
        .collect::<Result<Vec<_>, IoError>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the unified diff of two texts, each given with its name for the diff's header.
pub fn unified_diff(old: (&str, &str), new: (&str, &str)) -> String {
    TextDiff::from_lines(old.1, new.1)
        .unified_diff()
        .header(old.0, new.0)
        .to_string()
}

/// Returns the path with `/` as separator on all systems, for messages and manifests.
pub fn slashed(path: &Path) -> String {
    path.iter()
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_all_changes_and_leaves_no_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("gone"), "x").unwrap();
        let mut plan = Plan::default();
        plan.write("a/b/new", None, "1\n".into());
        plan.write("same", Some("2".into()), "2".into());
        plan.delete("gone", "x".into(), vec!["its kind was removed".into()]);
        assert_eq!(
            plan.to_string(),
            "create a/b/new\ndelete gone: its kind was removed\n"
        );

        plan.apply(folder.path()).unwrap();

        assert_eq!(fs::read_to_string(folder.path().join("a/b/new")).unwrap(), "1\n");
        assert!(!folder.path().join("gone").exists());
        let files = fs::read_dir(folder.path().join("a/b")).unwrap().count();
        assert_eq!(files, 1, "a temporary file was left");
    }

    #[test]
    fn changes_nothing_if_a_file_cannot_be_staged() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        let mut plan = Plan::default();
        plan.write("a/new", None, "1".into());
        plan.write("file/below", None, "2".into());

        let error = plan.apply(folder.path()).unwrap_err();

        assert!(error.to_string().contains("file"), "{error}");
        assert!(!folder.path().join("a").exists(), "a folder was left");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn failed_rename_undoes_the_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("first"), "old").unwrap();
        fs::create_dir_all(folder.path().join("second/full")).unwrap();
        let mut plan = Plan::default();
        plan.write("first", Some("old".into()), "new".into());
        plan.write("made", None, "new".into());
        plan.write("second", None, "a folder is in the way".into());

        plan.apply(folder.path()).unwrap_err();

        assert_eq!(fs::read_to_string(folder.path().join("first")).unwrap(), "old");
        assert!(!folder.path().join("made").exists());
    }

    #[cfg(unix)]
    #[test]
    fn file_permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let mut plan = Plan::default();
        plan.write("script", Some("old".into()), "new".into());
        plan.apply(folder.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
