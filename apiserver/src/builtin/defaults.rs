//! Defaults: a table of those that stand by themselves, and functions for those that depend on something.

mod pods;
mod table;
mod workloads;

use crate::types::Type;
use serde_json::{Map, Value, json};

use table::TABLE;

type Object = Map<String, Value>;

/// Fills in the defaults of a normal object of a built-in kind, its templates included. What admission adds (a pod's tolerations, its
/// service account) and what is allocated (addresses, ports) is not filled in.
pub fn default(object: &mut Value, ty: &Type) {
    if let (Type::Named(named), Value::Object(fields)) = (ty, &mut *object) {
        depending(&named.name, fields);
        for (_, field, value) in TABLE.iter().filter(|(ty, ..)| *ty == &*named.name) {
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
                default(item, &list.items);
            }
        }
        (Type::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                if let Some(ty) = map.type_of(name) {
                    default(value, ty);
                }
            }
        }
        _ => {}
    }
}

/// The defaults of one object that depend on something.
fn depending(ty: &str, object: &mut Object) {
    match ty {
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            let policy = pods::pull_policy(object.get("image").and_then(Value::as_str).unwrap_or_default());
            object.entry("imagePullPolicy").or_insert_with(|| policy.into());
        }
        "core.v1.Volume" if object.keys().all(|name| name == "name") => {
            object.insert("emptyDir".to_owned(), json!({}));
        }
        // It is always there, if only empty.
        "batch.v1.PodFailurePolicyOnPodConditionsPattern"
            if object.get("status").is_some_and(|status| status == "") =>
        {
            object.remove("status");
        }
        // What nothing is taken from can be given.
        "core.v1.NodeStatus" if object.get("allocatable").is_none_or(Value::is_null) => {
            if let Some(capacity) = object.get("capacity").filter(|value| value.is_object()).cloned() {
                object.insert("allocatable".to_owned(), capacity);
            }
        }
        "core.v1.ImageVolumeSource" => {
            let policy = pods::pull_policy(
                object
                    .get("reference")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
            object.entry("pullPolicy").or_insert_with(|| policy.into());
        }
        "core.v1.PodStatus" => pods::pod_addresses(object),
        "core.v1.Pod" => pods::pod(object),
        "core.v1.ServiceSpec" => service(object),
        "core.v1.Namespace" => namespace(object),
        "core.v1.ReplicationController" => workloads::replication_controller(object),
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
            for claim in objects(object, "volumeClaimTemplates") {
                claim.insert("apiVersion".to_owned(), "v1".into());
                claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
            }
        }
        "rbac.v1.RoleRef" if object.get("apiGroup").is_none_or(|group| group == "") => {
            object.insert("apiGroup".to_owned(), "rbac.authorization.k8s.io".into());
        }
        "batch.v1.Job" => workloads::job(object),
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
        "autoscaling.v2.HorizontalPodAutoscalerBehavior" => behavior(object),
        "core.v1.LimitRangeItem" if object.get("type").is_some_and(|ty| ty == "Container") => limits(object),
        "apiextensions.v1.CustomResourceDefinitionSpec" => names(object),
        _ => {}
    }
}

/// How fast an autoscaler follows, where it says so of one way only.
fn behavior(behavior: &mut Object) {
    let share = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    for (way, policies, waits) in [
        ("scaleUp", json!([pods, share]), Some(0)),
        ("scaleDown", json!([share]), None),
    ] {
        let rules = behavior.entry(way).or_insert_with(|| json!({}));
        let Value::Object(rules) = rules else { continue };
        rules.entry("policies").or_insert(policies);
        if let Some(seconds) = waits {
            rules
                .entry("stabilizationWindowSeconds")
                .or_insert_with(|| json!(seconds));
        }
    }
}

/// Limits of containers follow from one another: what is given from the most, what is asked for from what is given, or the least.
fn limits(item: &mut Object) {
    let entries = |item: &Object, name: &str| {
        item.get(name)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (most, least) = (entries(item, "max"), entries(item, "min"));
    let (mut given, mut asked) = (entries(item, "default"), entries(item, "defaultRequest"));
    for (name, amount) in most {
        given.entry(name).or_insert(amount);
    }
    for (name, amount) in given.clone().into_iter().chain(least) {
        asked.entry(name).or_insert(amount);
    }
    for (name, amounts) in [("default", given), ("defaultRequest", asked)] {
        if !amounts.is_empty() {
            item.insert(name.to_owned(), Value::Object(amounts));
        }
    }
}

fn objects<'a>(object: &'a mut Object, list: &str) -> impl Iterator<Item = &'a mut Object> {
    object
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

fn service(spec: &mut Object) {
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
    for port in objects(spec, "ports") {
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

fn namespace(namespace: &mut Object) {
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

fn names(spec: &mut Object) {
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
