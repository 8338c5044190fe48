//! All objects in one file, in an order that `kubectl apply -f` can apply at once.

use serde_json::Value;

use super::build::ManifestObject;
use crate::yaml::{self, YamlError};

/// The file.
pub const PATH: &str = "dist/install.yaml";

/// Kinds that others need, in the order of creation.
const FIRST: [&str; 12] = [
    "Namespace",
    "ResourceQuota",
    "LimitRange",
    "PriorityClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "ConfigMap",
    "Secret",
];

/// Kinds that need others. The API server calls webhooks from their creation on.
const LAST: [&str; 5] = [
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Returns the file's text.
pub fn text(mut objects: Vec<ManifestObject>) -> Result<String, YamlError> {
    // The sort is stable.
    objects.sort_by_key(|object| rank(object.kind()));
    let values: Vec<&Value> = objects.iter().map(ManifestObject::value).collect();
    yaml::write_all(&values)
}

/// Returns warnings about objects that cannot be applied in the same call as their kind.
pub fn warnings(objects: &[ManifestObject]) -> Vec<String> {
    let defined: Vec<_> = objects
        .iter()
        .filter(|object| object.kind() == "CustomResourceDefinition")
        .map(|object| &object.value()["spec"])
        .collect();
    let own = objects.iter().filter(|object| {
        let mut definitions = defined.iter();
        definitions.any(|spec| spec["group"] == object.group() && spec["names"]["kind"] == object.kind())
    });
    own.map(|object| {
        object
            .error(
                "kind",
                "kubectl finds this kind only after its definition was applied: apply the file twice, or remove the object from the manifests",
            )
            .to_string()
    })
    .collect()
}

fn rank(kind: &str) -> usize {
    let position = |kinds: &[&str]| kinds.iter().position(|known| *known == kind);
    position(&FIRST)
        .or_else(|| position(&LAST).map(|index| FIRST.len() + 1 + index))
        .unwrap_or(FIRST.len())
}
