//! Services.

use super::{Check, addresses, cluster_ips, items, names, network, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn service(check: &mut Check, service: &Value, old: Option<&Value>) {
    let spec = &service["spec"];
    let ty = text(spec, "type");
    let headless = is_headless(spec);
    let path = "spec";
    topology(check, &service["metadata"]["annotations"]);
    match ty {
        "ExternalName" => external_name(check, spec),
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {ty} services");
            check.push(FieldError::invalid("spec.clusterIPs[0]", "None", detail));
        }
        _ if !headless => drop(check.required(&spec["ports"], "spec.ports")),
        _ => {}
    }
    check.one_of(
        spec,
        "type",
        path,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    check.one_of(spec, "sessionAffinity", path, &["ClientIP", "None"]);
    affinity(check, spec);
    check.labels(&spec["selector"], "spec.selector");
    ports(check, spec, ty);
    if ty != "ExternalName" {
        cluster_ips::cluster_ips(check, spec, old.map(|old| &old["spec"]));
    }
    outside(check, spec, old.map(|old| &old["spec"]));
    of_balancers(check, spec);
    traffic(check, spec);
    let balanced = service["status"]["loadBalancer"]["ingress"].as_array();
    if ty != "LoadBalancer" && balanced.is_some_and(|points| !points.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        check.push(FieldError::forbidden("status.loadBalancer.ingress", detail));
    } else {
        balanced_at(check, &service["status"]["loadBalancer"]);
    }
    if let Some(old) = old {
        cluster_ips::update(check, spec, &old["spec"]);
        let balancers = [spec, &old["spec"]]
            .iter()
            .all(|spec| text(spec, "type") == "LoadBalancer");
        if balancers && spec["loadBalancerClass"] != old["spec"]["loadBalancerClass"] {
            let class = spec["loadBalancerClass"].clone();
            let detail = "may not change once set";
            check.push(FieldError::invalid("spec.loadBalancerClass", class, detail));
        }
        // The real server looks at it twice.
        balancer_class(check, spec);
        let port = |spec: &Value| is_checked(spec).then(|| spec["healthCheckNodePort"].clone());
        if let (Some(new), Some(old)) = (port(spec), port(&old["spec"]))
            && new != old
        {
            let detail = "field is immutable";
            check.push(FieldError::forbidden("spec.healthCheckNodePort", detail));
        }
    }
}

pub(super) fn is_headless(spec: &Value) -> bool {
    spec["clusterIPs"].get(0).unwrap_or(&spec["clusterIP"]) == "None"
}

/// A name alone.
/// The new annotation and the old one may not say different things.
fn topology(check: &mut Check, annotations: &Value) {
    const MODE: &str = "service.kubernetes.io/topology-mode";
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    if let (Some(mode), Some(hints)) = (annotations.get(MODE), annotations.get(HINTS))
        && mode != hints
    {
        let path = format!("metadata.annotations[{MODE}]");
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        check.push(FieldError::invalid(&path, mode.clone(), detail));
    }
}

fn external_name(check: &mut Check, spec: &Value) {
    let detail = "may not be set for ExternalName services";
    for list in ["clusterIPs", "ipFamilies"] {
        if spec[list].as_array().is_some_and(|list| !list.is_empty()) {
            check.push(FieldError::forbidden(&format!("spec.{list}"), detail));
        }
    }
    if !spec["ipFamilyPolicy"].is_null() {
        check.push(FieldError::forbidden("spec.ipFamilyPolicy", detail));
    }
    let name = text(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        check.push(FieldError::required("spec.externalName", ""));
    } else {
        check.messages("spec.externalName", name, &names::subdomain(name));
    }
}

fn affinity(check: &mut Check, spec: &Value) {
    let config = &spec["sessionAffinityConfig"];
    let path = "spec.sessionAffinityConfig";
    match text(spec, "sessionAffinity") {
        "None" if !config.is_null() => {
            let detail = "must not be set when session affinity is None";
            check.push(FieldError::forbidden(path, detail));
        }
        "ClientIP" => {
            let (client, below) = (&config["clientIP"], format!("{path}.clientIP"));
            let seconds = &client["timeoutSeconds"];
            if config.is_null() {
                let detail = "when session affinity type is ClientIP";
                check.push(FieldError::required(path, detail));
            } else if client.is_null() {
                let detail = "when session affinity type is ClientIP";
                check.push(FieldError::required(&below, detail));
            } else if seconds.is_null() {
                let detail = "when session affinity type is ClientIP";
                check.push(FieldError::required(&format!("{below}.timeoutSeconds"), detail));
            } else if !(1..=86400).contains(&seconds.as_i64().unwrap_or_default()) {
                let detail = "must be greater than 0 and less than 86400";
                let field = format!("{below}.timeoutSeconds");
                check.push(FieldError::invalid(&field, seconds.clone(), detail));
            }
        }
        _ => {}
    }
}

/// Addresses that others bring here.
fn outside(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let held = old.and_then(|old| old["externalIPs"].as_array());
    let is_held = |address: &Value| held.is_some_and(|held| held.contains(address));
    for (address, path) in items(spec, "externalIPs", "spec") {
        let is_held = is_held(address);
        let address = address.as_str().unwrap_or_default();
        match addresses::fault(address).filter(|_| !is_held) {
            Some(why) => check.push(FieldError::invalid(&path, address, why)),
            None => addresses::special(check, address, &path),
        }
    }
}

const FOR_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";

fn of_balancers(check: &mut Check, spec: &Value) {
    let balances = text(spec, "type") == "LoadBalancer";
    let ranges = spec["loadBalancerSourceRanges"].as_array();
    let ranges = ranges.map(Vec::as_slice).unwrap_or_default();
    if !balances && !ranges.is_empty() {
        let field = "spec.LoadBalancerSourceRanges";
        check.push(FieldError::forbidden(field, FOR_BALANCERS));
    }
    for (index, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        if let Some(why) = addresses::range_fault(range) {
            let field = format!("spec.LoadBalancerSourceRanges[{index}]");
            check.push(FieldError::invalid(&field, range, why));
        }
    }
    if !balances && !spec["allocateLoadBalancerNodePorts"].is_null() {
        let field = "spec.allocateLoadBalancerNodePorts";
        check.push(FieldError::forbidden(field, FOR_BALANCERS));
    }
    balancer_class(check, spec);
}

fn balancer_class(check: &mut Check, spec: &Value) {
    let path = "spec.loadBalancerClass";
    match spec["loadBalancerClass"].as_str() {
        Some(class) if text(spec, "type") == "LoadBalancer" => {
            check.messages(path, class, &names::qualified(class));
        }
        Some(_) => check.push(FieldError::forbidden(path, FOR_BALANCERS)),
        None => {}
    }
}

/// Where it is reached, and how an address there is meant.
fn balanced_at(check: &mut Check, balancer: &Value) {
    network::balancer_status(check, balancer);
    for (point, path) in items(balancer, "ingress", "status.loadBalancer") {
        let has_address = !text(point, "ip").is_empty();
        let field = format!("{path}.ipMode");
        match (has_address, point["ipMode"].is_null()) {
            (true, true) => {
                let detail = "must be specified when `ip` is set";
                check.push(FieldError::required(&field, detail));
            }
            (false, false) => {
                let detail = "may not be specified when `ip` is not set";
                check.push(FieldError::forbidden(&field, detail));
            }
            _ => check.one_of(point, "ipMode", &path, &["Proxy", "VIP"]),
        }
    }
}

pub(crate) fn is_balanced(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer"
}

/// Whether nodes are asked for its health.
pub(crate) fn is_checked(spec: &Value) -> bool {
    is_balanced(spec) && text(spec, "externalTrafficPolicy") == "Local"
}

/// Whether it is reached from outside.
pub(crate) fn is_external(spec: &Value) -> bool {
    let external = spec["externalIPs"].as_array().is_some_and(|ips| !ips.is_empty());
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => external,
        _ => false,
    }
}

