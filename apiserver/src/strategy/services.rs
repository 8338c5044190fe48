//! The strategy of Services: cluster IPs, and fields that depend on the type.

use super::node_ports::{self, AllocationError, PortAllocator};
use super::{ServiceNetworks, ip_families};
use crate::builtin::{is_externally_accessible, is_load_balancer, needs_health_check};
use crate::meta::{self, text};
use crate::status::Cause;
use serde_json::{Map, Value, json};

/// Removes the fields that the type does not have and sets, in an update, those that the client may omit.
pub(super) fn prepare(service: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(service, "spec");
    let is_external_name = spec.get("type").is_some_and(|kind| kind == "ExternalName");
    if is_external_name {
        list_cluster_ip(spec, old.map_or(&Value::Null, |old| &old["spec"]));
    }
    if let Some(old) = old {
        drop_type_dependent_fields(spec, &old["spec"]);
    }
    if is_external_name {
        spec.remove("internalTrafficPolicy");
        return;
    }
    if let Some(old) = old {
        let old = &old["spec"];
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let is_unset = |value: &Value| value.is_null() || key == "clusterIP" && *value == "";
            if spec.get(key).is_none_or(is_unset) && !old[key].is_null() {
                spec.insert(key.to_owned(), old[key].clone());
            }
        }
        let port = spec.get("healthCheckNodePort").unwrap_or(&Value::Null);
        if (port.is_null() || *port == 0)
            && needs_health_check(old)
            && needs_health_check(&Value::Object(spec.clone()))
        {
            spec.insert(
                "healthCheckNodePort".to_owned(),
                old["healthCheckNodePort"].clone(),
            );
        }
        // A changed `clusterIP` changes `clusterIPs`, too.
        if spec.get("clusterIP") != old.get("clusterIP") && spec.get("clusterIPs") == old.get("clusterIPs") {
            spec.insert("clusterIPs".to_owned(), json!([spec.get("clusterIP")]));
        }
    }
    if old.is_none() {
        service["status"] = json!({ "loadBalancer": {} });
    }
}

/// Takes over a new `clusterIP` into `clusterIPs`, unless that changes, too. Of a service without cluster IPs, validation rejects the list.
fn list_cluster_ip(spec: &mut Map<String, Value>, old: &Value) {
    let address = spec.get("clusterIP").cloned().unwrap_or_default();
    let list = spec.get("clusterIPs").unwrap_or(&Value::Null);
    if address.as_str().is_some_and(|address| !address.is_empty())
        && address != old["clusterIP"]
        && *list == old["clusterIPs"]
    {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
}

/// Whether a service of this type supports a field.
type SupportsField = fn(&Value) -> bool;

/// Drops unchanged fields that the new type does not support.
fn drop_type_dependent_fields(spec: &mut Map<String, Value>, old: &Value) {
    let is_unchanged = |spec: &Map<String, Value>, key: &str| {
        let value = spec.get(key).unwrap_or(&Value::Null);
        *value == old[key] || *value == ""
    };
    let new = Value::Object(spec.clone());
    if text(old, "type") != "ExternalName" && text(&new, "type") == "ExternalName" {
        for key in [
            "clusterIP",
            "clusterIPs",
            "internalTrafficPolicy",
            "ipFamilies",
            "ipFamilyPolicy",
        ] {
            if is_unchanged(spec, key) {
                spec.remove(key);
            }
        }
    }
    let rules: [(&str, SupportsField); 4] = [
        ("healthCheckNodePort", needs_health_check),
        ("allocateLoadBalancerNodePorts", is_load_balancer),
        ("loadBalancerClass", is_load_balancer),
        ("externalTrafficPolicy", is_externally_accessible),
    ];
    for (key, supports) in rules {
        if supports(old) && !supports(&new) && is_unchanged(spec, key) {
            spec.remove(key);
        }
    }
    let previous = node_ports::allocated(old).collect::<Vec<_>>();
    let may_have_node_ports = |spec: &Value| matches!(text(spec, "type"), "NodePort" | "LoadBalancer");
    if may_have_node_ports(old)
        && !may_have_node_ports(&new)
        && node_ports::allocated(&new).all(|port| previous.contains(&port))
    {
        for port in spec
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(port) = port.as_object_mut() {
                port.remove("nodePort");
            }
        }
    }
}

/// Allocates cluster IPs and node ports. Only a write of the whole object allocates: a service that is created by its status gets none,
/// then or later.
pub(super) fn allocate<'a>(
    service: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value> + Clone,
    networks: &ServiceNetworks,
    dry_run: bool,
) -> Result<(), AllocationError> {
    // A service without a name gets no cluster IP, because an IPAddress needs a parent.
    let is_named = !meta::name(service).is_empty();
    let spec = meta::entry_mut(service, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return Ok(());
    }
    if let Some(address) = spec.get("clusterIP").filter(|address| **address != "").cloned() {
        spec.entry("clusterIPs").or_insert(json!([address]));
    }
    ip_families::default_ip_families(spec, old.map(|old| &old["spec"]))?;
    if old.is_none_or(|old| old["spec"]["type"] == "ExternalName") {
        allocate_cluster_ip(spec, is_named, &others, networks, dry_run)?;
    }
    let ports = others.flat_map(|other| node_ports::all_node_ports(&other["spec"]));
    let mut allocator = PortAllocator {
        ports: ports.collect(),
        allocated: vec![],
        dry_run,
    };
    let now = Value::Object(spec.clone());
    let before = old.map(|old| &old["spec"]);
    if matches!(text(&now, "type"), "NodePort" | "LoadBalancer") {
        let all = node_ports::needs_node_ports(&now);
        match before {
            Some(before) => node_ports::allocate_updated(spec, before, &mut allocator, all)?,
            None => node_ports::allocate_new(spec, &mut allocator, all)?,
        }
    }
    if needs_health_check(&now) && !before.is_some_and(needs_health_check) {
        node_ports::allocate_health_check_port(spec, &mut allocator)?;
    }
    Ok(())
}

