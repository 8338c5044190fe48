//! Evaluators: the resource names that a kind's objects are counted under, and the usage of an object.

use super::amounts::exceeded;
use super::scopes::{ScopeRequirement, is_terminating};
use super::{device_claims, pods};
use crate::admission::{Attributes, Operation};
use crate::builtin::{ResourceList, resource_list, storage_class};
use crate::kinds::Kind;
use crate::meta;
use crate::types;
use serde_json::Value;

/// Core resources that are also counted under their plain names.
const PLAIN_COUNTS: [&str; 4] = [
    "configmaps",
    "resourcequotas",
    "replicationcontrollers",
    "secrets",
];
const SERVICES: [&str; 4] = [
    "count/services",
    "services",
    "services.nodeports",
    "services.loadbalancers",
];
const VOLUME_CLAIMS: &str = "persistentvolumeclaims";
const VOLUME_CLAIM_COUNT: &str = "count/persistentvolumeclaims";
const REQUESTED_STORAGE: &str = "requests.storage";
/// Separates a storage class from the resource in names that count the claims of one class.
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

/// Measures the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evaluator {
    Pods,
    Services,
    VolumeClaims,
    DeviceClaims,
    /// All other kinds: objects are only counted.
    Count,
}

impl Evaluator {
    /// Returns the evaluator of a kind. Events are never counted.
    pub(super) fn of(kind: &Kind) -> Option<Self> {
        match (kind.group.as_str(), kind.plural.as_str()) {
            ("" | "events.k8s.io", "events") => None,
            ("", "pods") => Some(Self::Pods),
            ("", "services") => Some(Self::Services),
            ("", VOLUME_CLAIMS) => Some(Self::VolumeClaims),
            ("resource.k8s.io", "resourceclaims") => Some(Self::DeviceClaims),
            _ => Some(Self::Count),
        }
    }

    /// Whether a write can change the usage of the object.
    pub(super) fn handles(self, attributes: &Attributes<'_>, object: &Value) -> bool {
        match (attributes.subresource, attributes.operation) {
            ("", Operation::Create) => true,
            ("", Operation::Update { old }) => match self {
                Self::Pods => is_terminating(old) != is_terminating(object),
                Self::Services | Self::VolumeClaims | Self::DeviceClaims => true,
                Self::Count => false,
            },
            ("resize", Operation::Update { .. }) => self == Self::Pods,
            ("status", Operation::Update { .. }) => self == Self::VolumeClaims,
            _ => false,
        }
    }

    /// Whether a resource name of a quota counts objects of the kind.
    pub(super) fn is_resource(self, attributes: &Attributes<'_>, name: &str) -> bool {
        match self {
            Self::Pods => pods::is_pod_resource(name),
            Self::Services => SERVICES.contains(&name),
            Self::VolumeClaims => {
                let of_class = name.rsplit_once(STORAGE_CLASS).map(|(_, resource)| resource);
                let resource = of_class.unwrap_or(name);
                name == VOLUME_CLAIM_COUNT || matches!(resource, VOLUME_CLAIMS | REQUESTED_STORAGE)
            }
            Self::DeviceClaims => device_claims::is_claim_resource(attributes, name),
            Self::Count => count_names(attributes.kind).any(|count| count == name),
        }
    }

    /// Whether an object is in a scope of a quota. Only pods and volume claims have scopes.
    pub(super) fn matches_scope(self, requirement: &ScopeRequirement<'_>, object: &Value) -> bool {
        match self {
            Self::Pods => requirement.matches_pod(object),
            Self::VolumeClaims => requirement.matches_volume_claim(object),
            _ => false,
        }
    }

    /// Returns the limited resources that the object must set and does not, as text, or None.
    pub(super) fn missing_resources(self, limited: &[&str], object: &Value) -> Option<String> {
        (self == Self::Pods).then(|| pods::missing_resources(limited, object))?
    }

    /// Returns the usage of an object.
    pub(super) fn usage(self, attributes: &Attributes<'_>, object: &Value) -> ResourceList {
        match self {
            Self::Pods => pods::pod_usage(object),
            Self::Services => service_usage(object),
            Self::VolumeClaims => volume_claim_usage(object),
            Self::DeviceClaims => device_claims::claim_usage(attributes, object),
            Self::Count => count(count_names(attributes.kind)),
        }
    }
}

/// Returns the resource names that count the objects of a kind.
fn count_names(kind: &Kind) -> impl Iterator<Item = String> {
    let plain = kind.group.is_empty() && PLAIN_COUNTS.contains(&kind.plural.as_str());
    let plain = plain.then(|| kind.plural.clone());
    std::iter::once(format!("count/{}", kind.group_resource())).chain(plain)
}

/// Returns a list with one of each resource.
pub(super) fn count<T: Into<String>>(names: impl IntoIterator<Item = T>) -> ResourceList {
    names.into_iter().map(|name| (name.into(), "1".into())).collect()
}

/// Counts node ports as requested, whether they are allocated or not.
fn service_usage(service: &Value) -> ResourceList {
    let spec = &service["spec"];
    let ports = meta::array(&spec["ports"]);
    let has_node_port = |port: &&Value| port["nodePort"].as_i64().is_some_and(|number| number != 0);
    let is_load_balancer = spec["type"] == "LoadBalancer";
    let node_ports = if spec["type"] == "NodePort" {
        ports.len()
    } else if is_load_balancer && spec["allocateLoadBalancerNodePorts"] == false {
        ports.iter().filter(has_node_port).count()
    } else if is_load_balancer {
        ports.len()
    } else {
        0
    };
    let mut usage = count(["count/services", "services"]);
    usage.insert("services.nodeports".to_owned(), node_ports.to_string().into());
    let load_balancers = i32::from(is_load_balancer);
    usage.insert(
        "services.loadbalancers".to_owned(),
        load_balancers.to_string().into(),
    );
    usage
}

/// Counts the claim and its storage, in total and for its storage class.
fn volume_claim_usage(claim: &Value) -> ResourceList {
    let class = storage_class(claim);
    let mut usage = count([VOLUME_CLAIM_COUNT]);
    let mut insert = |name: &str, quantity: &Value| {
        usage.insert(name.to_owned(), quantity.clone());
        if !class.is_empty() {
            usage.insert(format!("{class}{STORAGE_CLASS}{name}"), quantity.clone());
        }
    };
    insert(VOLUME_CLAIMS, &"1".into());
    if let Some(storage) = claimed_storage(claim) {
        insert(REQUESTED_STORAGE, &storage);
    }
    usage
}

/// Returns the storage that a claim requests, or the larger size that is being allocated, in whole bytes.
fn claimed_storage(claim: &Value) -> Option<Value> {
    let requested = resource_list(&claim["spec"]["resources"]["requests"]);
    let allocated = resource_list(&claim["status"]["allocatedResources"]);
    let mut storage = requested.get("storage")?;
    if exceeded(&allocated, &requested).contains(&"storage") {
        storage = &allocated["storage"];
    }
    let bytes = storage.as_str().and_then(types::round_up_quantity);
    Some(bytes.map_or_else(|| storage.clone(), Value::from))
}
