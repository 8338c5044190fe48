//! Strategies of built-in kinds: fields that the server sets beyond defaults (allocated values, values
//! derived from name and uid), and validation.

mod claims;
mod custom_resource_definitions;
mod decode;
mod definition_version;
mod feature_gates;
mod ip_families;
mod jobs;
mod namespaces;
mod node_ports;
mod pods;
mod resource_claims;
mod secrets;
mod selectable_fields;
mod service_network;
mod services;
mod signing_requests;
pub(crate) mod warnings;

pub(crate) use custom_resource_definitions::validate_status as validate_definition_status;
pub(crate) use decode::{first_mismatch, prune_and_default};
pub(crate) use node_ports::AllocationError;
pub(crate) use pods::{
    APP_ARMOR_ANNOTATION_PREFIX, SECCOMP_ANNOTATION_PREFIX, SECCOMP_POD_ANNOTATION, preserve_pod_status,
};
pub(crate) use service_network::ServiceNetworks;
pub use service_network::{ServiceNetwork, ServiceNetworkError};
pub(crate) use signing_requests::{keep_writable_part, set_requester};

use crate::builtin;
use crate::kinds::Kind;
use crate::meta;
use crate::status::Cause;
use crate::types::{self, ExplicitEmptyFields, Type};
use serde_json::{Map, Value, json};

/// The annotation in which a DaemonSet counts the versions of its template.
const TEMPLATE_GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// Returns why this server refuses to create a CustomResourceDefinition, which must be one by its JSON types. Empty if it is valid.
pub fn validate_definition(definition: &Value) -> Vec<Cause> {
    let mut definition = definition.clone();
    custom_resource_definitions::prepare(&mut definition, None);
    custom_resource_definitions::validate(&definition, None, &ExplicitEmptyFields::default())
}

/// Applies the conversions of a kind at decoding, before field managers are recorded: the client owns the resulting fields.
pub(crate) fn apply_conversions(kind: &Kind, object: &mut Value) {
    if let Some(spec) = pod_path(kind).and_then(|path| object.pointer_mut(&format!("{path}/spec"))) {
        pods::sync_service_account_names(spec);
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => secrets::merge_string_data(object),
        ("authentication.k8s.io", "TokenRequest") => {
            let spec = meta::entry_mut(object, "spec");
            if !spec.get("expirationSeconds").is_some_and(Value::is_number) {
                spec.insert("expirationSeconds".into(), json!(3600));
            }
        }
        ("apps", "DaemonSet") => {
            let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
            annotations
                .entry(TEMPLATE_GENERATION_ANNOTATION)
                .or_insert(json!("0"));
        }
        ("", "Node") => sync_pod_cidrs(&mut object["spec"]),
        _ => {}
    }
}

/// Returns the JSON pointer to a kind's pod or pod template.
pub(crate) fn pod_path(kind: &Kind) -> Option<&'static str> {
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => "",
        ("", "PodTemplate") => "/template",
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => "/spec/template",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template",
        _ => return None,
    })
}

/// Removes from metadata an annotation that kube-apiserver keeps in an internal field and shows only in whole objects.
pub(crate) fn hide_internal_annotations(metadata: &mut Value) {
    let annotations = metadata["annotations"].as_object_mut();
    let is_empty = annotations.is_some_and(|annotations| {
        annotations.remove(TEMPLATE_GENERATION_ANNOTATION);
        annotations.is_empty()
    });
    if is_empty && let Value::Object(metadata) = metadata {
        metadata.remove("annotations");
    }
}

/// Sets `lastPhaseTransitionTime` of a volume if its phase changed and the client did not set it.
fn set_phase_transition_time(volume: &mut Value, old: Option<&Value>) {
    const TIME: &str = "lastPhaseTransitionTime";
    let before = old.map_or(Value::Null, |old| old["status"].clone());
    let status = meta::entry_mut(volume, "status");
    let changed = status.get("phase").unwrap_or(&Value::Null) != &before["phase"];
    let time = status.get(TIME).unwrap_or(&Value::Null).clone();
    if changed && (time.is_null() || time == before[TIME]) {
        status.insert(TIME.to_owned(), json!(meta::now()));
    } else if !changed && time.is_null() && !before[TIME].is_null() {
        status.insert(TIME.to_owned(), before[TIME].clone());
    }
}

/// Gives a job the labels of its template, including those that select its pods.
pub(crate) fn default_job_labels(kind: &Kind, object: &mut Value) {
    if (kind.group.as_str(), kind.kind.as_str()) == ("batch", "Job") {
        let labels = object["spec"]["template"]["metadata"]["labels"].clone();
        if !labels.is_null() {
            meta::metadata_mut(object).insert("labels".into(), labels);
        }
    }
}

