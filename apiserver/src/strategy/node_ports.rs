//! The ports of nodes at which services are reached.

use crate::field::FieldError;
use crate::meta::text;
use crate::status::{ApiError, Cause};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const NODE_PORTS: RangeInclusive<u16> = 30000..=32767;
/// After this come the ports that are guessed.
const NO_PORT: &u64 = &32768;

/// Why a service is not given what it needs.
#[derive(Debug, PartialEq)]
pub(crate) enum Unallocated {
    /// It asked for something that it cannot have.
    Refused(Cause),
    /// It asked for families of addresses, or addresses of them, that it cannot have: that is said first, and alone.
    Contradictory(Vec<Cause>),
    /// What it asks for contradicts itself, which the real server takes for a failure of its own.
    Failed(ApiError),
}

impl From<Vec<FieldError>> for Unallocated {
    fn from(faults: Vec<FieldError>) -> Self {
        Self::Contradictory(faults.into_iter().map(Cause::from).collect())
    }
}

impl From<Cause> for Unallocated {
    fn from(cause: Cause) -> Self {
        Self::Refused(cause)
    }
}

/// The nodes' ports at which a service's ports are reached.
pub(super) fn given(spec: &Value) -> impl Iterator<Item = u64> {
    let ports = spec["ports"].as_array().into_iter().flatten();
    ports.filter_map(|port| port["nodePort"].as_u64())
}

/// All of the nodes' ports that a service has.
pub(super) fn held(spec: &Value) -> impl Iterator<Item = u64> {
    let checked = spec["healthCheckNodePort"].as_u64();
    given(spec).chain(checked.filter(|port| *port != 0))
}

/// Whether each port of a service of this type is given one.
pub(super) fn are_wanted(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Which of the nodes' ports are somebody's.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) ports: Vec<u64>,
    /// Those that became so just now.
    pub(super) given: Vec<u64>,
    /// What nobody will have may lie outside of the range.
    pub(super) dry_run: bool,
}

/// Gives a service the port of the nodes at which their health is asked for.
pub(super) fn choose_checked(spec: &mut Map<String, Value>, taken: &mut Taken) -> Result<(), Unallocated> {
    let wanted = spec.get("healthCheckNodePort").and_then(Value::as_u64);
    let wanted = wanted.unwrap_or(0);
    let given = taken.take(wanted).map_err(|why| {
        let why = format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}");
        Unallocated::Failed(ApiError::internal(why))
    })?;
    spec.insert("healthCheckNodePort".to_owned(), json!(given));
    Ok(())
}

/// Gives each port one of the nodes' ports. Ports of one number share it: they differ in their protocols.
pub(super) fn choose(spec: &mut Map<String, Value>, taken: &mut Taken, all: bool) -> Result<(), Cause> {
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
        if given == 0 && !all {
            continue;
        }
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
        given = taken
            .take(given)
            .map_err(|why| Cause::invalid(format!("spec.ports[{index}].nodePort"), &json!(given), why))?;
        shared.entry(number).or_insert(given);
        port["nodePort"] = json!(given);
    }
    Ok(())
}

/// Gives a changed service's ports what ports of their names had, and to others free ones of their own.
pub(super) fn change(
    spec: &mut Map<String, Value>,
    old: &Value,
    taken: &mut Taken,
    all: bool,
) -> Result<(), Unallocated> {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let number = |port: &Value| port["nodePort"].as_u64().unwrap_or(0);
    let held: Vec<u64> = given(old).collect();
    if are_wanted(old) && all {
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
    taken.ports.extend(&held);
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let wanted = number(port);
        if wanted == 0 && !all {
            continue;
        }
        if wanted == 0 || !held.contains(&wanted) && !seen.iter().any(|(_, seen)| *seen == wanted) {
            let given = taken.take(wanted).map_err(|why| {
                let field = format!("spec.ports[{index}].nodePort");
                Cause::invalid(field, &json!(wanted), why)
            })?;
            port["nodePort"] = json!(given);
        }
        let protocol = text(port, "protocol").to_owned();
        let number = number(port);
        if !seen.insert((protocol.clone(), number)) {
            let why = format!("duplicate nodePort: {{{protocol} {number}}}");
            return Err(Unallocated::Failed(ApiError::new(500, "", why)));
        }
    }
    Ok(())
}

impl Taken {
    /// A port of the nodes that nobody has: this one, or with 0 any.
    fn take(&mut self, wanted: u64) -> Result<u64, String> {
        let given = if wanted == 0 && self.dry_run {
            // What nobody will have is only a guess.
            self.given.iter().max().unwrap_or(NO_PORT) + 1
        } else if wanted == 0 {
            let free = NODE_PORTS.map(u64::from).find(|port| !self.ports.contains(port));
            free.ok_or_else(|| "failed to allocate a nodePort: range is full".to_owned())?
        } else if !self.dry_run && !u16::try_from(wanted).is_ok_and(|port| NODE_PORTS.contains(&port)) {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        } else if self.ports.contains(&wanted) {
            return Err("provided port is already allocated".to_owned());
        } else {
            wanted
        };
        self.ports.push(given);
        self.given.push(given);
        Ok(given)
    }
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
            let mut taken = Taken {
                ports: vec![30000],
                ..Taken::default()
            };
            let done = change(spec.as_object_mut().unwrap(), &old, &mut taken, true);
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
        let why = "duplicate nodePort: {TCP 30005}";
        assert_eq!(twice, Err(Unallocated::Failed(ApiError::new(500, "", why))));
        let mut asked = port("c", 80);
        asked["nodePort"] = json!(30000);
        assert!(matches!(changed(json!([asked])), Err(Unallocated::Refused(_))));
    }
}
