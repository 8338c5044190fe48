//! The ports of nodes at which services are reached.

use crate::meta::text;
use crate::status::Cause;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const NODE_PORTS: RangeInclusive<u16> = 30000..=32767;

/// Why a service is not given what it needs.
#[derive(Debug, PartialEq)]
pub(crate) enum Unallocated {
    /// It asked for something that it cannot have.
    Refused(Cause),
    /// What it asks for contradicts itself.
    Failed(String),
}

impl From<Cause> for Unallocated {
    fn from(cause: Cause) -> Self {
        Self::Refused(cause)
    }
}

/// The nodes' ports that a service has.
pub(super) fn given(spec: &Value) -> impl Iterator<Item = u64> {
    let ports = spec["ports"].as_array().into_iter().flatten();
    ports.filter_map(|port| port["nodePort"].as_u64())
}

/// Gives each port one of the nodes' ports. Ports of one number share it: they differ in their protocols.
pub(super) fn choose(spec: &mut Map<String, Value>, mut taken: Vec<u64>) -> Result<(), Cause> {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let number = |port: &Value, field: &str| port[field].as_u64().unwrap_or(0);
    let asked: Vec<(u64, u64)> = ports
        .iter()
        .map(|port| (number(port, "port"), number(port, "nodePort")))
        .collect();
    let mut shared: BTreeMap<u64, u64> = BTreeMap::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let (number, mut given) = asked[index];
        let earlier = shared.get(&number).copied();
        if let Some(earlier) = earlier.filter(|&earlier| given == 0 || given == earlier) {
            port["nodePort"] = json!(earlier);
            continue;
        }
        if given == 0 {
            let other = asked
                .iter()
                .find(|(other, given)| *other == number && *given != 0);
            given = other.map_or(0, |&(_, given)| given);
        }
        given = free(given, &taken)
            .map_err(|why| Cause::invalid(format!("spec.ports[{index}].nodePort"), &json!(given), why))?;
        taken.push(given);
        shared.entry(number).or_insert(given);
        port["nodePort"] = json!(given);
    }
    Ok(())
}

/// Gives a changed service's ports what ports of their names had, and to others free ones of their own.
pub(super) fn change(
    spec: &mut Map<String, Value>,
    old: &Value,
    mut taken: Vec<u64>,
) -> Result<(), Unallocated> {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let number = |port: &Value| port["nodePort"].as_u64().unwrap_or(0);
    let held: Vec<u64> = given(old).collect();
    if matches!(text(old, "type"), "NodePort" | "LoadBalancer") {
        let kept: Vec<u64> = ports
            .iter()
            .map(number)
            .filter(|port| held.contains(port))
            .collect();
        for port in ports.iter_mut().filter(|port| number(port) == 0) {
            let mut before = old["ports"].as_array().into_iter().flatten();
            let before = before.rfind(|before| text(before, "name") == text(port, "name"));
            if let Some(before) = before
                .map(number)
                .filter(|before| *before != 0 && !kept.contains(before))
            {
                port["nodePort"] = json!(before);
            }
        }
    }
    taken.extend(&held);
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let wanted = number(port);
        if wanted == 0 || !held.contains(&wanted) && !seen.iter().any(|(_, seen)| *seen == wanted) {
            let free = free(wanted, &taken).map_err(|why| {
                let field = format!("spec.ports[{index}].nodePort");
                Cause::invalid(field, &json!(wanted), why)
            })?;
            taken.push(free);
            port["nodePort"] = json!(free);
        }
        let protocol = text(port, "protocol").to_owned();
        let number = number(port);
        if !seen.insert((protocol.clone(), number)) {
            return Err(Unallocated::Failed(format!(
                "duplicate nodePort: {{{protocol} {number}}}"
            )));
        }
    }
    Ok(())
}

/// A port of the nodes that nobody has: this one, or with 0 any.
fn free(wanted: u64, taken: &[u64]) -> Result<u64, String> {
    if wanted == 0 {
        let free = NODE_PORTS.map(u64::from).find(|port| !taken.contains(port));
        return free.ok_or_else(|| "failed to allocate a nodePort: range is full".to_owned());
    }
    if !u16::try_from(wanted).is_ok_and(|port| NODE_PORTS.contains(&port)) {
        let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
        return Err(format!(
            "provided port is not in the valid range. The range of valid ports is {first}-{last}"
        ));
    }
    if taken.contains(&wanted) {
        return Err("provided port is already allocated".to_owned());
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_service_keeps_ports_by_name() {
        let old = json!({ "type": "NodePort", "ports": [
            { "name": "a", "port": 80, "protocol": "TCP", "nodePort": 30005 },
            { "name": "b", "port": 81, "protocol": "UDP", "nodePort": 30006 },
        ] });
        let changed = |ports: Value| {
            let mut spec = json!({ "type": "NodePort", "ports": ports });
            let done = change(spec.as_object_mut().unwrap(), &old, vec![30000]);
            done.map(|()| given(&spec).collect::<Vec<_>>())
        };
        let port = |name: &str, number: u16| json!({ "name": name, "port": number, "protocol": "TCP" });
        assert_eq!(
            changed(json!([port("c", 80), port("a", 82)])),
            Ok(vec![30001, 30005])
        );
        // Ports of one number share none.
        assert_eq!(
            changed(json!([port("a", 80), port("c", 80)])),
            Ok(vec![30005, 30001])
        );
        let twice = changed(json!([port("a", 80), port("a", 81)]));
        let why = "duplicate nodePort: {TCP 30005}".to_owned();
        assert_eq!(twice, Err(Unallocated::Failed(why)));
        let mut asked = port("c", 80);
        asked["nodePort"] = json!(30000);
        assert!(matches!(changed(json!([asked])), Err(Unallocated::Refused(_))));
    }
}
