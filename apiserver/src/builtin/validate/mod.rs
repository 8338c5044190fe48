//! What the real server refuses in objects of built-in kinds: the rules that people run into. It has many more; an object that passes
//! here may be refused there.
//!
//! `check.rs` has what all share, `metadata.rs` what is looked at in every object; then each kind has its file, or shares one.

mod addresses;
mod annotations;
mod check;
mod claims;
mod cluster_ips;
mod conditions;
mod config;
mod container;
mod container_status;
mod cron_job;
mod dns;
mod endpoints;
mod env;
mod events;
mod immutable;
mod job;
mod job_indexes;
mod job_policies;
mod job_status;
mod job_update;
mod metadata;
mod metrics;
mod mounts;
mod names;
mod network;
mod network_policy;
mod node_selector;
mod nodes;
mod persistent_source;
mod persistent_volume;
mod pod;
mod pod_resize;
mod pod_status;
mod pod_update;
mod policy;
mod probe;
mod projected;
mod rbac;
mod resource_claims;
mod resources;
mod schedule;
mod scheduling;
mod security;
mod selected;
mod service;
mod status;
mod storage;
mod tolerations;
mod url;
mod volume;
mod volume_source;
mod webhooks;
mod windows;
mod workload;

pub(crate) use addresses::padded;
pub(crate) use container::amount;
pub(crate) use policy::SYSTEM as SYSTEM_PRIORITIES;
pub(crate) use service::{is_balanced, is_checked, is_external};

pub use names::{is_label, is_label_key, is_label_value, is_subdomain};

use crate::field::FieldError;
use crate::meta::text;
use crate::types::Empties;
use serde_json::Value;

use check::{Check, fields, items};

/// What is wrong with an object that has its defaults: with its labels and such, and with what its kind says. `old` is the stored object
/// in an update, for what may not change; `empties` what was sent empty; `part` is what changes, if it is written on a path
/// of its own, such as `status`. The object's name
/// is not looked at.
pub fn validate(object: &Value, old: Option<&Value>, empties: &Empties, part: &str) -> Vec<FieldError> {
    let mut check = Check {
        empties: empties.clone(),
        ..Check::default()
    };
    let (times, standard) = metadata_checks(object, old.is_some(), part == "status");
    for _ in 0..times {
        check.metadata(&object["metadata"], "metadata", standard);
    }
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod::pod(&mut check, object, old, part),
        "ReplicationController" => workload::replication_controller(&mut check, spec),
        "Deployment" => workload::deployment(&mut check, spec),
        "ReplicaSet" => workload::replica_set(&mut check, spec),
        "PodTemplate" => pod::template(&mut check, &object["template"], "template"),
        "ControllerRevision" => config::revision(&mut check, object, old),
        "StatefulSet" => workload::stateful_set(&mut check, spec, old.is_none()),
        "DaemonSet" => workload::daemon_set(&mut check, spec),
        "Job" => job::job(&mut check, object, old),
        "CronJob" => cron_job::cron_job(&mut check, object, old),
        "Service" => service::service(&mut check, object, old),
        "ConfigMap" => config::config_map(&mut check, object),
        "Secret" => config::secret(&mut check, object, old),
        "PersistentVolume" => persistent_volume::volume(&mut check, object, old),
        "Node" => nodes::node(&mut check, object, old),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            webhooks::configuration(&mut check, object);
        }
        "StorageClass" => storage::class(&mut check, object, old),
        "Ingress" => network::ingress(&mut check, object, old),
        "IngressClass" => network::ingress_class(&mut check, spec, old),
        "NetworkPolicy" => network_policy::network_policy(&mut check, spec),
        "Endpoints" => endpoints::endpoints(&mut check, object, old),
        "EndpointSlice" => endpoints::slice(&mut check, object, old),
        "PodDisruptionBudget" => policy::disruption_budget(&mut check, spec),
        "HorizontalPodAutoscaler" => policy::autoscaler(&mut check, spec, old),
        "LimitRange" => policy::limit_range(&mut check, spec),
        "PriorityClass" => policy::priority_class(&mut check, object, old),
        "Event" => events::event(&mut check, object, old),
        "PersistentVolumeClaim" => claims::claim(&mut check, object, old),
        "Lease" => config::lease(&mut check, spec),
        "Role" | "ClusterRole" => {
            rbac::role(&mut check, object);
            rbac::aggregation(&mut check, object);
        }
        "RoleBinding" | "ClusterRoleBinding" => rbac::binding(&mut check, object, old),
        _ => {}
    }
    if let Some(old) = old {
        let kind = text(object, "kind");
        if kind == "Namespace" && part == "status" {
            status::namespace(&mut check, object);
        }
        status::status(&mut check, kind, &object["status"], &old["status"]);
        check.immutable(object, old);
    }
    check.errors
}

/// Kinds whose updates are checked as a change and as a whole, so that faults of metadata are found twice.
const CHECKED_WHOLE: &[&str] = &[
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "ControllerRevision",
    "Endpoints",
    "Ingress",
    "IngressClass",
    "Job",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
    "StorageClass",
];

/// How often a kind's own rules look at the metadata, and whether they know which finalizers are standard.
fn metadata_checks(object: &Value, updates: bool, of_status: bool) -> (usize, bool) {
    match (text(object, "apiVersion"), text(object, "kind")) {
        ("v1", "Event") | (_, "PodDisruptionBudget") => (usize::from(!updates), false),
        (_, "Lease" | "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => (1, false),
        (_, kind) if updates && !of_status && CHECKED_WHOLE.contains(&kind) => (2, true),
        _ => (1, true),
    }
}

/// What is wrong with the metadata of an object, at this path: its labels, annotations, finalizers and owner references.
pub fn validate_metadata(metadata: &Value, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    check.metadata(metadata, path, false);
    check.errors
}

/// What is wrong with the addresses of a service and their families, which is looked at before all else. `old` is what it was before.
pub fn service_addresses(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut check = Check::default();
    cluster_ips::cluster_ips(&mut check, spec, old);
    check.errors
}
