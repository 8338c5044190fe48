//! Services: addresses out of ranges, and what follows from the type.

use super::node_ports::{self, Unallocated};
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
    if kind == "ExternalName" {
        if let Some(old) = old {
            drop_address(spec, &old["spec"]);
        }
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
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
                spec.insert(key.to_owned(), old["spec"][key].clone());
            }
        }
    }
    if old.is_none() {
        service["status"] = json!({ "loadBalancer": {} });
    }
}

/// A service that becomes a name no longer has what only those with an address have.
fn drop_address(spec: &mut Map<String, Value>, old: &Value) {
    for key in [
        "clusterIP",
        "clusterIPs",
        "internalTrafficPolicy",
        "ipFamilies",
        "ipFamilyPolicy",
    ] {
        if spec
            .get(key)
            .is_some_and(|value| *value == old[key] || *value == "")
        {
            spec.remove(key);
        }
    }
}

/// Who makes a service by its status says its address in both fields, or in none.
pub(super) fn check_unallocated(service: &Value) -> Option<Cause> {
    let spec = &service["spec"];
    let lacks = text(spec, "type") != "ExternalName"
        && !text(spec, "clusterIP").is_empty()
        && spec["clusterIPs"].is_null();
    lacks.then(|| Cause::required("spec.clusterIPs", ""))
}

/// The families of its addresses.
fn choose_families(spec: &mut Map<String, Value>) {
    let headless = spec.get("clusterIP").is_some_and(|address| address == "None");
    let selects = spec
        .get("selector")
        .and_then(Value::as_object)
        .is_some_and(|labels| !labels.is_empty());
    // Who has neither an address nor pods may have endpoints of both families.
    let (families, policy) = if headless && !selects {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    spec.entry("ipFamilies").or_insert(families);
    spec.entry("ipFamilyPolicy").or_insert(json!(policy));
}

/// Gives a service an address and ports that no other has. That is when the whole is written: who makes one by its status gets none, and
/// none later.
pub(super) fn allocate<'a>(
    service: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value> + Clone,
    is_named: bool,
) -> Result<(), Unallocated> {
    let spec = meta::entry_mut(service, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return Ok(());
    }
    choose_families(spec);
    if old.is_none_or(|old| old["spec"]["type"] == "ExternalName") {
        address(spec, is_named, &others)?;
    }
    if let Some(address) = spec.get("clusterIP").cloned() {
        spec.entry("clusterIPs").or_insert(json!([address]));
    }
    let wants = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let unwanted = spec
        .get("allocateLoadBalancerNodePorts")
        .is_some_and(|wanted| wanted == false);
    if !matches!(wants, "NodePort" | "LoadBalancer") || unwanted {
        return Ok(());
    }
    let taken: Vec<u64> = others
        .flat_map(|other| node_ports::given(&other["spec"]))
        .collect();
    match old {
        Some(old) => node_ports::change(spec, &old["spec"], taken),
        None => Ok(node_ports::choose(spec, taken)?),
    }
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
    if !wanted.is_empty() {
        spec.entry("clusterIPs").or_insert(json!([wanted]));
    }
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
        assert_eq!(allocate(&mut first, None, [].iter(), true), Ok(()));
        assert_eq!(allocate(&mut second, None, [first.clone()].iter(), true), Ok(()));
        assert_eq!(
            (&first["spec"]["clusterIP"], &second["spec"]["clusterIP"]),
            (&json!("10.0.0.2"), &json!("10.0.0.3"))
        );
        assert_eq!(second["spec"]["ports"][1]["nodePort"], 30003);
        let both =
            json!([{ "port": 80 }, { "port": 80, "protocol": "UDP" }, { "port": 81, "nodePort": 30000 }]);
        let mut shared =
            json!({ "metadata": { "name": "c" }, "spec": { "type": "NodePort", "ports": both } });
        let refused = allocate(&mut shared, None, [].iter(), true).unwrap_err();
        assert!(
            format!("{refused:?}").contains("already allocated"),
            "{refused:?}"
        );
        shared["spec"]["ports"][2]["nodePort"] = json!(31000);
        assert_eq!(allocate(&mut shared, None, [].iter(), true), Ok(()));
        let given: Vec<_> = (0..3)
            .map(|port| shared["spec"]["ports"][port]["nodePort"].as_u64())
            .collect();
        assert_eq!(given, [30000, 30000, 31000].map(Some));
        for (address, why) in [
            ("10.0.0.3", "already allocated"),
            ("10.1.0.3", "not in the valid range"),
        ] {
            let mut third = json!({ "metadata": { "name": "b" }, "spec": { "clusterIP": address } });
            let refused = allocate(&mut third, None, [second.clone()].iter(), true).unwrap_err();
            assert!(format!("{refused:?}").contains(why), "{refused:?}");
        }
    }
}
