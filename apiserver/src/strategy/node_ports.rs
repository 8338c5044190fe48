//! Allocation of node ports for services.

use crate::field::FieldError;
use crate::meta::text;
use crate::status::{ApiError, Cause};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const NODE_PORTS: RangeInclusive<u16> = 30000..=32767;
/// The base of the ports that a dry run reports.
const DRY_RUN_BASE: &u64 = &32768;

/// Why the allocation for a service failed.
#[derive(Debug, PartialEq)]
pub(crate) enum AllocationError {
    /// A requested value is invalid or taken.
    Invalid(Cause),
    /// The IP families or cluster IPs are invalid; these errors are reported first, and alone.
    InvalidIpFamilies(Vec<Cause>),
    /// The request contradicts itself, which kube-apiserver reports as an internal error.
    Internal(ApiError),
}

impl From<Vec<FieldError>> for AllocationError {
    fn from(errors: Vec<FieldError>) -> Self {
        Self::InvalidIpFamilies(errors.into_iter().map(Cause::from).collect())
    }
}

impl From<Cause> for AllocationError {
    fn from(cause: Cause) -> Self {
        Self::Invalid(cause)
    }
}

/// Returns the node ports of a service's ports.
pub(super) fn allocated(spec: &Value) -> impl Iterator<Item = u64> {
    let ports = spec["ports"].as_array().into_iter().flatten();
    ports.filter_map(|port| port["nodePort"].as_u64())
}

/// Returns all node ports of a service, including its health check port.
pub(super) fn all_node_ports(spec: &Value) -> impl Iterator<Item = u64> {
    let health_check = spec["healthCheckNodePort"].as_u64();
    allocated(spec).chain(health_check.filter(|port| *port != 0))
}

/// Whether each port of the service gets a node port.
pub(super) fn needs_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// The node ports in use, from which free ones are allocated.
#[derive(Default)]
pub(super) struct PortAllocator {
    pub(super) ports: Vec<u64>,
    /// The ports allocated for the current request.
    pub(super) allocated: Vec<u64>,
    /// A dry run allocates nothing, so its ports may lie outside the range.
    pub(super) dry_run: bool,
}

/// Allocates the health check node port.
pub(super) fn allocate_health_check_port(
    spec: &mut Map<String, Value>,
    allocator: &mut PortAllocator,
) -> Result<(), AllocationError> {
    let requested = spec.get("healthCheckNodePort").and_then(Value::as_i64);
    let requested = requested.unwrap_or(0);
    if requested < 0 && allocator.dry_run {
        // Validation rejects it.
        return Ok(());
    }
    let allocated = allocator
        .allocate(u64::try_from(requested).unwrap_or(u64::MAX))
        .map_err(|reason| {
            let reason = format!("failed to allocate requested HealthCheck NodePort {requested}: {reason}");
            AllocationError::Internal(ApiError::internal(reason))
        })?;
    spec.insert("healthCheckNodePort".to_owned(), json!(allocated));
    Ok(())
}

/// Allocates node ports for a new service. Ports with the same number and different protocols share one.
pub(super) fn allocate_new(
    spec: &mut Map<String, Value>,
    allocator: &mut PortAllocator,
    all: bool,
) -> Result<(), Cause> {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let number = |port: &Value, field: &str| port[field].as_u64().unwrap_or(0);
    let requested_ports: Vec<(u64, u64)> = ports
        .iter()
        .map(|port| (number(port, "port"), number(port, "nodePort")))
        .collect();
    let mut shared: BTreeMap<u64, u64> = BTreeMap::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let (number, mut allocated) = requested_ports[index];
        if allocated == 0 && !all {
            continue;
        }
        let already_shared = shared.get(&number).copied();
        if let Some(already_shared) =
            already_shared.filter(|&already_shared| allocated == 0 || allocated == already_shared)
        {
            port["nodePort"] = json!(already_shared);
            continue;
        }
        if allocated == 0 {
            let other = requested_ports
                .iter()
                .find(|(other, allocated)| *other == number && *allocated != 0);
            allocated = other.map_or(0, |&(_, allocated)| allocated);
        }
        allocated = allocator.allocate(allocated).map_err(|reason| {
            Cause::invalid(format!("spec.ports[{index}].nodePort"), &json!(allocated), reason)
        })?;
        shared.entry(number).or_insert(allocated);
        port["nodePort"] = json!(allocated);
    }
    Ok(())
}