/// Allocates a cluster IP, or checks the requested one.
fn allocate_cluster_ip<'a>(
    spec: &mut Map<String, Value>,
    is_named: bool,
    others: &(impl Iterator<Item = &'a Value> + Clone),
    networks: &ServiceNetworks,
    dry_run: bool,
) -> Result<(), Cause> {
    let in_use = || {
        others
            .clone()
            .filter_map(|other| other["spec"]["clusterIP"].as_str())
    };
    let requested = spec
        .get("clusterIP")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let rejected = |reason: String| {
        Cause::invalid(
            "spec.clusterIPs",
            &json!([requested]),
            format!("failed to allocate IP{reason}"),
        )
    };
    match requested.as_str() {
        "" if dry_run => {
            let address = networks.address().to_string();
            spec.insert("clusterIPs".into(), json!([address]));
            spec.insert("clusterIP".into(), json!(address));
        }
        "" => {
            let mut addresses = networks.addresses().map(|address| address.to_string());
            let Some(address) = addresses.find(|address| !in_use().any(|in_use| in_use == address)) else {
                return Err(rejected(": range is full".to_owned()));
            };
            if !is_named {
                let reason = format!(
                    ": IPAddress.networking.k8s.io {address:?} is invalid: spec.parentRef.name: Required value"
                );
                return Err(rejected(reason));
            }
            spec.insert("clusterIPs".into(), json!([address]));
            spec.insert("clusterIP".into(), json!(address));
        }
        "None" => {}
        address if !networks.contains(address) && !dry_run => {
            let reason = format!(" {address}: the provided network does not match the current range");
            return Err(rejected(reason));
        }
        address if !networks.contains(address) => {
            return Err(rejected(format!(
                " {address}: the provided IP ({address}) is not in the valid range. The range of valid IPs is {networks}"
            )));
        }
        address if !dry_run && in_use().any(|in_use| in_use == address) => {
            return Err(rejected(format!(" {address}: provided IP is already allocated")));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::ServiceNetwork;

    #[test]
    fn addresses_and_ports_are_allocated_once() {
        let networks = &ServiceNetworks::new(ServiceNetwork::default(), [].into_iter());
        let service = json!({ "metadata": { "name": "a" }, "spec": { "type": "NodePort", "ports": [{ "port": 80 }, { "port": 81 }] } });
        let (mut first, mut second) = (service.clone(), service);
        assert_eq!(allocate(&mut first, None, [].iter(), networks, false), Ok(()));
        assert_eq!(
            allocate(&mut second, None, [first.clone()].iter(), networks, false),
            Ok(())
        );
        assert_eq!(
            (&first["spec"]["clusterIP"], &second["spec"]["clusterIP"]),
            (&json!("10.0.0.2"), &json!("10.0.0.3"))
        );
        assert_eq!(second["spec"]["ports"][1]["nodePort"], 30003);
        let both =
            json!([{ "port": 80 }, { "port": 80, "protocol": "UDP" }, { "port": 81, "nodePort": 30000 }]);
        let mut shared =
            json!({ "metadata": { "name": "c" }, "spec": { "type": "NodePort", "ports": both } });
        let rejected = allocate(&mut shared, None, [].iter(), networks, false).unwrap_err();
        assert!(
            format!("{rejected:?}").contains("already allocated"),
            "{rejected:?}"
        );
        shared["spec"]["ports"][2]["nodePort"] = json!(31000);
        assert_eq!(allocate(&mut shared, None, [].iter(), networks, false), Ok(()));
        let node_ports: Vec<_> = (0..3)
            .map(|port| shared["spec"]["ports"][port]["nodePort"].as_u64())
            .collect();
        assert_eq!(node_ports, [30000, 30000, 31000].map(Some));
        for (address, reason) in [
            ("10.0.0.3", "already allocated"),
            ("10.1.0.3", "does not match the current range"),
        ] {
            let mut third = json!({ "metadata": { "name": "b" }, "spec": { "clusterIP": address } });
            let rejected = allocate(&mut third, None, [second.clone()].iter(), networks, false).unwrap_err();
            assert!(format!("{rejected:?}").contains(reason), "{rejected:?}");
        }
        // A dry run allocates nothing.
        let mut dry = json!({ "metadata": { "name": "d" }, "spec": { "clusterIP": "10.0.0.3" } });
        assert_eq!(allocate(&mut dry, None, [second].iter(), networks, true), Ok(()));
        let mut dry = json!({ "spec": {} });
        assert_eq!(allocate(&mut dry, None, [].iter(), networks, true), Ok(()));
        assert_eq!(dry["spec"]["clusterIP"], "10.0.0.0");
    }
}
