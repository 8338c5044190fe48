//! PodResizeValidator: a resized pod fits on its node, which runs Linux.

use super::Attributes;
use super::bound_pod::{node, pod_before_spec_change};
use super::resource_quota::spec_resources;
use crate::meta;
use crate::quote::quoted;
use crate::status::{ApiError, Cause};
use crate::types::{compare_quantities, scale_quantity};
use serde_json::Value;

const OS_LABEL: &str = "kubernetes.io/os";
/// The resources that are compared, and the power of ten of the unit in which messages show them.
const COMPARED: [(&str, i32); 2] = [("cpu", -3), ("memory", 0)];

pub(super) fn validate(attributes: &Attributes<'_>, pod: &Value) -> Result<(), ApiError> {
    if attributes.subresource != "resize" || pod_before_spec_change(attributes, pod).is_none() {
        return Ok(());
    }
    let node = node(attributes, pod)?;
    let refuse = |reason, why: &str| {
        let cause = Cause::new(reason, "", String::new());
        Err(attributes.forbidden(pod, why).with_cause(&cause))
    };
    let os = &node.value()["metadata"]["labels"][OS_LABEL];
    if let Some(os) = os.as_str().filter(|os| *os != "linux") {
        let node = quoted(meta::name(node.value()));
        let why = format!(
            "pod resize is only supported on linux nodes, node {node} is {}",
            quoted(os)
        );
        return refuse("UnsupportedPlatform", &why);
    }
    let exceeded = exceeded(pod, &node.value()["status"]["allocatable"]);
    if exceeded.is_empty() {
        return Ok(());
    }
    let why = format!(
        "node didn't have enough allocatable resources: {}",
        exceeded.join("; ")
    );
    refuse("NodeCapacity", &why)
}

/// Returns what a pod requests beyond the allocatable resources of a node.
fn exceeded(pod: &Value, allocatable: &Value) -> Vec<String> {
    let requests = spec_resources(&pod["spec"], "requests");
    let exceeded = COMPARED.iter().filter_map(|(name, power)| {
        let requested = requests.get(*name).and_then(Value::as_str).unwrap_or("0");
        let allocatable = allocatable[*name].as_str().unwrap_or("0");
        if !compare_quantities(requested, allocatable)?.is_gt() {
            return None;
        }
        let [requested, allocatable] = [requested, allocatable].map(|text| scale_quantity(text, *power));
        Some(format!(
            "{name}, requested: {}, allocatable: {}",
            requested?, allocatable?
        ))
    });
    exceeded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_are_compared_with_what_the_node_has() {
        let pod = json!({ "spec": { "overhead": { "memory": "1Ki" }, "containers": [
            { "resources": { "requests": { "cpu": "1500m", "memory": "1Gi" } } },
            { "resources": { "requests": { "cpu": "500m" } } },
        ] } });
        let fits = json!({ "cpu": "2", "memory": "2Gi" });
        assert_eq!(exceeded(&pod, &fits), Vec::<String>::new());
        assert_eq!(
            exceeded(&pod, &json!({ "memory": "1Gi" })),
            [
                "cpu, requested: 2000, allocatable: 0",
                "memory, requested: 1073742848, allocatable: 1073741824"
            ]
        );
    }
}
