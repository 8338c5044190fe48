//! Validation of built-in kinds: the rules of kube-apiserver that users commonly hit. It has more rules, so an object that is valid here
//! may be rejected there.
//!
//! `check.rs` has what all kinds share, `rules.rs` the interpreter of tables of plain rules, and `metadata.rs` the validation of object
//! metadata; each kind has its own file or shares one.

mod addresses;
mod admission_policies;
mod annotations;
mod certificates;
mod check;
mod claims;
mod cluster;
mod cluster_ips;
mod conditions;
mod config;
mod container;
mod container_status;
mod conversion;
mod cron_job;
mod device_capacity;
mod device_fields;
mod device_slices;
mod device_status;
mod devices;
mod dns;
mod endpoints;
mod env;
mod events;
mod flow_control;
mod immutable;
mod job;
mod job_indexes;
mod job_policies;
mod job_status;
mod job_update;
mod metadata;
mod metrics;
mod mounts;
mod network;
mod network_policy;
mod node_selector;
mod nodes;
mod persistent_volume;
mod persistent_volume_source;
mod pod;
mod pod_resize;
mod pod_status;
mod pod_template;
mod pod_update;
mod policy;
mod probe;
mod projected;
mod rbac;
mod resource_claims;
mod resource_quota;
mod resources;
mod rules;
mod schedule;
mod scheduling;
mod security;
mod service;
mod service_network;
mod status;
mod storage;
mod storage_drivers;
mod tolerations;
mod volume;
mod volume_source;
mod webhooks;
mod windows;
mod workload;

pub use addresses::parse_ipv4_sloppy;
pub use claims::storage_class;
pub use container::quantity_value;
pub use conversion::validate_conversion;
pub use policy::SYSTEM_PRIORITIES;
pub use service::{is_externally_accessible, is_load_balancer, needs_health_check};

use crate::field::FieldError;
use crate::meta::{array, names, set_or_remove, text};
use crate::types::ExplicitEmptyFields;
use serde_json::Value;

use check::{Check, changed_fields, child, fields, items};
use rules::{Constraint, FieldRule};

