//! Evaluates `manifests/Kustomization`. Of kustomize's features it knows those that keep the names of objects: resources, patches, labels,
//! replicas and images. All others are errors.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{patches, transformers};
use crate::{
    Error,
    error::PackageError,
    manifests::kustomization,
    plan::{IoError, Plan, slashed},
    yaml::{self, Document, YamlError},
};

/// Directory of the manifests.
pub const FOLDER: &str = "manifests";

/// An object of the manifests.
#[derive(Debug, Clone)]
pub struct ManifestObject {
    /// The file that defines it, relative to the project.
    pub path: PathBuf,
    /// Its content after all patches, with the lines that it had before them.
    pub document: Document,
}

impl ManifestObject {
    /// Returns the content.
    pub fn value(&self) -> &Value {
        &self.document.value
    }

    /// Returns the kind.
    pub fn kind(&self) -> &str {
        self.value()["kind"].as_str().unwrap_or_default()
    }

    /// Returns the API version.
    pub fn api_version(&self) -> &str {
        self.value()["apiVersion"].as_str().unwrap_or_default()
    }

    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.value()["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.value()["metadata"]["namespace"].as_str()
    }

    /// Returns an error about the value at a path in the object.
    pub(super) fn error(&self, path: &str, message: impl Into<String>) -> PackageError {
        PackageError::new(&self.path, self.document.line(path), message)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.group(), self.kind(), self.name(), self.namespace())
            == (other.group(), other.kind(), other.name(), other.namespace())
    }
}

/// The files of a project, as they are after a plan was applied.
#[derive(Clone, Copy)]
pub struct ProjectFiles<'a> {
    /// The project's directory.
    pub root: &'a Path,
    /// The plan.
    pub plan: &'a Plan,
}

impl ProjectFiles<'_> {
    fn read(&self, path: &Path) -> Result<Option<String>, IoError> {
        self.plan.text_after(self.root, path)
    }
}

/// Returns the objects that `kubectl apply -k manifests` applies, in the order of the files.
pub fn build(files: ProjectFiles<'_>) -> Result<Vec<ManifestObject>, Error> {
    let objects = build_folder(files, Path::new(FOLDER))?;
    if objects.is_empty() {
        let path = kustomization::path(FOLDER);
        return Err(PackageError::new(
            path,
            1,
            "the manifests have no objects: run `kubewright generate`",
        )
        .into());
    }
    Ok(objects)
}

/// A kustomization's file.
pub(super) struct Kustomization {
    pub(super) folder: PathBuf,
    pub(super) path: PathBuf,
    pub(super) document: Document,
}

impl Kustomization {
    fn read(files: ProjectFiles<'_>, folder: &Path) -> Result<Self, Error> {
        let candidates = kustomization::FILE_NAMES.iter().map(|name| folder.join(name));
        for path in candidates {
            let Some(text) = files.read(&path)? else {
                continue;
            };
            let documents = yaml::documents(&text).map_err(|error| invalid_yaml(&path, &error))?;
            let Ok([document]) = <[Document; 1]>::try_from(documents) else {
                return Err(PackageError::new(path, 1, "a kustomization is one document: merge them").into());
            };
            return Ok(Self {
                folder: folder.to_owned(),
                path,
                document,
            });
        }
        let path = kustomization::path(&folder.to_string_lossy());
        let fix = "this file does not exist: run `kubewright generate`, or write a kustomization";
        Err(PackageError::new(path, 1, fix).into())
    }

