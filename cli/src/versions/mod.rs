//! The versions of a kind in a project's source: where they are, and which is the hub.
//!
//! A kind with one version is a file, such as `src/api/foo.rs`. `kubewright add version` moves it into a folder with a module for each
//! version: `src/api/foo/v1alpha1.rs`, `src/api/foo/v1.rs`, and `mod.rs`, which registers the versions.

use std::path::{Path, PathBuf};

use kube::core::Version;
use serde_json::Value;

use crate::{
    error::VersionError,
    plan::slashed,
    project::Project,
    similar::is_similar,
    source::{self, InsertError, ProjectKind, RegisteredVersions, SourceFile},
};

/// A kind and its versions.
#[derive(Debug, PartialEq, Eq)]
pub struct VersionedKind {
    /// The kind.
    pub kind: String,
    /// Its group.
    pub group: String,
    /// All versions, with their files.
    pub versions: Vec<VersionFile>,
    /// The version that controllers use.
    pub hub: String,
    /// The version that the API server stores.
    pub stored: String,
    /// The folder of the versions, which does not exist for a kind in one file.
    pub folder: PathBuf,
    /// Whether each version is a file in the folder.
    pub has_folder: bool,
}

/// A version and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFile {
    /// The version.
    pub version: String,
    /// Relative to the project.
    pub path: PathBuf,
}

impl VersionedKind {
    /// Finds the versions of a kind.
    pub fn find(project: &Project, sources: &[SourceFile], kind: &str) -> Result<Self, crate::Error> {
        let kinds = source::project_kinds(sources);
        let mut found: Vec<&ProjectKind> = kinds.iter().filter(|found| found.kind.kind == kind).collect();
        // A kind of another project may have the same name.
        if found.iter().any(|found| found.kind.is_own) {
            found.retain(|found| found.kind.has_informer);
        }
        check(&kinds, &found, kind)?;
        let first = found[0];
        let folder = match &*found {
            [only] if !is_version_file(project, only) => only.path.with_extension(""),
            _ => first.path.parent().unwrap_or(Path::new("")).to_owned(),
        };
        let has_folder = folder != first.path.with_extension("");
        let registered = if has_folder {
            registered(project, &folder, kind)?
        } else {
            None
        };
        let registered = match registered {
            Some(registered) => registered,
            None if found.len() == 1 => RegisteredVersions {
                hub: first.kind.version.clone(),
                others: Vec::new(),
                stored: None,
            },
            None => {
                let path = folder.join("mod.rs");
                return Err(VersionError::NoRegistration {
                    kind: kind.to_owned(),
                    path,
                }
                .into());
            }
        };
        let file = |found: &&ProjectKind| VersionFile {
            version: found.kind.version.clone(),
            path: found.path.clone(),
        };
        Ok(Self {
            kind: kind.to_owned(),
            group: first.kind.group.clone(),
            versions: found.iter().map(file).collect(),
            stored: registered.stored.unwrap_or_else(|| registered.hub.clone()),
            hub: registered.hub,
            folder,
            has_folder,
        })
    }

    /// Returns a kind of one version, which one file defines.
    pub fn in_one_file(found: &ProjectKind) -> Self {
        let version = &found.kind.version;
        Self {
            kind: found.kind.kind.clone(),
            group: found.kind.group.clone(),
            versions: vec![VersionFile {
                version: version.clone(),
                path: found.path.clone(),
            }],
            hub: version.clone(),
            stored: version.clone(),
            folder: found.path.with_extension(""),
            has_folder: false,
        }
    }

    /// Whether an object is one of the kind, in any version.
    pub fn is_of(&self, object: &Value) -> bool {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map(|(group, _)| group);
        object["kind"] == *self.kind && group == Some(&self.group)
    }

    /// Returns a version's file, if it exists.
    pub fn version(&self, version: &str) -> Option<&VersionFile> {
        self.versions.iter().find(|found| found.version == version)
    }

    /// Returns the path of a version's file in the folder.
    pub fn path_of(&self, version: &str) -> PathBuf {
        self.folder.join(format!("{version}.rs"))
    }

    /// Returns the path of the file that registers the versions.
    pub fn module_path(&self) -> PathBuf {
        self.folder.join("mod.rs")
    }

