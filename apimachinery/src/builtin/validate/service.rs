//! Validation of Services.

use super::{Check, Constraint, FieldRule, addresses, array, cluster_ips, items, names, network, text};
use serde_json::Value;
use std::collections::BTreeSet;

#[rustfmt::skip]
const PORT: &[FieldRule] = &[
    ("port", Constraint::Port),
    ("protocol", Constraint::OneOf(&["SCTP", "TCP", "UDP"])),
    ("targetPort", Constraint::PortOrName),
    ("appProtocol", Constraint::Format(names::qualified_name_errors)),
];
#[rustfmt::skip]
const SELECTION: &[FieldRule] = &[
    ("selector", Constraint::Labels),
    ("sessionAffinity", Constraint::OneOf(&["ClientIP", "None"])),
];
#[rustfmt::skip]
const TYPE: &[FieldRule] = &[
    ("type", Constraint::OneOf(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"])),
];
#[rustfmt::skip]
const INTERNAL_TRAFFIC: &[FieldRule] = &[
    ("internalTrafficPolicy", Constraint::OneOf(&["Cluster", "Local"])),
    ("trafficDistribution", Constraint::OneOf(&["PreferClose", "PreferSameZone", "PreferSameNode"])),
];

pub(super) fn validate_service(check: &mut Check, service: &Value, old: Option<&Value>) {
    let spec = &service["spec"];
    let ty = text(spec, "type");
    let headless = is_headless(spec);
    validate_topology_annotations(check, &service["metadata"]["annotations"]);
    match ty {
        "ExternalName" => validate_external_name(check, spec),
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {ty} services");
            check.invalid("spec.clusterIPs[0]", "None", detail);
        }
        _ if !headless => drop(check.require(&spec["ports"], "spec.ports")),
        _ => {}
    }
    validate_ports(check, spec);
    check.apply(SELECTION, spec, None, "spec");
    validate_session_affinity(check, spec);
    if ty != "ExternalName" {
        cluster_ips::validate_cluster_ips(check, spec, old.map(|old| &old["spec"]));
    }
    validate_external_ips(check, spec, old.map(|old| &old["spec"]));
    check.apply(TYPE, spec, None, "spec");
    reject_conflicting_ports(check, spec, ty);
    validate_load_balancer_fields(check, service, old);
    validate_traffic_policies(check, spec);
    check.apply(INTERNAL_TRAFFIC, spec, None, "spec");
    let ingress_points = service["status"]["loadBalancer"]["ingress"].as_array();
    if ty != "LoadBalancer" && ingress_points.is_some_and(|points| !points.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        check.forbidden("status.loadBalancer.ingress", detail);
    } else {
        validate_load_balancer_with_ip_modes(check, &service["status"]["loadBalancer"]);
    }
    if let Some(old) = old {
        cluster_ips::validate_update(check, spec, &old["spec"]);
        let both_load_balancers = is_load_balancer(spec) && is_load_balancer(&old["spec"]);
        if both_load_balancers && spec["loadBalancerClass"] != old["spec"]["loadBalancerClass"] {
            let class = spec["loadBalancerClass"].clone();
            check.invalid("spec.loadBalancerClass", class, "may not change once set");
        }
        let port = |spec: &Value| needs_health_check(spec).then(|| spec["healthCheckNodePort"].clone());
        if let (Some(new), Some(old)) = (port(spec), port(&old["spec"]))
            && new != old
        {
            check.forbidden("spec.healthCheckNodePort", "field is immutable");
        }
    }
}

pub(super) fn is_headless(spec: &Value) -> bool {
    spec["clusterIPs"].get(0).unwrap_or(&spec["clusterIP"]) == "None"
}

/// Requires the topology annotation and its deprecated form to match.
fn validate_topology_annotations(check: &mut Check, annotations: &Value) {
    const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
    const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    if let (Some(mode), Some(hints)) = (annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS))
        && mode != hints
    {
        let path = format!("metadata.annotations[{TOPOLOGY_MODE}]");
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        check.invalid(&path, mode.clone(), detail);
    }
}