    /// Returns the items of a list, each with its path in the document.
    pub(super) fn items<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
        let items = self.document.value[key].as_array().map(Vec::as_slice);
        let items = items.unwrap_or_default().iter().enumerate();
        items.map(move |(index, item)| (format!("{key}[{index}]"), item))
    }

    /// Returns an error about the value at a path.
    pub(super) fn error(&self, path: &str, message: impl Into<String>) -> PackageError {
        PackageError::new(&self.path, self.document.line(path), message)
    }

    /// Resolves the path of a file or folder that the kustomization names.
    pub(super) fn resolve(&self, place: &str, entry: &str) -> Result<PathBuf, PackageError> {
        let is_remote = entry.contains("://") || entry.starts_with("github.com/") || entry.contains('?');
        if is_remote {
            let fix = format!("{entry} is not a file of the project: copy it into the project");
            return Err(self.error(place, fix));
        }
        kustomization::resolve(&self.folder, entry).ok_or_else(|| {
            self.error(
                place,
                format!("{entry} is outside of the project: copy it into the project"),
            )
        })
    }

    /// Reads a file that the kustomization names.
    pub(super) fn read_file(
        &self,
        files: ProjectFiles<'_>,
        place: &str,
        path: &Path,
    ) -> Result<String, Error> {
        if !path.starts_with(&self.folder) {
            let fix = "kustomize reads only files in the folder of the kustomization and below: move the file there, or list its folder";
            return Err(self.error(place, fix).into());
        }
        let missing = || {
            let fix = format!(
                "{} does not exist: restore the file, or remove the entry",
                slashed(path)
            );
            self.error(place, fix)
        };
        Ok(files.read(path)?.ok_or_else(missing)?)
    }

    /// Fails for a feature that is not supported.
    fn check(&self) -> Result<(), PackageError> {
        let Some(fields) = self.document.value.as_object() else {
            return Err(self.error("", "a kustomization is a map"));
        };
        for (key, value) in fields {
            match key.as_str() {
                "apiVersion" | "kind" | "metadata" => {}
                "resources" | "patches" | "labels" | "replicas" | "images" => {
                    if !value.is_array() && !value.is_null() {
                        return Err(
                            self.error(key, format!("`{key}` is a list: write each entry after a dash"))
                        );
                    }
                }
                "namespace" => {
                    let fix = "`namespace` is not supported here: set it in kubewright.toml, and run `kubewright generate`";
                    return Err(self.error(key, fix));
                }
                other => {
                    let fix = format!(
                        "`{other}` is not supported in packages: write it as one of `resources`, `patches`, `labels`, `replicas` and `images`"
                    );
                    return Err(self.error(key, fix));
                }
            }
        }
        if self.document.value["kind"] == "Component" {
            return Err(self.error(
                "kind",
                "components are not supported in packages: write a Kustomization",
            ));
        }
        Ok(())
    }
}

/// Returns an error at the line of what does not parse.
pub(super) fn invalid_yaml(path: &Path, error: &YamlError) -> PackageError {
    let line = error.line().unwrap_or(1);
    PackageError::new(path, line, format!("invalid YAML: {error}; fix it"))
}

fn build_folder(files: ProjectFiles<'_>, folder: &Path) -> Result<Vec<ManifestObject>, Error> {
    let list = Kustomization::read(files, folder)?;
    list.check()?;
    let mut objects: Vec<ManifestObject> = Vec::new();
    for (place, entry) in list.items("resources") {
        let entry = entry
            .as_str()
            .ok_or_else(|| list.error(&place, "a resource is the path of a file or folder"))?;
        let path = list.resolve(&place, entry)?;
        let added = if files.plan.is_folder_after(files.root, &path) {
            if list.folder.starts_with(&path) {
                return Err(list
                    .error(
                        &place,
                        format!("{entry} contains this kustomization: remove the line"),
                    )
                    .into());
            }
            build_folder(files, &path)?
        } else {
            let text = list.read_file(files, &place, &path)?;
            read_objects(&path, &text)?
        };
        for object in added {
            if let Some(other) = objects.iter().find(|other| other.is_same(&object)) {
                let (kind, name) = (object.kind(), object.name());
                let first = slashed(&other.path);
                return Err(object
                    .error(
                        "metadata.name",
                        format!("{kind} {name} is in {first}, too: delete one of them"),
                    )
                    .into());
            }
            objects.push(object);
        }
    }
    patches::apply(files, &list, &mut objects)?;
    transformers::apply(&list, &mut objects)?;
    Ok(objects)
}

fn read_objects(path: &Path, text: &str) -> Result<Vec<ManifestObject>, Error> {
    let documents = yaml::documents(text).map_err(|error| invalid_yaml(path, &error))?;
    let mut objects = Vec::new();
    for document in documents {
        let object = ManifestObject {
            path: path.to_owned(),
            document,
        };
        let (kind, api_version) = (object.kind(), object.api_version());
        if kind.is_empty() || api_version.is_empty() || object.name().is_empty() {
            let fix = "an object has `apiVersion`, `kind` and `metadata.name`: add what is missing, or remove the file from the kustomization";
            return Err(object.error("", fix).into());
        }
        if kind.ends_with("List") && object.value()["items"].is_array() {
            return Err(object
                .error(
                    "kind",
                    format!("a {kind} is not supported in packages: write its items as documents"),
                )
                .into());
        }
        objects.push(object);
    }
    Ok(objects)
}
