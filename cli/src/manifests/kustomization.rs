//! Kustomizations that list what was generated, so that `kubectl apply -k manifests` deploys all of it.
//!
//! They are called `Kustomization`, without extension: `kubectl apply -f manifests/crds` reads every `.yaml` of the
//! folder, and would stumble over one.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{plan::slashed, yaml, yaml::YamlError};

/// The file of a folder.
pub fn path(folder: &str) -> PathBuf {
    Path::new(folder).join("Kustomization")
}

/// The text that lists these files and folders; both are relative to the project.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_lies_below_in_order() {
        let files = ["manifests/crds/b.yaml", "manifests/crds/a.yaml"].map(Path::new);
        let text = text("manifests/crds", files).unwrap();
        assert!(text.ends_with("resources:\n- a.yaml\n- b.yaml\n"), "{text}");
    }
}
