//! Warnings about services, network policies, endpoints and nodes.

use super::{addresses, has_annotation, items};
use serde_json::Value;

pub(super) fn warn_service(object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    let text = |key: &str| spec[key].as_str().unwrap_or_default();
    let mut warn = |warning: &str| warnings.push(warning.to_owned());
    let hints = "service.kubernetes.io/topology-aware-hints";
    if has_annotation(object, hints) {
        warn(&format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let external = spec["externalIPs"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    let headless = text("type") == "ClusterIP" && text("clusterIP") == "None";
    if !matches!(text("clusterIP"), "" | "None") {
        for (at, address) in items(&spec["clusterIPs"]) {
            if let Some(warning) = addresses::ip_warning(&format!("spec.clusterIPs[{at}]"), address) {
                warn(&warning);
            }
        }
    }
    if headless && !text("loadBalancerIP").is_empty() {
        warn("spec.loadBalancerIP is ignored for headless services");
    }
    if headless && external {
        warn("spec.externalIPs is ignored for headless services");
    }
    if headless && text("sessionAffinity") != "None" {
        warn("spec.SessionAffinity is ignored for headless services");
    }
    for (at, address) in items(&spec["externalIPs"]) {
        if let Some(warning) = addresses::ip_warning(&format!("spec.externalIPs[{at}]"), address) {
            warn(&warning);
        }
    }
    let is_external_name = text("type") == "ExternalName";
    if external && !headless && !is_external_name {
        warn("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    if let Some(warning) = addresses::ip_warning("spec.loadBalancerIP", &spec["loadBalancerIP"]) {
        warn(&warning);
    }
    if external && is_external_name {
        warn("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    }
    if !is_external_name && !text("externalName").is_empty() {
        warn("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    }
    if text("trafficDistribution") == "PreferClose" {
        warn("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
}

/// Warns about the load balancer status of services and ingresses.
pub(super) fn warn_load_balancer_status(status: &Value, warnings: &mut Vec<String>) {
    for (at, ingress) in items(&status["loadBalancer"]["ingress"]) {
        let path = format!("status.loadBalancer.ingress[{at}]");
        warnings.extend(addresses::ip_warning(&path, &ingress["ip"]));
    }
}

pub(super) fn warn_network_policy(spec: &Value, warnings: &mut Vec<String>) {
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (at, rule) in items(&spec[rules]) {
            for (index, peer) in items(&rule[peers]) {
                let path = format!("spec.{rules}[{at}].{peers}[{index}].ipBlock");
                warn_ip_block(&peer["ipBlock"], &path, warnings);
            }
        }
    }
}

/// Warns about an IP block and its exceptions.
fn warn_ip_block(block: &Value, path: &str, warnings: &mut Vec<String>) {
    warnings.extend(addresses::cidr_warnings(&format!("{path}.cidr"), &block["cidr"]));
    for (at, except) in items(&block["except"]) {
        warnings.extend(addresses::cidr_warnings(&format!("{path}.except[{at}]"), except));
    }
}

pub(super) fn warn_node(spec: &Value, warnings: &mut Vec<String>) {
    if spec["configSource"].is_object() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if spec["externalID"].as_str().is_some_and(|id| !id.is_empty()) {
        let reason = "this field is deprecated, and is unused by Kubernetes";
        warnings.push(format!("spec.externalID: {reason}"));
    }
    for (at, network) in items(&spec["podCIDRs"]) {
        warnings.extend(addresses::cidr_warnings(&format!("spec.podCIDRs[{at}]"), network));
    }
}

pub(super) fn warn_endpoints(object: &Value, warnings: &mut Vec<String>) {
    // The controllers' own objects are not checked; nor are their slices.
    if object["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
        return;
    }
    for (at, subset) in items(&object["subsets"]) {
        for list in ["addresses", "notReadyAddresses"] {
            for (index, address) in items(&subset[list]) {
                let path = format!("subsets[{at}].{list}[{index}].ip");
                warnings.extend(addresses::ip_warning(&path, &address["ip"]));
            }
        }
    }
}

pub(super) fn warn_endpoint_slice(object: &Value, warnings: &mut Vec<String>) {
    const CONTROLLERS: [&str; 2] = [
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ];
    let labels = &object["metadata"]["labels"];
    let manager = labels["endpointslice.kubernetes.io/managed-by"].as_str();
    if manager.is_some_and(|manager| CONTROLLERS.contains(&manager)) {
        return;
    }
    for (at, endpoint) in items(&object["endpoints"]) {
        for (index, address) in items(&endpoint["addresses"]) {
            let path = format!("endpoints[{at}].addresses[{index}]");
            warnings.extend(addresses::ip_warning(&path, address));
        }
    }
}
