//! Detects changes of source files and samples by their modification time and length.
//!
//! Files are polled twice a second. Polling works everywhere: in containers, on network file systems, and with editors that
//! replace files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{project, samples};

/// Interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Watched files of a project. Not Cargo.lock: builds write it.
const WATCHED_FILES: &[&str] = &["Cargo.toml", "build.rs", project::FILE];
/// Directories of a project in which every file is watched.
const WATCHED_FOLDERS: &[&str] = &["src", samples::FOLDER];
/// Files that cargo and rustup read from the project's directory and its ancestors.
const CARGO_SETTINGS: &[&str] = &[
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
];

/// A snapshot of the watched files.
#[derive(Clone, Debug)]
pub(super) struct SourceWatcher {
    /// The watched files and directories.
    paths: BTreeSet<PathBuf>,
    /// Modification time and length of each file.
    files: BTreeMap<PathBuf, (Option<SystemTime>, u64)>,
}

impl SourceWatcher {
    /// Takes a snapshot of a project's files. Unreadable files count as missing.
    pub(super) fn new(root: &Path) -> Self {
        let own = WATCHED_FILES
            .iter()
            .chain(WATCHED_FOLDERS)
            .map(|path| root.join(path));
        let above = root.ancestors();
        let settings = above.flat_map(|folder| CARGO_SETTINGS.iter().map(|path| folder.join(path)));
        let mut sources = Self {
            paths: own.chain(settings).collect(),
            files: BTreeMap::new(),
        };
        sources.refresh();
        sources
    }

    /// Adds paths to the watched ones.
    pub(super) fn add_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) {
        for path in paths {
            if self.paths.insert(path.to_owned()) {
                self.record(path);
            }
        }
    }

    /// Takes a new snapshot.
    pub(super) fn refresh(&mut self) {
        self.files.clear();
        for path in self.paths.clone() {
            self.record(&path);
        }
    }

    /// Waits until a file differs from the snapshot. Returns its path, relative to `root`.
    pub(super) async fn wait_for_change(&self, root: &Path) -> PathBuf {
        let mut now = self.clone();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            now.refresh();
            if let Some(path) = self.changed_path(&now) {
                return path.strip_prefix(root).unwrap_or(path).to_owned();
            }
        }
    }

    /// Returns a new, changed or deleted file.
    fn changed_path<'a>(&'a self, now: &'a Self) -> Option<&'a PathBuf> {
        let (old, new) = (&self.files, &now.files);
        let mut changed = new.iter().filter(|(path, state)| old.get(*path) != Some(state));
        let mut gone = old.keys().filter(|path| !new.contains_key(*path));
        changed.next().map(|(path, _)| path).or_else(|| gone.next())
    }

    /// Records a file, or all files below a directory. Recorded files keep their state.
    fn record(&mut self, path: &Path) {
        let Ok(found) = fs::metadata(path) else { return };
        if found.is_dir() {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                // Skip the swap files of editors.
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    self.record(&entry.path());
                }
            }
        } else {
            let state = (found.modified().ok(), found.len());
            self.files.entry(path.to_owned()).or_insert(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_new_changed_and_deleted_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/api")).unwrap();
        let before = SourceWatcher::new(root);
        fs::write(root.join("src/api/foo.rs"), "1").unwrap();
        let new = SourceWatcher::new(root);
        assert_eq!(before.changed_path(&new), Some(&root.join("src/api/foo.rs")));
        fs::write(root.join("src/api/foo.rs"), "12").unwrap();
        let longer = SourceWatcher::new(root);
        assert!(new.changed_path(&longer).is_some());
        fs::remove_file(root.join("src/api/foo.rs")).unwrap();
        assert!(longer.changed_path(&SourceWatcher::new(root)).is_some());
    }

    #[test]
    fn build_outputs_are_not_watched() {
        let folder = tempfile::tempdir().unwrap();
        let before = SourceWatcher::new(folder.path());
        for path in [
            "Cargo.lock",
            "target/debug/shop",
            "manifests/crds/a.yaml",
            "src/.foo.rs.swp",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        assert_eq!(before.changed_path(&SourceWatcher::new(folder.path())), None);
    }

    #[test]
    fn path_dependencies_and_cargo_settings_are_watched() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("all/shop");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("near/src/lib.rs", "1");
        write("all/shop/src/main.rs", "1");
        let mut seen = SourceWatcher::new(&root);
        write("all/shop/src/main.rs", "12");
        // src/main.rs is watched already: adding it must not lose its change.
        let paths = [folder.path().join("near/src"), root.join("src/main.rs")];
        seen.add_paths(paths.iter().map(PathBuf::as_path));
        for (path, text) in [
            ("all/shop/src/main.rs", "12"),
            ("near/src/lib.rs", "12"),
            ("all/.cargo/config.toml", "1"),
            ("all/shop/rust-toolchain.toml", "1"),
        ] {
            write(path, text);
            let mut now = seen.clone();
            now.refresh();
            assert_eq!(seen.changed_path(&now), Some(&folder.path().join(path)));
            seen = now;
        }
    }
}
