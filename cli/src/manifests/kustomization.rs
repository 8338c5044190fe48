//! Generates kustomizations that list the generated files, so that `kubectl apply -k manifests` deploys all of them.
//!
//! The files are called `Kustomization`, without extension: `kubectl apply -f manifests/crds` reads every `.yaml` file of
//! the directory, and fails on a kustomization.

use std::path::{Component, Path, PathBuf};

use serde_json::json;

use crate::{plan::slashed, yaml, yaml::YamlError};

/// Names of a kustomization's file.
pub(crate) const FILE_NAMES: [&str; 3] = ["Kustomization", "kustomization.yaml", "kustomization.yml"];

/// Returns the path of a directory's kustomization.
pub fn path(folder: &str) -> PathBuf {
    Path::new(folder).join("Kustomization")
}

/// Returns the kustomization that lists these files and directories; all paths are relative to the project.
pub fn text<'a>(folder: &str, resources: impl IntoIterator<Item = &'a Path>) -> Result<String, YamlError> {
    let mut resources: Vec<_> = resources
        .into_iter()
        .map(|path| slashed(path.strip_prefix(folder).unwrap_or(path)))
        .collect();
    resources.sort();
    yaml::write(&json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }))
}

/// Resolves an entry of a kustomization in `folder`; none if it leaves the project.
pub(crate) fn resolve(folder: &Path, entry: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in Path::new(entry).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_relative_and_sorted() {
        let files = ["manifests/crds/b.yaml", "manifests/crds/a.yaml"].map(Path::new);
        let text = text("manifests/crds", files).unwrap();
        assert!(text.ends_with("resources:\n- a.yaml\n- b.yaml\n"), "{text}");
    }
    #[test]
    fn entries_are_resolved_within_the_project() {
        let folder = Path::new("manifests/deploy");
        assert_eq!(
            resolve(folder, "../crds").as_deref(),
            Some(Path::new("manifests/crds"))
        );
        assert_eq!(resolve(folder, "../../../x"), None);
    }
}
