//! What a change is: another time or length of a file that the operator is made of, or of a sample.
//!
//! Files are looked at twice a second. That is dull and works everywhere: in containers, over shared folders, and with editors that
//! replace a file by another.

use std::{
    collections::{BTreeMap, BTreeSet},
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
/// What cargo and rustup look for in the project's folder and in all above it.
const SETTINGS: &[&str] = &[
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
];

/// The files that matter, as they were.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// The files and folders to look at.
    places: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, (Option<SystemTime>, u64)>,
}

impl Sources {
    /// Those of a project, as they are. What cannot be read is not there.
    pub(super) fn of(root: &Path) -> Self {
        let own = FILES.iter().chain(FOLDERS).map(|path| root.join(path));
        let above = root.ancestors();
        let settings = above.flat_map(|folder| SETTINGS.iter().map(|path| folder.join(path)));
        let mut sources = Self {
            places: own.chain(settings).collect(),
            files: BTreeMap::new(),
        };
        sources.look();
        sources
    }

    /// Looks at these places, too, from now on.
    pub(super) fn follow<'a>(&mut self, places: impl IntoIterator<Item = &'a Path>) {
        for place in places {
            if self.places.insert(place.to_owned()) {
                self.add(place);
            }
        }
    }

    /// The files as they are now.
    pub(super) fn look(&mut self) {
        self.files.clear();
        for place in self.places.clone() {
            self.add(&place);
        }
    }

    /// Waits until they are different from these, and says which file is.
    pub(super) async fn changed(&self, root: &Path) -> PathBuf {
        let mut now = self.clone();
        loop {
            tokio::time::sleep(PAUSE).await;
            now.look();
            if let Some(path) = self.difference(&now) {
                return path.strip_prefix(root).unwrap_or(path).to_owned();
            }
        }
    }

    fn difference<'a>(&'a self, now: &'a Self) -> Option<&'a PathBuf> {
        let (old, new) = (&self.files, &now.files);
        let mut changed = new.iter().filter(|(path, state)| old.get(*path) != Some(state));
        let mut gone = old.keys().filter(|path| !new.contains_key(*path));
        changed.next().map(|(path, _)| path).or_else(|| gone.next())
    }

    /// What was seen before stays as it was then.
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
            let state = (found.modified().ok(), found.len());
            self.files.entry(path.to_owned()).or_insert(state);
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

    #[test]
    fn what_else_is_built_in_and_what_cargo_is_told_matters() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("all/shop");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("near/src/lib.rs", "1");
        write("all/shop/src/main.rs", "1");
        let mut seen = Sources::of(&root);
        write("all/shop/src/main.rs", "12");
        // The second was seen already: its change must not get lost.
        let places = [folder.path().join("near/src"), root.join("src/main.rs")];
        seen.follow(places.iter().map(PathBuf::as_path));
        for (path, text) in [
            ("all/shop/src/main.rs", "12"),
            ("near/src/lib.rs", "12"),
            ("all/.cargo/config.toml", "1"),
            ("all/shop/rust-toolchain.toml", "1"),
        ] {
            write(path, text);
            let mut now = seen.clone();
            now.look();
            assert_eq!(seen.difference(&now), Some(&folder.path().join(path)));
            seen = now;
        }
    }
}
