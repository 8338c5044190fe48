//! What a change is: another time or length of a file that the operator is made of, or of a sample.
//!
//! Files are looked at twice a second. That is dull and works everywhere: in containers, over shared folders, and with editors that
//! replace a file by another.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{project, samples};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// Single files that matter. Cargo.lock does not: building writes it.
const FILES: &[&str] = &["Cargo.toml", "build.rs", project::FILE];
/// Folders of which every file matters.
const FOLDERS: &[&str] = &["src", samples::FOLDER];

/// The files that matter, as they were.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Sources {
    /// As they are. What cannot be read is not there.
    pub(super) fn of(root: &Path) -> Self {
        let mut sources = Self::default();
        for path in FILES.iter().chain(FOLDERS) {
            sources.add(&root.join(path));
        }
        sources
    }

    /// Waits until they are different from these, and says which file is.
    pub(super) async fn changed(&self, root: &Path) -> PathBuf {
        loop {
            tokio::time::sleep(PAUSE).await;
            if let Some(path) = self.difference(&Self::of(root)) {
                return path.strip_prefix(root).unwrap_or(path).to_owned();
            }
        }
    }

    fn difference<'a>(&'a self, now: &'a Self) -> Option<&'a PathBuf> {
        let (old, new) = (&self.0, &now.0);
        let mut changed = new.iter().filter(|(path, state)| old.get(*path) != Some(state));
        let mut gone = old.keys().filter(|path| !new.contains_key(*path));
        changed.next().map(|(path, _)| path).or_else(|| gone.next())
    }

    fn add(&mut self, path: &Path) {
        let Ok(found) = fs::metadata(path) else { return };
        if found.is_dir() {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                // Editors keep their own files beside ours.
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    self.add(&entry.path());
                }
            }
        } else {
            self.0
                .insert(path.to_owned(), (found.modified().ok(), found.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_is_new_changed_and_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/api")).unwrap();
        let before = Sources::of(root);
        fs::write(root.join("src/api/foo.rs"), "1").unwrap();
        let new = Sources::of(root);
        assert_eq!(before.difference(&new), Some(&root.join("src/api/foo.rs")));
        fs::write(root.join("src/api/foo.rs"), "12").unwrap();
        let longer = Sources::of(root);
        assert!(new.difference(&longer).is_some());
        fs::remove_file(root.join("src/api/foo.rs")).unwrap();
        assert!(longer.difference(&Sources::of(root)).is_some());
    }

    #[test]
    fn what_building_writes_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let before = Sources::of(folder.path());
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
        assert_eq!(before.difference(&Sources::of(folder.path())), None);
    }
}
