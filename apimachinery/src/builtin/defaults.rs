//! Defaults of built-in kinds: a table of unconditional ones, and functions for those that depend on other fields.

mod pods;
mod table;
mod workloads;

use super::pod_resources::resource_list;
use crate::types::Type;
use serde_json::{Map, Value, json};

use table::UNCONDITIONAL_DEFAULTS;

type ObjectFields = Map<String, Value>;

/// Applies the defaults of a normalized object of a built-in kind, including its pod templates. Values that admission adds (a pod's
/// tolerations and service account) or that are allocated (addresses, ports) are not defaults.
pub fn apply_defaults(object: &mut Value, ty: &Type) {
    if let (Type::Named(named), Value::Object(fields)) = (ty, &mut *object) {
        apply_conditional_defaults(&named.name, fields);
        for (_, field, value) in UNCONDITIONAL_DEFAULTS
            .iter()
            .filter(|(ty, ..)| *ty == &*named.name)
        {
            if fields.get(*field).is_none_or(Value::is_null) {
                fields.insert(
                    (*field).to_owned(),
                    serde_json::from_str(value).unwrap_or_default(),
                );
            }
        }
    }
    match (ty.resolve(), object) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                apply_defaults(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                if let Some(ty) = map.type_of(name) {
                    apply_defaults(value, ty);
                }
            }
        }
        _ => {}
    }
}

/// Applies the defaults of one object that depend on its other fields.
fn apply_conditional_defaults(ty: &str, object: &mut ObjectFields) {
    match ty {
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            pods::default_pull_policy(object, "image", "imagePullPolicy");
        }
        "core.v1.Volume" if object.keys().all(|name| name == "name") => {
            object.insert("emptyDir".to_owned(), json!({}));
        }
        // Normalization writes this field even if it is empty.
        "batch.v1.PodFailurePolicyOnPodConditionsPattern"
            if object.get("status").is_some_and(|status| status == "") =>
        {
            object.remove("status");
        }
        // Allocatable resources default to the capacity.
        "core.v1.NodeStatus" if object.get("allocatable").is_none_or(Value::is_null) => {
            if let Some(capacity) = object.get("capacity").filter(|value| value.is_object()).cloned() {
                object.insert("allocatable".to_owned(), capacity);
            }
        }
        "core.v1.ImageVolumeSource" => pods::default_pull_policy(object, "reference", "pullPolicy"),
        "core.v1.PodStatus" => pods::default_pod_ips(object),
        "core.v1.Pod" => pods::default_pod(object),
        "core.v1.ServiceSpec" => default_service_spec(object),
        "core.v1.Service" => default_load_balancer_ip_modes(object),
        // The spec of a volume in a VolumeAttachment has no such defaults.
        "core.v1.PersistentVolume" => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                for (field, default) in [
                    ("persistentVolumeReclaimPolicy", "Retain"),
                    ("volumeMode", "Filesystem"),
                ] {
                    if spec.get(field).is_none_or(Value::is_null) {
                        spec.insert(field.to_owned(), default.into());
                    }
                }
            }
        }
        "core.v1.Namespace" => default_namespace(object),
        "core.v1.ReplicationController" => workloads::default_replication_controller(object),
        "apps.v1.DeploymentStrategy" | "apps.v1.DaemonSetUpdateStrategy"
            if object.get("type").is_none_or(|ty| ty == "RollingUpdate") =>
        {
            object.entry("rollingUpdate").or_insert_with(|| json!({}));
        }
        "apps.v1.StatefulSetUpdateStrategy" if !object.contains_key("type") => {
            object.insert("type".to_owned(), "RollingUpdate".into());
            object.entry("rollingUpdate").or_insert_with(|| json!({}));
        }
        "apps.v1.StatefulSetSpec" => {
            for claim in list_items(object, "volumeClaimTemplates") {
                claim.insert("apiVersion".to_owned(), "v1".into());
                claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
            }
        }
        "rbac.v1.RoleRef" if object.get("apiGroup").is_none_or(|group| group == "") => {
            object.insert("apiGroup".to_owned(), "rbac.authorization.k8s.io".into());
        }
        "batch.v1.Job" => workloads::default_job(object),
        "rbac.v1.Subject"
            if !object.contains_key("apiGroup")
                && object
                    .get("kind")
                    .is_some_and(|kind| kind == "User" || kind == "Group") =>
        {
            object.insert("apiGroup".to_owned(), "rbac.authorization.k8s.io".into());
        }
        "networking.v1.NetworkPolicySpec" if !object.contains_key("policyTypes") => {
            let types = if object.contains_key("egress") {
                json!(["Ingress", "Egress"])
            } else {
                json!(["Ingress"])
            };
            object.insert("policyTypes".to_owned(), types);
        }
        "autoscaling.v2.HorizontalPodAutoscalerSpec" if !object.contains_key("metrics") => {
            let target = json!({"type": "Utilization", "averageUtilization": 80});
            object.insert(
                "metrics".to_owned(),
                json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]),
            );
        }
        "autoscaling.v2.HorizontalPodAutoscalerBehavior" => default_scaling_behavior(object),
        "core.v1.LimitRangeItem" if object.get("type").is_some_and(|ty| ty == "Container") => {
            default_limit_range_item(object);
        }
        "apiextensions.v1.CustomResourceDefinitionSpec" => default_crd_names(object),
        _ => apply_defaults_of_cluster_kinds(ty, object),
    }
}