/// Sets the fields that the server owns, for a create or, with `old`, an update.
pub(crate) fn prepare(kind: &Kind, object: &mut Value, old: Option<&Value>) {
    let ty = types::builtin(&kind.api_version(), &kind.kind);
    feature_gates::drop_gated_fields(kind, object);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => namespaces::prepare(object, old),
        ("", "Pod") => pods::prepare(object, old),
        ("", "Service") => services::prepare(object, old),
        ("", "PersistentVolumeClaim") => claims::prepare(object, old),
        ("", "PersistentVolume") if old.is_none() => {
            object["status"] = json!({ "phase": "Pending", "lastPhaseTransitionTime": meta::now() });
        }
        ("", "PersistentVolume") => set_phase_transition_time(object, old),
        // Like kube-apiserver, names a LimitRange without a name by its uid.
        ("", "LimitRange") if meta::name(object).is_empty() => {
            let uid = json!(meta::uid(object));
            meta::metadata_mut(object).insert("name".into(), uid);
        }
        ("", "ServiceAccount") => keep_names_of_secrets(object),
        ("apps", "DaemonSet") => set_template_generation(object, old),
        ("batch", "Job") => jobs::prepare(object, old),
        ("", "ReplicationController") => default_labels_from_template(object),
        ("", "Node") => {
            if old.is_none_or(|old| old["spec"]["configSource"].is_null()) {
                // Nodes that do not have it cannot get it.
                meta::entry_mut(object, "spec").remove("configSource");
            }
            builtin::apply_defaults(&mut object["status"], &Type::named("core.v1.NodeStatus"));
        }
        ("autoscaling", "HorizontalPodAutoscaler") if kind.version == "v2" => default_cpu_metric(object),
        ("autoscaling", "HorizontalPodAutoscaler") => keep_status_annotations(object, old),
        ("apiregistration.k8s.io", "APIService") if old.is_none_or(has_service) => {
            set_local_availability(object);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            custom_resource_definitions::prepare(object, old);
        }
        ("resource.k8s.io", "ResourceClaim") => {
            if let Some(old) = old {
                resource_claims::drop_deallocated_devices(object, old);
            }
        }
        _ => {}
    }
    if let Some(ty) = ty {
        types::normalize(object, ty);
        types::normalize_stored(object, ty);
    }
}

/// Drops fields that are not persisted. Comes last, because they count as a change.
pub(crate) fn drop_unpersisted_fields(kind: &Kind, object: &mut Value) {
    if kind.kind == "EndpointSlice" {
        for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
            if let Value::Object(endpoint) = endpoint {
                endpoint.remove("deprecatedTopology");
            }
        }
    }
}

/// Keeps only the names in the references to secrets of a ServiceAccount.
fn keep_names_of_secrets(object: &mut Value) {
    let secrets = object["secrets"].as_array_mut();
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

/// Whether an APIService names an extension server.
pub(crate) fn has_service(api_service: &Value) -> bool {
    !api_service["spec"]["service"].is_null()
}

/// An APIService without a service is served by this server, and so always available.
fn set_local_availability(object: &mut Value) {
    if !has_service(object) {
        let condition = json!({
            "type": "Available", "status": "True", "lastTransitionTime": meta::now(), "reason": "Local",
            "message": "Local APIServices are always available",
        });
        object["status"] = json!({ "conditions": [condition] });
    }
}

/// Gives an object without labels those of its template. In a write of the status, the decoder has not seen the template.
fn default_labels_from_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if object["metadata"]["labels"].is_null() && !labels.is_null() {
        meta::metadata_mut(object).insert("labels".into(), labels);
    }
}

/// Keeps `podCIDR` and the first entry of `podCIDRs` equal, whichever the client set.
fn sync_pod_cidrs(spec: &mut Value) {
    let cidr = spec["podCIDR"].as_str().unwrap_or_default().to_owned();
    if !cidr.is_empty() && spec["podCIDRs"][0] != json!(cidr) {
        spec["podCIDRs"] = json!([cidr]);
    }
    let first = spec["podCIDRs"][0].clone();
    if first.is_string() {
        spec["podCIDR"] = first;
    }
}

/// Defaults the metrics to CPU utilization.
fn default_cpu_metric(object: &mut Value) {
    let spec = meta::entry_mut(object, "spec");
    if spec
        .get("metrics")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.insert("metrics".into(), json!([metric]));
    }
}

/// Version v1 of autoscalers has parts of the status in annotations.
fn keep_status_annotations(object: &mut Value, old: Option<&Value>) {
    for name in [
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    ] {
        let before = old.map(|old| &old["metadata"]["annotations"][name]);
        let annotations = object["metadata"].get_mut("annotations");
        match before.filter(|before| !before.is_null()) {
            Some(before) => {
                let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
                annotations.insert(name.to_owned(), before.clone());
            }
            None => {
                if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
                    annotations.remove(name);
                }
            }
        }
    }
    let is_empty = object["metadata"]["annotations"]
        .as_object()
        .is_some_and(Map::is_empty);
    if is_empty {
        meta::metadata_mut(object).remove("annotations");
    }
}

/// Sets the template generation of a DaemonSet.
fn set_template_generation(object: &mut Value, old: Option<&Value>) {
    let generation_of = |object: &Value| -> i64 {
        let text = object["metadata"]["annotations"][TEMPLATE_GENERATION_ANNOTATION].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let generation = match old {
        None => generation_of(object).max(1),
        Some(old) if old["spec"]["template"] != object["spec"]["template"] => generation_of(old) + 1,
        Some(old) => generation_of(old),
    };
    let annotations = meta::entry_mut(&mut object["metadata"], "annotations");
    annotations.insert(
        TEMPLATE_GENERATION_ANNOTATION.into(),
        json!(generation.to_string()),
    );
}

/// Allocates what must be unique in the cluster: cluster IPs and node ports.
///
/// # Errors
///
/// Returns an error if a requested value is invalid or taken.
pub(crate) fn allocate<'a>(
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value> + Clone,
    networks: &ServiceNetworks,
    dry_run: bool,
) -> Result<(), AllocationError> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Service") => services::allocate(object, old, others, networks, dry_run),
        _ => Ok(()),
    }
}

/// Validates a new object, or with `old` an update.
pub(crate) fn validate(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    explicit_empty: &ExplicitEmptyFields,
    part: &str,
) -> Vec<Cause> {
    let mut causes: Vec<Cause> = builtin::validate(object, old, explicit_empty, part)
        .into_iter()
        .map(Cause::from)
        .collect();
    if kind.kind == "CustomResourceDefinition" {
        causes.extend(custom_resource_definitions::validate(object, old, explicit_empty));
    }
    causes
}