fn validate_external_name(check: &mut Check, spec: &Value) {
    let detail = "may not be set for ExternalName services";
    for list in ["clusterIPs", "ipFamilies"] {
        if !array(&spec[list]).is_empty() {
            check.forbidden(&format!("spec.{list}"), detail);
        }
    }
    if !spec["ipFamilyPolicy"].is_null() {
        check.forbidden("spec.ipFamilyPolicy", detail);
    }
    let name = text(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        check.required("spec.externalName", "");
    } else {
        check.validate_format("spec.externalName", name, names::subdomain_errors);
    }
}

fn validate_session_affinity(check: &mut Check, spec: &Value) {
    let config = &spec["sessionAffinityConfig"];
    let path = "spec.sessionAffinityConfig";
    match text(spec, "sessionAffinity") {
        "None" if !config.is_null() => {
            check.forbidden(path, "must not be set when session affinity is None");
        }
        "ClientIP" => {
            let (client, client_path) = (&config["clientIP"], format!("{path}.clientIP"));
            let seconds = &client["timeoutSeconds"];
            if config.is_null() {
                check.required(path, "when session affinity type is ClientIP");
            } else if client.is_null() {
                check.required(&client_path, "when session affinity type is ClientIP");
            } else if seconds.is_null() {
                let detail = "when session affinity type is ClientIP";
                check.required(&format!("{client_path}.timeoutSeconds"), detail);
            } else if !(1..=86400).contains(&seconds.as_i64().unwrap_or_default()) {
                let detail = "must be greater than 0 and less than 86400";
                let field = format!("{client_path}.timeoutSeconds");
                check.invalid(&field, seconds.clone(), detail);
            }
        }
        _ => {}
    }
}

/// Validates external IPs.
fn validate_external_ips(check: &mut Check, spec: &Value, old: Option<&Value>) {
    let previous = old.and_then(|old| old["externalIPs"].as_array());
    let was_present = |address: &Value| previous.is_some_and(|previous| previous.contains(address));
    for (address, path) in items(spec, "externalIPs", "spec") {
        let was_present = was_present(address);
        let address = address.as_str().unwrap_or_default();
        match addresses::ip_error(address).filter(|_| !was_present) {
            Some(reason) => check.invalid(&path, address, reason),
            None => addresses::validate_non_special_ip(check, address, &path),
        }
    }
}

const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// The annotation that named the source ranges before `loadBalancerSourceRanges` existed.
const SOURCE_RANGES_ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

fn validate_load_balancer_fields(check: &mut Check, service: &Value, old: Option<&Value>) {
    let spec = &service["spec"];
    let ranges = array(&spec["loadBalancerSourceRanges"]);
    if !is_load_balancer(spec) && !ranges.is_empty() {
        let field = "spec.LoadBalancerSourceRanges";
        check.forbidden(field, ONLY_LOAD_BALANCER);
    }
    for (index, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        if let Some(reason) = addresses::cidr_error(range) {
            let field = format!("spec.LoadBalancerSourceRanges[{index}]");
            check.invalid(&field, range, reason);
        }
    }
    let annotated = |service: &'_ Value| service["metadata"]["annotations"][SOURCE_RANGES_ANNOTATION].clone();
    if let (true, Value::String(ranges)) = (ranges.is_empty(), annotated(service)) {
        let field = format!("metadata.annotations[{SOURCE_RANGES_ANNOTATION}]");
        if !is_load_balancer(spec) {
            check.forbidden(&field, ONLY_LOAD_BALANCER);
        }
        let is_new = old.is_none_or(|old| annotated(old) != *ranges);
        for range in ranges
            .trim()
            .split(',')
            .map(str::trim)
            .filter(|_| is_new && !ranges.trim().is_empty())
        {
            if let Some(reason) = addresses::cidr_error(range) {
                check.invalid(&field, range, reason);
            }
        }
    }
    if !is_load_balancer(spec) && !spec["allocateLoadBalancerNodePorts"].is_null() {
        let field = "spec.allocateLoadBalancerNodePorts";
        check.forbidden(field, ONLY_LOAD_BALANCER);
    }
    validate_load_balancer_class(check, spec);
}

