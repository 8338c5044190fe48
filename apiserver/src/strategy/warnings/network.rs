//! What is said of services, policies, endpoints and nodes: fields that do nothing, and addresses.

use super::{addresses, annotated, items};
use serde_json::Value;

pub(super) fn of_service(object: &Value, warnings: &mut Vec<String>) {
    let spec = &object["spec"];
    let text = |key: &str| spec[key].as_str().unwrap_or_default();
    let mut say = |warning: &str| warnings.push(warning.to_owned());
    let hints = "service.kubernetes.io/topology-aware-hints";
    if annotated(object, hints) {
        say(&format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let external = spec["externalIPs"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    let headless = text("type") == "ClusterIP" && text("clusterIP") == "None";
    if !matches!(text("clusterIP"), "" | "None") {
        for (at, address) in items(&spec["clusterIPs"]) {
            if let Some(warning) = addresses::address(&format!("spec.clusterIPs[{at}]"), address) {
                say(&warning);
            }
        }
    }
    if headless && !text("loadBalancerIP").is_empty() {
        say("spec.loadBalancerIP is ignored for headless services");
    }
    if headless && external {
        say("spec.externalIPs is ignored for headless services");
    }
    if headless && text("sessionAffinity") != "None" {
        say("spec.SessionAffinity is ignored for headless services");
    }
    for (at, address) in items(&spec["externalIPs"]) {
        if let Some(warning) = addresses::address(&format!("spec.externalIPs[{at}]"), address) {
            say(&warning);
        }
    }
    let named = text("type") == "ExternalName";
    if external && !headless && !named {
        say("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    if let Some(warning) = addresses::address("spec.loadBalancerIP", &spec["loadBalancerIP"]) {
        say(&warning);
    }
    if external && named {
        say("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    }
    if !named && !text("externalName").is_empty() {
        say("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    }
    if text("trafficDistribution") == "PreferClose" {
        say("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
}

/// Where services and ingresses are reached.
pub(super) fn of_status(status: &Value, warnings: &mut Vec<String>) {
    for (at, ingress) in items(&status["loadBalancer"]["ingress"]) {
        let path = format!("status.loadBalancer.ingress[{at}]");
        warnings.extend(addresses::address(&path, &ingress["ip"]));
    }
}

pub(super) fn of_policy(spec: &Value, warnings: &mut Vec<String>) {
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (at, rule) in items(&spec[rules]) {
            for (of, peer) in items(&rule[peers]) {
                let path = format!("spec.{rules}[{at}].{peers}[{of}].ipBlock");
                networks(&peer["ipBlock"], &path, warnings);
            }
        }
    }
}

/// A block of addresses, and what is not in it.
fn networks(block: &Value, path: &str, warnings: &mut Vec<String>) {
    warnings.extend(addresses::network(&format!("{path}.cidr"), &block["cidr"]));
    for (at, except) in items(&block["except"]) {
        warnings.extend(addresses::network(&format!("{path}.except[{at}]"), except));
    }
}

pub(super) fn of_node(spec: &Value, warnings: &mut Vec<String>) {
    if spec["configSource"].is_object() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if spec["externalID"].as_str().is_some_and(|id| !id.is_empty()) {
        let why = "this field is deprecated, and is unused by Kubernetes";
        warnings.push(format!("spec.externalID: {why}"));
    }
    for (at, network) in items(&spec["podCIDRs"]) {
        warnings.extend(addresses::network(&format!("spec.podCIDRs[{at}]"), network));
    }
}

pub(super) fn of_endpoints(object: &Value, warnings: &mut Vec<String>) {
    // Of what the controller itself writes nothing is said; so it is with slices.
    if object["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
        return;
    }
    for (at, subset) in items(&object["subsets"]) {
        for list in ["addresses", "notReadyAddresses"] {
            for (of, address) in items(&subset[list]) {
                let path = format!("subsets[{at}].{list}[{of}].ip");
                warnings.extend(addresses::address(&path, &address["ip"]));
            }
        }
    }
}

pub(super) fn of_slice(object: &Value, warnings: &mut Vec<String>) {
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
        for (of, address) in items(&endpoint["addresses"]) {
            let path = format!("endpoints[{at}].addresses[{of}]");
            warnings.extend(addresses::address(&path, address));
        }
    }
}
