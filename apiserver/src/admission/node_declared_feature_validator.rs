//! NodeDeclaredFeatureValidator: a node declares the features that an update of its pod needs.

use super::Attributes;
use super::bound_pod::{node, pod_before_spec_change};
use crate::meta;
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::Value;

const POD_LEVEL_RESIZE: &str = "InPlacePodLevelResourcesVerticalScaling";
const INIT_CONTAINER_RESIZE: &str = "InPlacePodVerticalScalingInitContainers";

pub(super) fn validate(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    if !matches!(attributes.subresource, "" | "resize") {
        return Ok(());
    }
    let Some(old) = pod_before_spec_change(attributes, pod) else {
        return Ok(());
    };
    let required = required_features(&old["spec"], &pod["spec"]);
    if required.is_empty() {
        return Ok(());
    }
    let node = node(attributes, pod)?;
    let declared = node.value()["status"]["declaredFeatures"].as_array();
    let is_declared = |feature: &&str| declared.is_some_and(|list| list.iter().any(|item| item == feature));
    let missing: Vec<&str> = required
        .into_iter()
        .filter(|feature| !is_declared(feature))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "pod update requires features {} which are not available on node {}",
        missing.join(", "),
        quoted(meta::name(node.value()))
    );
    Err(attributes.forbidden(pod, why))
}

/// Returns the features that a change of a pod's spec needs.
fn required_features(old: &Value, new: &Value) -> Vec<&'static str> {
    let mut features = vec![];
    if old["resources"] != new["resources"] {
        features.push(POD_LEVEL_RESIZE);
    }
    let init_containers = |spec: &'_ Value| spec["initContainers"].as_array().cloned().unwrap_or_default();
    let mut pairs = init_containers(old).into_iter().zip(init_containers(new));
    if pairs.any(|(old, new)| old["restartPolicy"] != "Always" && old["resources"] != new["resources"]) {
        features.push(INIT_CONTAINER_RESIZE);
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn features_are_needed_by_pod_level_and_init_container_resizes() {
        let spec = |pod: &str, init: &str, sidecar: &str| {
            let resources = |cpu: &str| json!({ "requests": { "cpu": cpu } });
            json!({ "resources": resources(pod), "initContainers": [
                { "name": "i", "resources": resources(init) },
                { "name": "s", "resources": resources(sidecar), "restartPolicy": "Always" },
            ] })
        };
        let old = spec("1", "1", "1");
        for (new, expected) in [
            (spec("1", "1", "2"), &[][..]),
            (spec("2", "1", "1"), &[POD_LEVEL_RESIZE]),
            (spec("1", "2", "1"), &[INIT_CONTAINER_RESIZE]),
            (spec("2", "2", "2"), &[POD_LEVEL_RESIZE, INIT_CONTAINER_RESIZE]),
        ] {
            assert_eq!(required_features(&old, &new), expected, "{new}");
        }
    }
}
