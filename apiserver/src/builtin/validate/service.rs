//! Services.

use super::{Check, items, names, network, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;

pub(super) fn service(check: &mut Check, service: &Value, old: Option<&Value>) {
    let spec = &service["spec"];
    let ty = text(spec, "type");
    let headless = spec["clusterIP"] == "None";
    let path = "spec";
    if ty == "ExternalName" {
        check.required(&spec["externalName"], "spec.externalName");
    } else if !headless {
        check.required(&spec["ports"], "spec.ports");
    }
    check.one_of(
        spec,
        "type",
        path,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    check.one_of(spec, "sessionAffinity", path, &["ClientIP", "None"]);
    check.labels(&spec["selector"], "spec.selector");
    ports(check, spec, ty);
    addresses(check, spec);
    let has_external_ips = spec["externalIPs"].as_array().is_some_and(|ips| !ips.is_empty());
    let external = ["LoadBalancer", "NodePort"].contains(&ty) || (ty == "ClusterIP" && has_external_ips);
    if let Some(policy) = spec["externalTrafficPolicy"].as_str() {
        if external {
            check.one_of(spec, "externalTrafficPolicy", path, &["Cluster", "Local"]);
        } else {
            let detail = "may only be set for externally-accessible services";
            check.push(FieldError::invalid("spec.externalTrafficPolicy", policy, detail));
        }
    }
    check.one_of(spec, "internalTrafficPolicy", path, &["Cluster", "Local"]);
    for (index, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        // A second family is for those that need no address.
        if family == "IPv6" && !(headless && index > 0) {
            let field = format!("spec.ipFamilies[{index}]");
            check.push(FieldError::invalid(
                &field,
                "IPv6",
                "not configured on this cluster",
            ));
        }
    }
    let balanced = service["status"]["loadBalancer"]["ingress"].as_array();
    if ty != "LoadBalancer" && balanced.is_some_and(|points| !points.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        check.push(FieldError::forbidden("status.loadBalancer.ingress", detail));
    }
    if let Some(old) = old {
        update(check, spec, &old["spec"]);
    }
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
        let node_port = port["nodePort"].as_i64().unwrap_or_default();
        if node_port != 0 && ["ClusterIP", "ExternalName"].contains(&ty) {
            let detail = format!("may not be used when `type` is '{ty}'");
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

fn addresses(check: &mut Check, spec: &Value) {
    let first = spec["clusterIPs"].get(0).unwrap_or(&spec["clusterIP"]);
    if let Some(address) = first
        .as_str()
        .filter(|address| !["", "None"].contains(address) && address.parse::<IpAddr>().is_err())
    {
        check.push(FieldError::invalid(
            "spec.clusterIPs[0]",
            address,
            network::ADDRESS,
        ));
    }
    for (address, path) in items(spec, "externalIPs", "spec") {
        let address = address.as_str().unwrap_or_default();
        if address.parse::<IpAddr>().is_err() {
            check.push(FieldError::invalid(&path, address, network::ADDRESS));
        }
    }
    for (index, range) in spec["loadBalancerSourceRanges"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let range = range.as_str().unwrap_or_default();
        if let Some(why) = network::range_fault(range.trim()) {
            let field = format!("spec.LoadBalancerSourceRanges[{index}]");
            check.push(FieldError::invalid(&field, range, why));
        }
    }
}

/// An address stays while the service has one.
fn update(check: &mut Check, new: &Value, old: &Value) {
    if text(new, "type") == "ExternalName" || text(old, "type") == "ExternalName" {
        return;
    }
    let (before, after) = (text(old, "clusterIP"), text(new, "clusterIP"));
    if !before.is_empty() && before != after {
        check.push(FieldError::invalid(
            "spec.clusterIPs[0]",
            serde_json::json!([after]),
            "may not change once set",
        ));
    }
}
