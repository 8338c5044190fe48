//! Objects that kube-apiserver creates at startup: namespaces, priority classes, roles, local APIServices, flow control, the service
//! network, and objects that describe the server.

use crate::ServiceNetwork;
use crate::auth::{User, bootstrap};
use crate::meta::{self, text};
use crate::registry::{Registry, Target, WriteContext};
use crate::request::WriteOptions;
use crate::status::ApiError;
use crate::storage::Store;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// APIServices and objects of flow control; `cargo xtask api-kinds` generates them.
const BOOTSTRAP_JSON: &str = include_str!("bootstrap.json");

const INITIAL_NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];
const SYSTEM_PRIORITY_CLASSES: &[(&str, i64, &str)] = &[
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

/// The ConfigMap in which kube-apiserver records since when it tracks legacy service account tokens; it exists in every cluster.
const LEGACY_TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

/// The ConfigMap with the certificate authority of client certificates, for API servers behind this one.
const AUTHENTICATION_CONFIG: &str = "extension-apiserver-authentication";

/// The address of the server and the network of Services.
#[derive(Clone, Copy)]
pub(super) struct BootstrapNetwork {
    pub(super) address: SocketAddr,
    pub(super) services: ServiceNetwork,
}

/// Creates the bootstrap objects.
pub(super) fn create_bootstrap_objects(
    registry: &Registry,
    network: BootstrapNetwork,
    client_ca: Option<&str>,
) -> Result<(), ApiError> {
    let mut objects = initial_objects();
    objects.extend(bootstrap());
    // A test ensures that the embedded JSON is valid.
    objects.extend(serde_json::from_str::<Vec<Value>>(BOOTSTRAP_JSON).unwrap_or_default());
    objects.push(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": [network.services.to_string()] },
    }));
    objects.push(authentication_config(client_ca));
    objects.push(kubernetes_service(network));
    let catalog = registry.catalog();
    let user = User::system();
    for object in objects {
        let options = WriteOptions::of_manager(field_manager(&object));
        let kind = catalog.kind(text(&object, "apiVersion"), text(&object, "kind"));
        let kind = kind.ok_or_else(|| {
            let name = text(&object, "kind");
            ApiError::internal(format!("unknown kind {name} of a bootstrap object"))
        })?;
        let target = Target::new(kind, meta::namespace(&object), "");
        registry.create(&target, object, WriteContext::new(&user, &options))?;
    }
    store_kubernetes_endpoints(registry, network.address)?;
    set_service_network_ready(registry)
}

fn new_object(version: &str, kind: &str, metadata: &Value) -> Value {
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata })
}

fn initial_objects() -> Vec<Value> {
    let namespaces = INITIAL_NAMESPACES.iter();
    let mut objects: Vec<Value> = namespaces
        .map(|name| new_object("v1", "Namespace", &json!({ "name": name })))
        .collect();
    for (name, value, description) in SYSTEM_PRIORITY_CLASSES {
        let mut class = new_object("scheduling.k8s.io/v1", "PriorityClass", &json!({ "name": name }));
        class["value"] = json!(value);
        class["description"] = json!(description);
        objects.push(class);
    }
    let metadata = json!({ "name": LEGACY_TOKEN_TRACKING, "namespace": "kube-system" });
    let mut tracking = new_object("v1", "ConfigMap", &metadata);
    tracking["data"] = json!({ "since": meta::now()[.."2026-01-01".len()] });
    objects.push(tracking);
    objects
}

fn authentication_config(client_ca: Option<&str>) -> Value {
    let metadata = json!({ "name": AUTHENTICATION_CONFIG, "namespace": "kube-system" });
    let mut config = new_object("v1", "ConfigMap", &metadata);
    if let Some(pem) = client_ca {
        config["data"] = json!({ "client-ca-file": pem });
    }
    config
}

fn kubernetes_service(network: BootstrapNetwork) -> Value {
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let metadata = json!({ "name": "kubernetes", "namespace": "default", "labels": labels });
    let mut service = new_object("v1", "Service", &metadata);
    let target_port = network.address.port();
    let port = json!({ "name": "https", "port": 443, "protocol": "TCP", "targetPort": target_port });
    let address = network.services.kubernetes_address().to_string();
    service["spec"] =
        json!({ "clusterIP": address, "ports": [port], "sessionAffinity": "None", "type": "ClusterIP" });
    service
}

/// Stores Endpoints and EndpointSlice of the service `kubernetes`, with the address that the server listens on.
///
/// They are not validated: their rules do not allow loopback addresses, which this server usually has.
fn store_kubernetes_endpoints(registry: &Registry, address: SocketAddr) -> Result<(), ApiError> {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let (port, address) = (
        json!({ "name": "https", "port": address.port(), "protocol": "TCP" }),
        address.ip().to_string(),
    );
    let metadata = |label: &str, value: &str| {
        json!({
            "name": "kubernetes", "namespace": "default", "uid": meta::new_uid(),
            "creationTimestamp": meta::now(), "labels": { label: value },
        })
    };
    let mut endpoints = new_object(
        "v1",
        "Endpoints",
        &metadata("endpointslice.kubernetes.io/skip-mirror", "true"),
    );
    endpoints["subsets"] = json!([{ "addresses": [{ "ip": address }], "ports": [port] }]);
    let mut slice = new_object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        &metadata("kubernetes.io/service-name", "kubernetes"),
    );
    slice["metadata"]["generation"] = json!(1);
    slice["addressType"] = json!(family);
    slice["endpoints"] = json!([{ "addresses": [address], "conditions": { "ready": true } }]);
    slice["ports"] = json!([port]);
    for (group, plural, object) in [
        ("", "endpoints", endpoints),
        ("discovery.k8s.io", "endpointslices", slice),
    ] {
        let kind = registry.resource(group, plural)?;
        let key = Store::key("default", "kubernetes");
        let stored = registry.store.create(&kind.table(), &key, object);
        stored.map_err(|_| ApiError::internal(format!("the {plural} of kubernetes exist")))?;
    }
    Ok(())
}

/// Returns the field manager that creates a bootstrap object.
fn field_manager(object: &Value) -> &'static str {
    match object["kind"].as_str() {
        Some("FlowSchema" | "PriorityLevelConfiguration") => "api-priority-and-fairness-config-producer-v1",
        _ => "kube-apiserver",
    }
}

/// Reports the service network as ready.
fn set_service_network_ready(registry: &Registry) -> Result<(), ApiError> {
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
    use super::*;

    #[test]
    fn bootstrap_contains_api_services_and_flow_control() {
        let objects: Vec<Value> = serde_json::from_str(BOOTSTRAP_JSON).unwrap();
        let find = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
        assert!(find("v1.") && find("v2.autoscaling") && find("catch-all") && find("workload-high"));
    }
}
