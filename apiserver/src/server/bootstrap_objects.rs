//! Objects that kube-apiserver creates at startup for its own parts: local APIServices, flow control, and the service network.

use crate::meta;
use crate::registry::{Registry, Target};
use crate::status::ApiError;
use serde_json::{Value, json};

/// APIServices and objects of flow control; `cargo xtask api-kinds` generates them.
const BOOTSTRAP_JSON: &str = include_str!("bootstrap.json");

/// The addresses of Services.
const SERVICE_NETWORK: &str = "10.0.0.0/16";

/// Returns the objects, with kind and apiVersion.
pub(super) fn bootstrap_objects() -> Vec<Value> {
    // A test ensures that the embedded JSON is valid.
    let mut objects: Vec<Value> = serde_json::from_str(BOOTSTRAP_JSON).unwrap_or_default();
    objects.push(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": [SERVICE_NETWORK] },
    }));
    objects
}

/// Returns the field manager that creates a bootstrap object.
pub(super) fn field_manager(object: &Value) -> &'static str {
    match object["kind"].as_str() {
        Some("FlowSchema" | "PriorityLevelConfiguration") => "api-priority-and-fairness-config-producer-v1",
        _ => "kube-apiserver",
    }
}

/// Reports the service network as ready.
pub(super) fn set_service_network_ready(registry: &Registry) -> Result<(), ApiError> {
    let kind = registry.resource("networking.k8s.io", "servicecidrs")?;
    let condition = json!({
        "type": "Ready", "status": "True", "lastTransitionTime": meta::now(),
        "message": "Kubernetes default Service CIDR is ready",
    });
    registry.apply_condition(
        &Target::new(&kind, "", "kubernetes"),
        "kubernetes-service-cidr-controller",
        &condition,
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn bootstrap_contains_api_services_and_flow_control() {
        let objects = super::bootstrap_objects();
        let find = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
        assert!(find("v1.") && find("v2.autoscaling") && find("catch-all") && find("workload-high"));
    }
}