/// Validates an object with its defaults: metadata except for the name, and the rules of its kind. `old` is the stored object in an
/// update, for immutable fields; `explicit_empty` has the lists and maps that were explicitly empty in the request; `subresource` is the
/// one that is written, such as `status`, or empty for the whole object.
pub fn validate(
    object: &Value,
    old: Option<&Value>,
    explicit_empty: &ExplicitEmptyFields,
    subresource: &str,
) -> Vec<FieldError> {
    let mut check = Check {
        explicit_empty: explicit_empty.clone(),
        ..Check::default()
    };
    validate_object_metadata(&mut check, object, old.is_some());
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod::validate_pod(&mut check, object, old, subresource),
        "ReplicationController" => workload::validate_replication_controller(&mut check, spec),
        "Deployment" => workload::validate_deployment(&mut check, object),
        "ReplicaSet" => workload::validate_replica_set(&mut check, spec),
        "PodTemplate" => pod::validate_template(&mut check, &object["template"], "template"),
        "ControllerRevision" => config::validate_revision(&mut check, object, old),
        "StatefulSet" => workload::validate_stateful_set(&mut check, spec, old.is_none()),
        "DaemonSet" => workload::validate_daemon_set(&mut check, spec),
        "Job" => job::validate_job(&mut check, object, old),
        "CronJob" => cron_job::validate_cron_job(&mut check, object, old),
        "Service" => service::validate_service(&mut check, object, old),
        "ConfigMap" => config::validate_config_map(&mut check, object),
        "Secret" => config::validate_secret(&mut check, object, old),
        "PersistentVolume" => persistent_volume::validate_volume(&mut check, object, old),
        "Node" => nodes::validate_node(&mut check, object, old),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            webhooks::validate_configuration(&mut check, object);
        }
        "StorageClass" => storage::validate_storage_class(&mut check, object, old),
        "Ingress" => network::validate_ingress(&mut check, object, old),
        "IngressClass" => network::validate_ingress_class(&mut check, spec, old),
        "NetworkPolicy" => network_policy::validate_network_policy(&mut check, spec),
        "Endpoints" => endpoints::validate_endpoints(&mut check, object, old),
        "EndpointSlice" => endpoints::validate_slice(&mut check, object, old),
        "PodDisruptionBudget" => policy::validate_disruption_budget(&mut check, spec),
        "HorizontalPodAutoscaler" => policy::validate_autoscaler(&mut check, spec, old),
        "LimitRange" => policy::validate_limit_range(&mut check, spec),
        "ResourceQuota" => resource_quota::validate_quota(&mut check, object, old, subresource),
        "PriorityClass" => policy::validate_priority_class(&mut check, object, old),
        "Event" => events::validate_event(&mut check, object, old),
        "PersistentVolumeClaim" => claims::validate_claim(&mut check, object, old),
        "Lease" => config::validate_lease(&mut check, spec),
        "Role" | "ClusterRole" => {
            rbac::validate_role(&mut check, object);
            rbac::validate_aggregation(&mut check, object);
        }
        "CertificateSigningRequest" => {
            certificates::validate_signing_request(&mut check, object, old, subresource);
        }
        "CSIDriver" => storage_drivers::validate_driver(&mut check, object, old),
        "CSINode" => storage_drivers::validate_node(&mut check, object, old),
        "CSIStorageCapacity" => storage_drivers::validate_capacity(&mut check, object, old),
        "VolumeAttachment" => storage_drivers::validate_attachment(&mut check, object, old, subresource),
        "VolumeAttributesClass" => storage_drivers::validate_attributes_class(&mut check, object, old),
        "RuntimeClass" => cluster::validate_runtime_class(&mut check, object, old),
        "APIService" => cluster::validate_api_service(&mut check, object, subresource),
        "FlowSchema" => flow_control::validate_flow_schema(&mut check, object, subresource),
        "PriorityLevelConfiguration" => {
            flow_control::validate_priority_level(&mut check, object, subresource);
        }
        "Namespace" if old.is_none() || subresource == "finalize" => {
            check.validate_namespace_finalizers(spec, old.is_none());
        }
        "IPAddress" => service_network::validate_ip_address(&mut check, object, old),
        "ServiceCIDR" => service_network::validate_network(&mut check, object, old, subresource),
        "ValidatingAdmissionPolicy" => {
            admission_policies::validate_validating_policy(&mut check, object, subresource);
        }
        "MutatingAdmissionPolicy" => admission_policies::validate_mutating_policy(&mut check, object),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            admission_policies::validate_binding(&mut check, object);
        }
        "DeviceClass" => devices::validate_class(&mut check, object, old),
        "ResourceClaim" => devices::validate_claim(&mut check, object, old, subresource),
        "ResourceClaimTemplate" => devices::validate_template(&mut check, object, old),
        "ResourceSlice" => device_slices::validate_slice(&mut check, object, old),
        "RoleBinding" | "ClusterRoleBinding" => rbac::validate_binding(&mut check, object, old),
        _ => {}
    }
    if let Some(old) = old {
        let kind = text(object, "kind");
        if kind == "Namespace" && subresource == "status" {
            status::validate_namespace(&mut check, object);
        }
        status::validate_status(&mut check, kind, &object["status"], &old["status"]);
        check.validate_immutable_fields(object, old);
    }
    check.errors
}

fn validate_object_metadata(check: &mut Check, object: &Value, is_update: bool) {
    let kind = (text(object, "apiVersion"), text(object, "kind"));
    let lacks_rules = matches!(kind, ("v1", "Event") | (_, "PodDisruptionBudget"));
    // Their validation upstream is that of all objects, not that of Kubernetes' own.
    let of_any_name = matches!(
        kind.1,
        "APIService"
            | "CustomResourceDefinition"
            | "Lease"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
            | "MutatingWebhookConfiguration"
            | "RuntimeClass"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "ValidatingWebhookConfiguration"
    );
    check.validate_metadata(&object["metadata"], "metadata", !lacks_rules && !of_any_name);
    // The generic rules of an update do not cover the syntax of finalizers.
    if lacks_rules && is_update {
        check
            .errors
            .retain(|error| !error.field.starts_with("metadata.finalizers"));
    }
}

/// Validates labels, annotations, finalizers and owner references of metadata at this path.
pub fn validate_metadata(metadata: &Value, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    check.validate_metadata(metadata, path, false);
    check.errors
}

/// Validates the name of a field manager at this path.
pub fn validate_field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    check.validate_field_manager(manager, path);
    check.errors
}

/// Validates the managed fields of metadata at this path.
pub fn validate_managed_fields(metadata: &Value, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    check.validate_managed_fields(metadata, path);
    check.errors
}

/// Validates the IP families and cluster IPs of a service, which comes before all other validation. `old` is the previous spec.
pub fn validate_service_addresses(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut check = Check::default();
    cluster_ips::validate_cluster_ips(&mut check, spec, old);
    check.errors
}
