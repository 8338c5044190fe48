//! Services: addresses out of ranges, and what follows from the type.

use super::families;
use super::node_ports::{self, Taken, Unallocated};
use crate::builtin::{is_balanced, is_checked, is_external};
use crate::meta::{self, text};
use crate::status::Cause;
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// Addresses that services get: 10.0.0.0/16, as the tests' real server has it.
const NETWORK: [u8; 2] = [10, 0];

/// What follows from what was said.
pub(super) fn fill(service: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(service, "spec");
    spec.entry("type").or_insert(json!("ClusterIP"));
    spec.entry("sessionAffinity").or_insert(json!("None"));
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if let Some(old) = old {
        drop_dependent(spec, &old["spec"]);
    }
    if kind == "ExternalName" {
        return;
    }
    if spec["sessionAffinity"] == "ClientIP" && spec.get("sessionAffinityConfig").is_none_or(Value::is_null) {
        spec.insert(
            "sessionAffinityConfig".into(),
            json!({ "clientIP": { "timeoutSeconds": 10800 } }),
        );
    }
    spec.entry("internalTrafficPolicy").or_insert(json!("Cluster"));
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        spec.entry("externalTrafficPolicy").or_insert(json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        spec.entry("allocateLoadBalancerNodePorts").or_insert(json!(true));
    }
    if let Some(old) = old {
        let old = &old["spec"];
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let is_unsaid = |value: &Value| value.is_null() || key == "clusterIP" && *value == "";
            if spec.get(key).is_none_or(is_unsaid) && !old[key].is_null() {
                spec.insert(key.to_owned(), old[key].clone());
            }
        }
        let port = spec.get("healthCheckNodePort").unwrap_or(&Value::Null);
        if (port.is_null() || *port == 0) && is_checked(old) && is_checked(&Value::Object(spec.clone())) {
            spec.insert(
                "healthCheckNodePort".to_owned(),
                old["healthCheckNodePort"].clone(),
            );
        }
        // Who changes the one address means the list, too.
        if spec.get("clusterIP") != old.get("clusterIP") && spec.get("clusterIPs") == old.get("clusterIPs") {
            spec.insert("clusterIPs".to_owned(), json!([spec.get("clusterIP")]));
        }
    }
    if old.is_none() {
        service["status"] = json!({ "loadBalancer": {} });
    }
}

/// Whether a service has something.
type Has = fn(&Value) -> bool;

/// What only the old type has, and was not changed, goes with it.
fn drop_dependent(spec: &mut Map<String, Value>, old: &Value) {
    let same = |spec: &Map<String, Value>, key: &str| {
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
            if same(spec, key) {
                spec.remove(key);
            }
        }
    }
    let rules: [(&str, Has); 4] = [
        ("healthCheckNodePort", is_checked),
        ("allocateLoadBalancerNodePorts", is_balanced),
        ("loadBalancerClass", is_balanced),
        ("externalTrafficPolicy", is_external),
    ];
    for (key, has) in rules {
        if has(old) && !has(&new) && same(spec, key) {
            spec.remove(key);
        }
    }
    let given = node_ports::given(old).collect::<Vec<_>>();
    if node_ports::are_wanted(old)
        && !node_ports::are_wanted(&new)
        && node_ports::given(&new).all(|port| given.contains(&port))
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

/// Gives a service an address and ports that no other has. That is when the whole is written: who makes one by its status gets none, and
/// none later.
pub(super) fn allocate<'a>(
    service: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value> + Clone,
    dry_run: bool,
) -> Result<(), Unallocated> {
    // What is not kept takes no address, so that nobody asks whose it is.
    let is_named = dry_run || !meta::name(service).is_empty();
    let spec = meta::entry_mut(service, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return Ok(());
    }
    if let Some(address) = spec.get("clusterIP").filter(|address| **address != "").cloned() {
        spec.entry("clusterIPs").or_insert(json!([address]));
    }
    families::choose(spec, old.map(|old| &old["spec"]))?;
    if old.is_none_or(|old| old["spec"]["type"] == "ExternalName") {
        address(spec, is_named, &others)?;
    }
    let ports = others.flat_map(|other| node_ports::held(&other["spec"]));
    let mut taken = Taken {
        ports: ports.collect(),
        given: vec![],
        dry_run,
    };
    let now = Value::Object(spec.clone());
    let before = old.map(|old| &old["spec"]);
    if matches!(text(&now, "type"), "NodePort" | "LoadBalancer") {
        let all = node_ports::are_wanted(&now);
        match before {
            Some(before) => node_ports::change(spec, before, &mut taken, all)?,
            None => node_ports::choose(spec, &mut taken, all)?,
        }
    }
    if is_checked(&now) && !before.is_some_and(is_checked) {
        node_ports::choose_checked(spec, &mut taken)?;
    }
    Ok(())
}

