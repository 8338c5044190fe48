//! The kustomization that lists what was generated, so that `kubectl apply -k manifests` deploys all of it.

use std::path::Path;

use serde_json::json;

use crate::{plan::slashed, yaml, yaml::YamlError};

/// The file; it stands above the CRDs, since `kubectl apply -f manifests/crds` would stumble over it there.
pub const PATH: &str = "manifests/kustomization.yaml";

/// The text. The paths are relative to the project.
pub fn text<'a>(files: impl Iterator<Item = &'a Path>, with_deploy: bool) -> Result<String, YamlError> {
    let mut resources: Vec<_> = files
        .map(|path| slashed(path.strip_prefix("manifests").unwrap_or(path)))
        .collect();
    resources.sort();
    resources.extend(with_deploy.then(|| "deploy".to_owned()));
    yaml::write(&json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }))
}