/// Which way requests go.
fn traffic(check: &mut Check, spec: &Value) {
    let policy = text(spec, "externalTrafficPolicy");
    if is_external(spec) {
        if check.required(&spec["externalTrafficPolicy"], "spec.externalTrafficPolicy") {
            check.one_of(spec, "externalTrafficPolicy", "spec", &["Cluster", "Local"]);
        }
    } else if !policy.is_empty() {
        let detail = "may only be set for externally-accessible services";
        check.push(FieldError::invalid("spec.externalTrafficPolicy", policy, detail));
    }
    let port = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
    if is_checked(spec) {
        if port == 0 {
            check.push(FieldError::required("spec.healthCheckNodePort", ""));
        } else {
            check.port(&spec["healthCheckNodePort"], "spec.healthCheckNodePort");
        }
    } else if port != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        check.push(FieldError::invalid("spec.healthCheckNodePort", port, detail));
    }
    check.one_of(spec, "internalTrafficPolicy", "spec", &["Cluster", "Local"]);
    check.one_of(
        spec,
        "trafficDistribution",
        "spec",
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
    );
}

fn ports(check: &mut Check, spec: &Value, ty: &str) {
    let several = spec["ports"].as_array().is_some_and(|ports| ports.len() > 1);
    let mut seen_names = BTreeSet::new();
    let (mut seen, mut on_nodes) = (BTreeSet::new(), BTreeSet::new());
    for (port, path) in items(spec, "ports", "spec") {
        let name = text(port, "name");
        if name.is_empty() {
            if several {
                check.push(FieldError::required(&format!("{path}.name"), ""));
            }
        } else {
            let messages = names::label(name);
            check.messages(&format!("{path}.name"), name, &messages);
            if messages.is_empty() && !seen_names.insert(name) {
                check.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
        }
        check.port(&port["port"], &format!("{path}.port"));
        check.one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"]);
        check.port_or_name(&port["targetPort"], &format!("{path}.targetPort"));
        if let Some(protocol) = port["appProtocol"].as_str() {
            check.messages(
                &format!("{path}.appProtocol"),
                protocol,
                &names::qualified(protocol),
            );
        }
        let node_port = port["nodePort"].as_i64().unwrap_or_default();
        if node_port != 0 && ty == "ClusterIP" {
            let detail = "may not be used when `type` is 'ClusterIP'";
            check.push(FieldError::forbidden(&format!("{path}.nodePort"), detail));
        }
        if node_port != 0 && !on_nodes.insert((text(port, "protocol"), node_port)) {
            check.push(FieldError::duplicate(&format!("{path}.nodePort"), node_port));
        }
        if !seen.insert((text(port, "protocol"), port["port"].as_i64())) {
            // The real server shows its own type, with only the fields that it compares.
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"]
            );
            check.push(FieldError::duplicate(&path, "").showing(shown));
        }
    }
}