    /// Returns the name of the kind's module.
    pub fn module(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns the path of the kind's module in code of the same crate.
    pub fn rust_path(&self) -> String {
        let folder = slashed(&self.folder);
        let path = folder.strip_prefix("src/").unwrap_or(&folder);
        format!("crate::{}", path.replace('/', "::"))
    }

    /// Returns the path of the tests of the conversion.
    pub fn test_path(&self) -> PathBuf {
        format!("tests/{}_versions.rs", self.module()).into()
    }

    /// The error that there is no such version.
    pub fn unknown_version(&self, version: &str) -> VersionError {
        VersionError::UnknownVersion {
            kind: self.kind.clone(),
            version: version.to_owned(),
            known: self.versions.iter().map(|found| found.version.clone()).collect(),
        }
    }

    /// Returns the versions other than the hub.
    pub fn others(&self) -> impl Iterator<Item = &VersionFile> {
        self.versions.iter().filter(|found| found.version != self.hub)
    }
}

/// Whether `new` is newer than `old` by Kubernetes' version priority: v2 > v1 > v1beta1 > v1alpha1.
pub fn is_newer(new: &str, old: &str) -> bool {
    Version::parse(new).priority() > Version::parse(old).priority()
}

/// Refuses a kind that does not exist, or whose versions are not where this command finds them.
fn check(kinds: &[ProjectKind], found: &[&ProjectKind], kind: &str) -> Result<(), VersionError> {
    let Some(first) = found.first() else {
        let mut known: Vec<String> = kinds.iter().map(|known| known.kind.kind.clone()).collect();
        known.dedup();
        let similar = known.iter().find(|known| is_similar(known, kind)).cloned();
        let kind = kind.to_owned();
        return Err(VersionError::UnknownKind { kind, similar, known });
    };
    let place = |found: &&ProjectKind| found.place();
    let several = |reason: &'static str| VersionError::Scattered {
        kind: kind.to_owned(),
        reason,
        places: found.iter().map(place).collect(),
    };
    if let Some(external) = found.iter().find(|found| !found.kind.is_own) {
        return Err(VersionError::NotOwn {
            kind: kind.to_owned(),
            place: place(external),
        });
    }
    if found.iter().any(|other| other.kind.group != first.kind.group) {
        return Err(several("in several groups"));
    }
    let mut versions: Vec<&str> = found.iter().map(|found| &*found.kind.version).collect();
    versions.sort_unstable();
    if versions.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(several("twice in one version"));
    }
    let is_of_version = |found: &&&ProjectKind| {
        found
            .path
            .file_stem()
            .is_some_and(|stem| *stem == *found.kind.version)
    };
    let is_in_folder = |found: &&&ProjectKind| found.path.parent() == first.path.parent();
    if found.len() > 1
        && !found
            .iter()
            .all(|found| is_of_version(&found) && is_in_folder(&found))
    {
        return Err(several(
            "in files that are not named by its versions, in one folder",
        ));
    }
    for found in found {
        let others = kinds
            .iter()
            .filter(|other| other.path == found.path && other.kind != found.kind);
        let names: Vec<String> = others.map(|other| other.kind.kind.clone()).collect();
        if !names.is_empty() {
            return Err(VersionError::SharedFile {
                kind: kind.to_owned(),
                place: place(found),
                others: names.join(", "),
            });
        }
        let is_root = ["main", "lib", "mod"]
            .iter()
            .any(|name| found.path.file_stem().is_some_and(|stem| stem == *name));
        if is_root {
            return Err(VersionError::InRoot {
                kind: kind.to_owned(),
                place: place(found),
            });
        }
    }
    Ok(())
}

/// Whether the only version of a kind is already in a folder of versions.
fn is_version_file(project: &Project, found: &ProjectKind) -> bool {
    let is_of_version = found
        .path
        .file_stem()
        .is_some_and(|stem| *stem == *found.kind.version);
    is_of_version && project.root.join(&found.path).with_file_name("mod.rs").exists()
}

fn registered(
    project: &Project,
    folder: &Path,
    kind: &str,
) -> Result<Option<RegisteredVersions>, crate::Error> {
    let path = folder.join("mod.rs");
    let text = project.read(&path)?.unwrap_or_default();
    let found = source::registered_versions(&text, kind);
    Ok(found.map_err(|error| in_file(&path, error))?)
}

/// Names the file of an error.
pub fn in_file(path: &Path, error: InsertError) -> InsertError {
    InsertError::In {
        path: slashed(path),
        error: Box::new(error),
    }
}
