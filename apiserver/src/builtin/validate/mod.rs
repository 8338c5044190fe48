//! What the real server refuses in objects of built-in kinds: the rules that people run into. It has many more; an object that passes
//! here may be refused there.

mod batch;
mod config;
mod container;
mod metadata;
mod names;
mod network;
mod pod;
mod policy;
mod rbac;
mod schedule;
mod scheduling;
mod security;
mod service;
mod status;
mod storage;
mod volume;
mod workload;

pub(crate) use container::amount;
pub(crate) use policy::SYSTEM as SYSTEM_PRIORITIES;

pub use names::{is_label, is_label_key, is_label_value, is_subdomain};

use crate::field::FieldError;
use crate::meta::text;
use crate::types::{self, Empties};
use serde_json::{Map, Value};

/// What is wrong with an object that has its defaults: with its labels and such, and with what its kind says. `old` is the stored object
/// in an update, for what may not change; `empties` what was sent empty. The object's name is not looked at.
pub fn validate(object: &Value, old: Option<&Value>, empties: &Empties) -> Vec<FieldError> {
    let mut check = Check {
        empties: empties.clone(),
        ..Check::default()
    };
    let (times, standard) = metadata_checks(object, old.is_some());
    for _ in 0..times {
        check.metadata(&object["metadata"], "metadata", standard);
    }
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "Pod" => pod::pod(&mut check, object, old),
        "ReplicationController" => workload::replication_controller(&mut check, spec),
        "Deployment" => workload::deployment(&mut check, spec),
        "ReplicaSet" => workload::replica_set(&mut check, spec),
        "PodTemplate" => pod::template_at(&mut check, &object["template"], "template"),
        "ControllerRevision" if old.is_none() && !object["data"].is_object() => {
            let absent = object["data"].is_null();
            check.push(FieldError::required(
                "data",
                if absent {
                    "data is mandatory"
                } else {
                    "data must be a valid JSON object"
                },
            ));
        }
        "StatefulSet" => workload::stateful_set(&mut check, spec, old.is_none()),
        "DaemonSet" => workload::daemon_set(&mut check, spec),
        "Job" => batch::job(&mut check, object, old),
        "CronJob" => batch::cron_job(&mut check, object, old),
        "Service" => service::service(&mut check, object, old),
        "ConfigMap" => config::config_map(&mut check, object),
        "Secret" => config::secret(&mut check, object, old),
        "PersistentVolume" => storage::volume(&mut check, spec, old),
        "StorageClass" => storage::class(&mut check, object, old),
        "Ingress" => network::ingress(&mut check, object, old),
        "IngressClass" => network::ingress_class(&mut check, spec, old),
        "NetworkPolicy" => network::policy(&mut check, spec),
        "EndpointSlice" => network::endpoint_slice(&mut check, object, old),
        "PodDisruptionBudget" => policy::disruption_budget(&mut check, spec),
        "HorizontalPodAutoscaler" => policy::autoscaler(&mut check, spec),
        "LimitRange" => policy::limit_range(&mut check, spec),
        "PriorityClass" => policy::priority_class(&mut check, object, old),
        "Event" => policy::event(&mut check, object, old),
        "PersistentVolumeClaim" => config::claim(&mut check, spec, old),
        "Lease" => config::lease(&mut check, spec),
        "Role" | "ClusterRole" => {
            rbac::role(&mut check, object);
            rbac::aggregation(&mut check, object);
        }
        "RoleBinding" | "ClusterRoleBinding" => rbac::binding(&mut check, object, old),
        _ => {}
    }
    if old.is_some() {
        status::status(&mut check, text(object, "kind"), &object["status"]);
    }
    if let Some(old) = old {
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
fn metadata_checks(object: &Value, updates: bool) -> (usize, bool) {
    match (text(object, "apiVersion"), text(object, "kind")) {
        ("v1", "Event") | (_, "PodDisruptionBudget") => (usize::from(!updates), false),
        (_, "Lease" | "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => (1, false),
        (_, kind) if updates && CHECKED_WHOLE.contains(&kind) => (2, true),
        _ => (1, true),
    }
}

/// What is wrong with the metadata of an object, at this path: its labels, annotations, finalizers and owner references.
pub fn validate_metadata(metadata: &Value, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    check.metadata(metadata, path, false);
    check.errors
}

/// The faults so far, and the checks that many kinds share. A path is that of the value.
#[derive(Default)]
struct Check {
    errors: Vec<FieldError>,
    empties: Empties,
}

/// The items of a list, with their paths.
fn items<'a>(holder: &'a Value, name: &str, path: &str) -> impl Iterator<Item = (&'a Value, String)> {
    let path = format!("{path}.{name}");
    holder[name]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .map(move |(index, item)| (item, format!("{path}[{index}]")))
}

/// The fields of an object; none when it is not one.
fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

impl Check {
    fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// A field's value as the real server's own type, such as `core.PodSpec`.
    fn shown(&self, value: &Value, path: &str, ty: &str) -> String {
        types::internal(&self.empties.restored(value, path), ty)
    }

    /// The value is there: not absent, null or empty.
    fn required(&mut self, value: &Value, path: &str) -> bool {
        let missing = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if missing {
            self.push(FieldError::required(path, ""));
        }
        !missing
    }

    fn not_negative(&mut self, holder: &Value, names: &[&str], path: &str) {
        for name in names {
            if let Some(number) = holder[*name].as_i64().filter(|number| *number < 0) {
                self.push(FieldError::invalid(
                    &format!("{path}.{name}"),
                    number,
                    "must be greater than or equal to 0",
                ));
            }
        }
    }

    /// The field, if it is there, has one of the values.
    fn one_of(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        if let Some(value) = holder[name].as_str().filter(|value| !allowed.contains(value)) {
            self.push(FieldError::not_supported(
                &format!("{path}.{name}"),
                value,
                allowed,
            ));
        }
    }

    /// The same for a field that lies at the top.
    fn one_of_at(&mut self, holder: &Value, name: &str, path: &str, allowed: &[&str]) {
        if let Some(value) = holder[name].as_str().filter(|value| !allowed.contains(value)) {
            self.push(FieldError::not_supported(path, value, allowed));
        }
    }

    fn port(&mut self, value: &Value, path: &str) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65535).contains(number)) {
            self.push(FieldError::invalid(
                path,
                number,
                "must be between 1 and 65535, inclusive",
            ));
        }
    }

    /// A port by number or name.
    fn port_or_name(&mut self, value: &Value, path: &str) {
        self.port(value, path);
        if let Some(name) = value.as_str() {
            self.messages(path, name, &names::port_name(name));
        }
    }

    fn messages(&mut self, path: &str, value: &str, messages: &[&str]) {
        for message in messages {
            self.push(FieldError::invalid(path, value, *message));
        }
    }

    fn selector(&mut self, selector: &Value, path: &str) {
        self.labels(&selector["matchLabels"], &format!("{path}.matchLabels"));
        for (requirement, path) in items(selector, "matchExpressions", path) {
            let values = requirement["values"]
                .as_array()
                .is_some_and(|values| !values.is_empty());
            match text(requirement, "operator") {
                "In" | "NotIn" if !values => {
                    let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                    self.push(FieldError::required(&format!("{path}.values"), detail));
                }
                "Exists" | "DoesNotExist" if values => {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    self.push(FieldError::forbidden(&format!("{path}.values"), detail));
                }
                "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
                other => self.push(FieldError::invalid(
                    &format!("{path}.operator"),
                    other,
                    "not a valid selector operator",
                )),
            }
            let key = text(requirement, "key");
            self.messages(&format!("{path}.key"), key, &names::qualified(key));
        }
    }

    /// What may not change, beyond what a kind's own check says.
    fn immutable(&mut self, object: &Value, old: &Value) {
        const CHANGED: &str = "field is immutable";
        const STATEFUL: [&str; 7] = [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ];
        match object["kind"].as_str().unwrap_or_default() {
            "Deployment" | "ReplicaSet" | "DaemonSet"
                if object["spec"]["selector"] != old["spec"]["selector"] =>
            {
                self.push(FieldError::invalid(
                    "spec.selector",
                    object["spec"]["selector"].clone(),
                    CHANGED,
                ));
            }
            "StatefulSet" => {
                let fixed = |object: &Value| -> Map<String, Value> {
                    let fields =
                        fields(&object["spec"]).filter(|(name, _)| !STATEFUL.contains(&name.as_str()));
                    fields
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect()
                };
                if fixed(object) != fixed(old) {
                    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                                  'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                    self.push(FieldError::forbidden("spec", detail));
                }
            }
            "Pod" if object["status"]["qosClass"] != old["status"]["qosClass"] => {
                let class = object["status"]["qosClass"].clone();
                self.push(FieldError::invalid("status.qosClass", class, CHANGED));
            }
            "ControllerRevision" if object["data"] != old["data"] => {
                self.push(FieldError::invalid("data", object["data"].clone(), CHANGED));
            }
            "ConfigMap" | "Secret" if old["immutable"] == true => {
                let detail = "field is immutable when `immutable` is set";
                if object["immutable"] != true {
                    self.push(FieldError::forbidden("immutable", detail));
                }
                for name in ["data", "binaryData"] {
                    if object[name] != old[name] {
                        self.push(FieldError::forbidden(name, detail));
                    }
                }
            }
            _ => {}
        }
    }
}