/// Gives it an address, or sees whether it may have the one that it wants.
fn address<'a>(
    spec: &mut Map<String, Value>,
    is_named: bool,
    others: &(impl Iterator<Item = &'a Value> + Clone),
) -> Result<(), Cause> {
    let taken = || {
        others
            .clone()
            .filter_map(|other| other["spec"]["clusterIP"].as_str())
    };
    let wanted = spec
        .get("clusterIP")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let refused = |why: String| {
        Cause::invalid(
            "spec.clusterIPs",
            &json!([wanted]),
            format!("failed to allocate IP{why}"),
        )
    };
    match wanted.as_str() {
        "" => {
            let Some(address) = addresses().find(|address| !taken().any(|taken| taken == address)) else {
                return Err(refused(": range is full".to_owned()));
            };
            if !is_named {
                let why = format!(
                    ": IPAddress.networking.k8s.io {address:?} is invalid: spec.parentRef.name: Required value"
                );
                return Err(refused(why));
            }
            spec.insert("clusterIPs".into(), json!([address]));
            spec.insert("clusterIP".into(), json!(address));
        }
        "None" => {}
        address if !in_network(address) => {
            let [first, second] = NETWORK;
            return Err(refused(format!(
                " {address}: the provided IP ({address}) is not in the valid range. The range of valid IPs is {first}.{second}.0.0/16"
            )));
        }
        address if taken().any(|taken| taken == address) => {
            return Err(refused(format!(" {address}: provided IP is already allocated")));
        }
        _ => {}
    }
    Ok(())
}

fn in_network(address: &str) -> bool {
    address
        .parse::<Ipv4Addr>()
        .is_ok_and(|address| address.octets()[..2] == NETWORK)
}

fn addresses() -> impl Iterator<Item = String> {
    let [first, second] = NETWORK;
    // The first address is the server's own.
    (2..u16::MAX).map(move |host| {
        let [third, fourth] = host.to_be_bytes();
        format!("{first}.{second}.{third}.{fourth}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_given_once() {
        let service = json!({ "metadata": { "name": "a" }, "spec": { "type": "NodePort", "ports": [{ "port": 80 }, { "port": 81 }] } });
        let (mut first, mut second) = (service.clone(), service);
        assert_eq!(allocate(&mut first, None, [].iter(), false), Ok(()));
        assert_eq!(allocate(&mut second, None, [first.clone()].iter(), false), Ok(()));
        assert_eq!(
            (&first["spec"]["clusterIP"], &second["spec"]["clusterIP"]),
            (&json!("10.0.0.2"), &json!("10.0.0.3"))
        );
        assert_eq!(second["spec"]["ports"][1]["nodePort"], 30003);
        let both =
            json!([{ "port": 80 }, { "port": 80, "protocol": "UDP" }, { "port": 81, "nodePort": 30000 }]);
        let mut shared =
            json!({ "metadata": { "name": "c" }, "spec": { "type": "NodePort", "ports": both } });
        let refused = allocate(&mut shared, None, [].iter(), false).unwrap_err();
        assert!(
            format!("{refused:?}").contains("already allocated"),
            "{refused:?}"
        );
        shared["spec"]["ports"][2]["nodePort"] = json!(31000);
        assert_eq!(allocate(&mut shared, None, [].iter(), false), Ok(()));
        let given: Vec<_> = (0..3)
            .map(|port| shared["spec"]["ports"][port]["nodePort"].as_u64())
            .collect();
        assert_eq!(given, [30000, 30000, 31000].map(Some));
        for (address, why) in [
            ("10.0.0.3", "already allocated"),
            ("10.1.0.3", "not in the valid range"),
        ] {
            let mut third = json!({ "metadata": { "name": "b" }, "spec": { "clusterIP": address } });
            let refused = allocate(&mut third, None, [second.clone()].iter(), false).unwrap_err();
            assert!(format!("{refused:?}").contains(why), "{refused:?}");
        }
    }
}