/// The same for flow control and devices.
fn apply_defaults_of_cluster_kinds(ty: &str, object: &mut ObjectFields) {
    match ty {
        "flowcontrol.v1.FlowSchemaSpec" => default_if_zero(object, &[("matchingPrecedence", 1000)]),
        "flowcontrol.v1.QueuingConfiguration" => {
            default_if_zero(
                object,
                &[("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)],
            );
        }
        "resource.v1.ExactDeviceRequest" | "resource.v1.DeviceSubRequest"
            if object
                .get("allocationMode")
                .is_none_or(|mode| mode == "ExactCount" || mode == "") =>
        {
            object.retain(|name, value| name != "allocationMode" || value != "");
            default_if_zero(object, &[("count", 1)]);
        }
        "resource.v1.DeviceTaint" => {
            object
                .entry("timeAdded")
                .or_insert_with(|| crate::meta::now().into());
        }
        _ => {}
    }
}

/// Sets numbers that are absent or zero.
fn default_if_zero(object: &mut ObjectFields, defaults: &[(&str, i64)]) {
    for (name, default) in defaults {
        if object
            .get(*name)
            .is_none_or(|value| value.is_null() || *value == 0)
        {
            object.insert((*name).to_owned(), json!(default));
        }
    }
}

/// Completes the scaling behavior of an autoscaler where only one direction is configured.
fn default_scaling_behavior(behavior: &mut ObjectFields) {
    let share = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    for (direction, policies, window_seconds) in [
        ("scaleUp", json!([pods, share]), Some(0)),
        ("scaleDown", json!([share]), None),
    ] {
        let rules = behavior.entry(direction).or_insert_with(|| json!({}));
        let Value::Object(rules) = rules else { continue };
        rules.entry("policies").or_insert(policies);
        if let Some(seconds) = window_seconds {
            rules
                .entry("stabilizationWindowSeconds")
                .or_insert_with(|| json!(seconds));
        }
    }
}

/// Defaults of a container's limit range item: `default` from `max`, and `defaultRequest` from `default`, then from `min`.
fn default_limit_range_item(item: &mut ObjectFields) {
    let list = |name: &str| item.get(name).map_or_else(Map::new, resource_list);
    let (mut default, mut default_request) = (list("default"), list("defaultRequest"));
    for (name, amount) in list("max") {
        default.entry(name).or_insert(amount);
    }
    for (name, amount) in default.clone().into_iter().chain(list("min")) {
        default_request.entry(name).or_insert(amount);
    }
    for (name, amounts) in [("default", default), ("defaultRequest", default_request)] {
        if !amounts.is_empty() {
            item.insert(name.to_owned(), Value::Object(amounts));
        }
    }
}

fn list_items<'a>(object: &'a mut ObjectFields, list: &str) -> impl Iterator<Item = &'a mut ObjectFields> {
    object
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

fn default_service_spec(spec: &mut ObjectFields) {
    let ty = spec
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("ClusterIP")
        .to_owned();
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("ClientIP") => {
            if spec
                .get("sessionAffinityConfig")
                .and_then(|config| config["clientIP"].get("timeoutSeconds"))
                .is_none()
            {
                spec.insert(
                    "sessionAffinityConfig".to_owned(),
                    json!({"clientIP": {"timeoutSeconds": 10800}}),
                );
            }
        }
        _ => drop(spec.remove("sessionAffinityConfig")),
    }
    for port in list_items(spec, "ports") {
        let unset = port
            .get("targetPort")
            .is_none_or(|target| *target == 0 || *target == "");
        if unset && let Some(number) = port.get("port").cloned() {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let has_external_ips = spec
        .get("externalIPs")
        .and_then(Value::as_array)
        .is_some_and(|ips| !ips.is_empty());
    let external =
        ["NodePort", "LoadBalancer"].contains(&ty.as_str()) || (ty == "ClusterIP" && has_external_ips);
    if external {
        spec.entry("externalTrafficPolicy")
            .or_insert_with(|| "Cluster".into());
    }
    if ["NodePort", "LoadBalancer", "ClusterIP"].contains(&ty.as_str()) {
        spec.entry("internalTrafficPolicy")
            .or_insert_with(|| "Cluster".into());
    }
    if ty == "LoadBalancer" {
        spec.entry("allocateLoadBalancerNodePorts")
            .or_insert(Value::Bool(true));
    }
}

/// Traffic to the IP of a load balancer goes to the virtual IP, unless its status says otherwise.
fn default_load_balancer_ip_modes(service: &mut ObjectFields) {
    let is_load_balancer = service
        .get("spec")
        .is_some_and(|spec| spec["type"] == "LoadBalancer");
    let ingresses = service
        .get_mut("status")
        .and_then(|status| status.get_mut("loadBalancer")?.get_mut("ingress")?.as_array_mut());
    for ingress in ingresses.into_iter().flatten().filter(|_| is_load_balancer) {
        let has_ip = ingress["ip"].as_str().is_some_and(|ip| !ip.is_empty());
        if let Value::Object(ingress) = ingress
            && has_ip
        {
            ingress.entry("ipMode").or_insert_with(|| "VIP".into());
        }
    }
}

fn default_namespace(namespace: &mut ObjectFields) {
    let Some(metadata) = namespace.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(name) = metadata
        .get("name")
        .filter(|name| name.as_str().is_some_and(|name| !name.is_empty()))
        .cloned()
    else {
        return;
    };
    if let Some(labels) = metadata
        .entry("labels")
        .or_insert_with(|| json!({}))
        .as_object_mut()
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

fn default_crd_names(spec: &mut ObjectFields) {
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(kind) = names
        .get("kind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
    else {
        return;
    };
    names
        .entry("singular")
        .or_insert_with(|| kind.to_lowercase().into());
    names
        .entry("listKind")
        .or_insert_with(|| format!("{kind}List").into());
}
