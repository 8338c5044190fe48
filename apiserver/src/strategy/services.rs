//! Services: addresses out of ranges, and what follows from the type.

use crate::meta;
use serde_json::{Value, json};

/// Addresses that services get: 10.0.0.0/16, as the tests' real server has it.
const NETWORK: [u8; 2] = [10, 0];
const NODE_PORTS: std::ops::RangeInclusive<u16> = 30000..=32767;

/// What follows from what was said.
pub(super) fn fill(service: &mut Value, old: Option<&Value>) {
    let spec = meta::entry_mut(service, "spec");
    spec.entry("type").or_insert(json!("ClusterIP"));
    spec.entry("sessionAffinity").or_insert(json!("None"));
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
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
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(key).is_none_or(Value::is_null) && !old["spec"][key].is_null() {
                spec.insert(key.to_owned(), old["spec"][key].clone());
            }
        }
    }
    spec.entry("ipFamilies").or_insert(json!(["IPv4"]));
    spec.entry("ipFamilyPolicy").or_insert(json!("SingleStack"));
    if old.is_none() {
        service["status"] = json!({ "loadBalancer": {} });
    }
}

/// Gives a service an address and ports that no other has; false when there are none left.
pub(super) fn allocate<'a>(service: &mut Value, others: impl Iterator<Item = &'a Value> + Clone) -> bool {
    let spec = meta::entry_mut(service, "spec");
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return true;
    }
    if spec
        .get("clusterIP")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        let taken: Vec<&str> = others
            .clone()
            .filter_map(|other| other["spec"]["clusterIP"].as_str())
            .collect();
        let address = addresses().find(|address| !taken.contains(&address.as_str()));
        let Some(address) = address else { return false };
        spec.insert("clusterIP".into(), json!(address));
    }
    let address = spec["clusterIP"].clone();
    spec.entry("clusterIPs").or_insert(json!([address]));
    let wants = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let unwanted = spec
        .get("allocateLoadBalancerNodePorts")
        .is_some_and(|wanted| wanted == false);
    if !matches!(wants, "NodePort" | "LoadBalancer") || unwanted {
        return true;
    }
    let mut taken: Vec<u64> = others
        .flat_map(|other| other["spec"]["ports"].as_array().into_iter().flatten())
        .filter_map(|port| port["nodePort"].as_u64())
        .collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        if port["nodePort"].as_u64().unwrap_or(0) == 0 {
            let Some(free) = NODE_PORTS.map(u64::from).find(|port| !taken.contains(port)) else {
                return false;
            };
            taken.push(free);
            port["nodePort"] = json!(free);
        }
    }
    true
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
        let service = json!({ "spec": { "type": "NodePort", "ports": [{ "port": 80 }, { "port": 81 }] } });
        let (mut first, mut second) = (service.clone(), service);
        assert!(allocate(&mut first, [].iter()));
        assert!(allocate(&mut second, [first.clone()].iter()));
        assert_eq!(
            (&first["spec"]["clusterIP"], &second["spec"]["clusterIP"]),
            (&json!("10.0.0.2"), &json!("10.0.0.3"))
        );
        assert_eq!(second["spec"]["ports"][1]["nodePort"], 30003);
    }
}