fn validate_load_balancer_class(check: &mut Check, spec: &Value) {
    let path = "spec.loadBalancerClass";
    match spec["loadBalancerClass"].as_str() {
        Some(class) if is_load_balancer(spec) => {
            check.validate_format(path, class, names::qualified_name_errors);
        }
        Some(_) => check.forbidden(path, ONLY_LOAD_BALANCER),
        None => {}
    }
}

/// Validates the load balancer status with the IP modes.
fn validate_load_balancer_with_ip_modes(check: &mut Check, load_balancer: &Value) {
    network::validate_load_balancer_status(check, load_balancer);
    for (ingress, path) in items(load_balancer, "ingress", "status.loadBalancer") {
        let has_address = !text(ingress, "ip").is_empty();
        let field = format!("{path}.ipMode");
        match (has_address, ingress["ipMode"].is_null()) {
            (true, true) => check.required(&field, "must be specified when `ip` is set"),
            (false, false) => check.forbidden(&field, "may not be specified when `ip` is not set"),
            _ => check.require_supported(ingress, "ipMode", &path, &["Proxy", "VIP"]),
        }
    }
}

/// Whether the service is of type LoadBalancer.
pub fn is_load_balancer(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer"
}

/// Whether load balancers check the health of nodes.
pub fn needs_health_check(spec: &Value) -> bool {
    is_load_balancer(spec) && text(spec, "externalTrafficPolicy") == "Local"
}

/// Whether the service is reachable from outside the cluster.
pub fn is_externally_accessible(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !array(&spec["externalIPs"]).is_empty(),
        _ => false,
    }
}

/// Validates traffic policies.
fn validate_traffic_policies(check: &mut Check, spec: &Value) {
    let policy = text(spec, "externalTrafficPolicy");
    if is_externally_accessible(spec) {
        if check.require(&spec["externalTrafficPolicy"], "spec.externalTrafficPolicy") {
            check.require_supported(spec, "externalTrafficPolicy", "spec", &["Cluster", "Local"]);
        }
    } else if !policy.is_empty() {
        let detail = "may only be set for externally-accessible services";
        check.invalid("spec.externalTrafficPolicy", policy, detail);
    }
    let port = spec["healthCheckNodePort"].as_i64().unwrap_or_default();
    if needs_health_check(spec) {
        if port == 0 {
            check.required("spec.healthCheckNodePort", "");
        } else {
            check.validate_port(&spec["healthCheckNodePort"], "spec.healthCheckNodePort");
        }
    } else if port != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        check.invalid("spec.healthCheckNodePort", port, detail);
    }
}

fn validate_ports(check: &mut Check, spec: &Value) {
    let several = array(&spec["ports"]).len() > 1;
    let mut seen = BTreeSet::new();
    for (port, path) in items(spec, "ports", "spec") {
        let (name, field) = (text(port, "name"), format!("{path}.name"));
        if !name.is_empty() {
            check.validate_format(&field, name, names::label_errors);
            if !seen.insert(name) {
                check.duplicate(&field, name);
            }
        } else if several {
            check.required(&field, "");
        }
        check.apply(PORT, port, None, &path);
    }
}

/// Rejects node ports of services without them, and ports that several entries have.
fn reject_conflicting_ports(check: &mut Check, spec: &Value, ty: &str) {
    let node_port = |port: &Value| port["nodePort"].as_i64().filter(|number| *number != 0);
    let ports = || items(spec, "ports", "spec");
    for (port, path) in ports().filter(|_| ty == "ClusterIP") {
        if node_port(port).is_some() {
            let detail = "may not be used when `type` is 'ClusterIP'";
            check.forbidden(&format!("{path}.nodePort"), detail);
        }
    }
    let mut seen = BTreeSet::new();
    for (port, path) in ports() {
        if let Some(number) = node_port(port)
            && !seen.insert((text(port, "protocol"), number))
        {
            check.duplicate(&format!("{path}.nodePort"), number);
        }
    }
    let mut seen = BTreeSet::new();
    for (port, path) in ports() {
        if !seen.insert((text(port, "protocol"), port["port"].as_i64())) {
            check.duplicate(&path, port.clone());
        }
    }
}