/// Allocates node ports for an updated service. A port keeps the node port that the port of its name had.
pub(super) fn allocate_updated(
    spec: &mut Map<String, Value>,
    old: &Value,
    allocator: &mut PortAllocator,
    all: bool,
) -> Result<(), AllocationError> {
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let number = |port: &Value| port["nodePort"].as_u64().unwrap_or(0);
    let previous: Vec<u64> = allocated(old).collect();
    if needs_node_ports(old) && all {
        let still_requested: Vec<u64> = ports
            .iter()
            .map(number)
            .filter(|port| previous.contains(port))
            .collect();
        for port in ports.iter_mut().filter(|port| number(port) == 0) {
            let mut before = old["ports"].as_array().into_iter().flatten();
            let before = before.rfind(|before| text(before, "name") == text(port, "name"));
            if let Some(before) = before
                .map(number)
                .filter(|before| *before != 0 && !still_requested.contains(before))
            {
                port["nodePort"] = json!(before);
            }
        }
    }
    allocator.ports.extend(&previous);
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let requested = number(port);
        if requested == 0 && !all {
            continue;
        }
        if requested == 0
            || !previous.contains(&requested) && !seen.iter().any(|(_, seen)| *seen == requested)
        {
            let allocated = allocator.allocate(requested).map_err(|reason| {
                let field = format!("spec.ports[{index}].nodePort");
                Cause::invalid(field, &json!(requested), reason)
            })?;
            port["nodePort"] = json!(allocated);
        }
        let protocol = text(port, "protocol").to_owned();
        let number = number(port);
        if !seen.insert((protocol.clone(), number)) {
            let reason = format!("duplicate nodePort: {{{protocol} {number}}}");
            return Err(AllocationError::Internal(ApiError::new(500, "", reason)));
        }
    }
    Ok(())
}

impl PortAllocator {
    /// Allocates this port, or any free one if it is 0.
    fn allocate(&mut self, requested: u64) -> Result<u64, String> {
        let allocated = if requested == 0 && self.dry_run {
            // A dry run only estimates the port.
            self.allocated.iter().max().unwrap_or(DRY_RUN_BASE) + 1
        } else if requested == 0 {
            let free = NODE_PORTS.map(u64::from).find(|port| !self.ports.contains(port));
            free.ok_or_else(|| "failed to allocate a nodePort: range is full".to_owned())?
        } else if !self.dry_run && !u16::try_from(requested).is_ok_and(|port| NODE_PORTS.contains(&port)) {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        } else if self.ports.contains(&requested) {
            return Err("provided port is already allocated".to_owned());
        } else {
            requested
        };
        self.ports.push(allocated);
        self.allocated.push(allocated);
        Ok(allocated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updated_service_keeps_node_ports_by_name() {
        let old = json!({ "type": "NodePort", "ports": [
            { "name": "a", "port": 80, "protocol": "TCP", "nodePort": 30005 },
            { "name": "b", "port": 81, "protocol": "UDP", "nodePort": 30006 },
        ] });
        let changed = |ports: Value| {
            let mut spec = json!({ "type": "NodePort", "ports": ports });
            let mut allocator = PortAllocator {
                ports: vec![30000],
                ..PortAllocator::default()
            };
            let result = allocate_updated(spec.as_object_mut().unwrap(), &old, &mut allocator, true);
            result.map(|()| allocated(&spec).collect::<Vec<_>>())
        };
        let port = |name: &str, number: u16| json!({ "name": name, "port": number, "protocol": "TCP" });
        assert_eq!(
            changed(json!([port("c", 80), port("a", 82)])),
            Ok(vec![30001, 30005])
        );
        // Ports of the same number do not share a node port in an update.
        assert_eq!(
            changed(json!([port("a", 80), port("c", 80)])),
            Ok(vec![30005, 30001])
        );
        let duplicate = changed(json!([port("a", 80), port("a", 81)]));
        let reason = "duplicate nodePort: {TCP 30005}";
        assert_eq!(
            duplicate,
            Err(AllocationError::Internal(ApiError::new(500, "", reason)))
        );
        let mut taken_port = port("c", 80);
        taken_port["nodePort"] = json!(30000);
        assert!(matches!(
            changed(json!([taken_port])),
            Err(AllocationError::Invalid(_))
        ));
    }
}
