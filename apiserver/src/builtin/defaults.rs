//! Defaults: a table of those that stand by themselves, and functions for those that depend on something.

mod table;

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
            let policy = pull_policy(object.get("image").and_then(Value::as_str).unwrap_or_default());
            object.entry("imagePullPolicy").or_insert_with(|| policy.into());
        }
        "core.v1.Volume" if object.keys().all(|name| name == "name") => {
            object.insert("emptyDir".to_owned(), json!({}));
        }
        "core.v1.Pod" => pod(object),
        "core.v1.ServiceSpec" => service(object),
        "core.v1.Namespace" => namespace(object),
        "core.v1.ReplicationController" => replication_controller(object),
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
        "batch.v1.Job" => job(object),
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
        "core.v1.LimitRangeItem" if object.get("type").is_some_and(|ty| ty == "Container") => limits(object),
        "apiextensions.v1.CustomResourceDefinitionSpec" => names(object),
        _ => {}
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

/// An image without a tag or digest is the latest, which is always pulled.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    let tag = name.split_once(':').map(|(_, tag)| tag);
    let repository = name.split([':', '@']).next().unwrap_or_default();
    let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    if repository.is_empty() || !repository.bytes().all(valid) {
        // What names no image has no tag.
        return "IfNotPresent";
    }
    if !name.contains('@') && matches!(tag, None | Some("latest")) {
        "Always"
    } else {
        "IfNotPresent"
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

/// What holds for pods, and not for templates.
fn pod(pod: &mut Object) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("enableServiceLinks").or_insert(Value::Bool(true));
    let host_network = spec.get("hostNetwork").is_some_and(|set| *set == true);
    for list in ["containers", "initContainers"] {
        for container in objects(spec, list) {
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut)
                && let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned()
                && let Some(requests) = resources
                    .entry("requests")
                    .or_insert_with(|| json!({}))
                    .as_object_mut()
            {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
            if host_network {
                for port in objects(container, "ports") {
                    if let Some(number) = port.get("containerPort").cloned() {
                        port.entry("hostPort").or_insert(number);
                    }
                }
            }
        }
    }
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

fn template_labels(object: &Object) -> Option<Value> {
    let labels = object
        .get("spec")?
        .get("template")?
        .get("metadata")?
        .get("labels")?;
    labels
        .as_object()
        .is_some_and(|labels| !labels.is_empty())
        .then(|| labels.clone())
}

fn default_labels(object: &mut Object, labels: &Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("labels").or_insert_with(|| labels.clone());
    }
}

fn replication_controller(object: &mut Object) {
    let Some(labels) = template_labels(object) else {
        return;
    };
    default_labels(object, &labels);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("selector").or_insert(labels);
    }
}

fn job(job: &mut Object) {
    if let Some(labels) = template_labels(job) {
        default_labels(job, &labels);
    }
    let Some(spec) = job.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), json!(1));
    }
    spec.entry("parallelism").or_insert_with(|| json!(1));
    let per_index = spec.contains_key("backoffLimitPerIndex");
    spec.entry("backoffLimit")
        .or_insert_with(|| if per_index { json!(i32::MAX) } else { json!(6) });
    let replacement = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    spec.entry("podReplacementPolicy")
        .or_insert_with(|| replacement.into());
    for name in ["manualSelector", "suspend"] {
        spec.entry(name).or_insert(Value::Bool(false));
    }
    spec.entry("completionMode")
        .or_insert_with(|| "NonIndexed".into());
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
