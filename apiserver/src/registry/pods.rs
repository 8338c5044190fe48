//! Pods: binding to a node, and admission of priority and runtime class.

use super::{Registry, Target, WriteContext};
use crate::builtin::SYSTEM_PRIORITIES;
use crate::crd::set_condition;
use crate::kinds::Kind;
use crate::meta;
use crate::quote::quoted;
use crate::status::{ApiError, details};
use serde_json::{Map, Value, json};
use std::fmt::Display;

/// The preemption policy of a priority class that sets none.
const DEFAULT_PREEMPTION_POLICY: &str = "PreemptLowerPriority";

impl Registry {
    /// Binds a pod to the node that the binding names.
    pub fn bind(&self, pod: &Target, binding: &Value, context: WriteContext<'_>) -> Result<(), ApiError> {
        check_bindable(pod, self.get(pod)?.value())?;
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            let cause = crate::status::Cause::required("target.name", "");
            return Err(ApiError::invalid_of("", "Binding", &pod.name, &[cause]));
        }
        if context.options.dry_run {
            return Ok(());
        }
        let named = |key: &str| binding["metadata"][key].as_object().cloned().unwrap_or_default();
        let (annotations, mut labels) = (named("annotations"), named("labels"));
        if binding["target"]["kind"] == "Node" {
            labels.extend(self.topology_labels(node));
        }
        self.try_update_as_server(pod, |object| {
            check_bindable(pod, object)?;
            meta::entry_mut(object, "spec").insert("nodeName".into(), json!(node));
            extend_metadata(object, "annotations", &annotations);
            extend_metadata(object, "labels", &labels);
            set_condition(object, "PodScheduled", "True", "", "");
            drop_empty_condition_fields(object);
            Ok(())
        })?;
        Ok(())
    }
}

impl Registry {
    /// Admission of a new pod: sets the priority of its class, checks the runtime class, copies the node's topology labels.
    pub(super) fn admit_pod(&self, kind: &Kind, pod: &mut Value) -> Result<(), ApiError> {
        if kind.kind != "Pod" || !kind.group.is_empty() {
            return Ok(());
        }
        let name = meta::name(pod).to_owned();
        let class_name = pod["spec"]["priorityClassName"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let (class, priority, preemption) = match self.priority_class(&class_name) {
            Some(found) => found,
            None if class_name.is_empty() => (String::new(), 0, DEFAULT_PREEMPTION_POLICY.to_owned()),
            None => {
                let why = format!("no PriorityClass with name {class_name} was found");
                return Err(ApiError::forbidden(kind, &name, why));
            }
        };
        let spec = meta::entry_mut(pod, "spec");
        let differs = |what: &str, given: &dyn Display, computed: &dyn Display| {
            let why = format!(
                "the {what} ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given \
                 PriorityClass name"
            );
            Err(ApiError::forbidden(kind, &name, why))
        };
        if let Some(given) = spec
            .get("priority")
            .and_then(Value::as_i64)
            .filter(|given| *given != priority)
        {
            return differs("integer value of priority", &given, &priority);
        }
        if let Some(given) = spec
            .get("preemptionPolicy")
            .and_then(Value::as_str)
            .filter(|given| *given != preemption)
        {
            return differs("string value of PreemptionPolicy", &given, &preemption);
        }
        if !class.is_empty() {
            spec.insert("priorityClassName".into(), json!(class));
        }
        spec.insert("priority".into(), json!(priority));
        spec.insert("preemptionPolicy".into(), json!(preemption));
        self.admit_runtime_class(kind, pod)?;
        let labels = self.topology_labels(pod["spec"]["nodeName"].as_str().unwrap_or_default());
        extend_metadata(pod, "labels", &labels);
        Ok(())
    }

    /// Returns the topology labels of a node, which are copied to its pods.
    fn topology_labels(&self, node: &str) -> Map<String, Value> {
        const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];
        let nodes = self.resource("", "nodes").ok();
        let found = nodes.and_then(|nodes| self.store.get(&nodes.table(), node));
        let labels = found.and_then(|node| node.value()["metadata"]["labels"].as_object().cloned());
        let mut labels = labels.unwrap_or_default();
        labels.retain(|name, _| LABELS.contains(&name.as_str()));
        labels
    }

    /// Returns name, value and preemption policy of the named priority class, or of the global default if the name is empty.
    fn priority_class(&self, name: &str) -> Option<(String, i64, String)> {
        let classes = self.resource("scheduling.k8s.io", "priorityclasses").ok()?;
        let listing = self.store.list(&classes.table(), "", "", None);
        let objects = listing.map(|page| page.objects).unwrap_or_default();
        let is_match = |class: &Value| match name {
            "" => class["globalDefault"] == true,
            name => meta::name(class) == name,
        };
        if let Some(class) = objects
            .iter()
            .map(|object| object.value())
            .find(|class| is_match(class))
        {
            let policy = class["preemptionPolicy"]
                .as_str()
                .unwrap_or(DEFAULT_PREEMPTION_POLICY);
            let value = class["value"].as_i64().unwrap_or(0);
            return Some((meta::name(class).to_owned(), value, policy.to_owned()));
        }
        let (name, value) = SYSTEM_PRIORITIES.iter().find(|(known, _)| *known == name)?;
        Some(((*name).to_owned(), *value, DEFAULT_PREEMPTION_POLICY.to_owned()))
    }
}

/// Refuses to bind a pod that has a node or scheduling gates, or is being deleted.
fn check_bindable(target: &Target, pod: &Value) -> Result<(), ApiError> {
    let (name, node) = (&target.name, pod["spec"]["nodeName"].as_str().unwrap_or_default());
    let why = if meta::is_being_deleted(pod) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {}", quoted(node))
    } else if pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    let mut error = ApiError::conflict(&target.kind, name, &why);
    error.message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
    error.details = Some(details(name, "", "pods/binding"));
    Err(error)
}

/// Adds labels or annotations to the metadata.
fn extend_metadata(object: &mut Value, key: &str, more: &Map<String, Value>) {
    if !more.is_empty() {
        let metadata = meta::metadata_mut(object);
        let held = metadata.entry(key).or_insert_with(|| json!({}));
        if let Value::Object(held) = held {
            held.extend(more.clone());
        }
    }
}

/// Removes empty fields from the conditions, and sets lastProbeTime to null as kube-apiserver does for a binding.
fn drop_empty_condition_fields(pod: &mut Value) {
    let conditions = pod["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        if let Value::Object(condition) = condition {
            condition.retain(|_, value| value != "");
            condition.entry("lastProbeTime").or_insert(Value::Null);
        }
    }
}
