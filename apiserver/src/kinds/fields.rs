//! What field selectors may select by.

use super::Kind;
use crate::selectors::FieldSelector;
use crate::status::ApiError;
use serde_json::Value;

const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const EVENTS_GROUP: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

impl Kind {
    /// Refuses a selector of fields that this kind does not offer.
    pub fn check_fields(&self, selector: &FieldSelector) -> Result<(), ApiError> {
        for field in selector.fields() {
            if !self.offers(field) {
                return Err(ApiError::bad_request(self.unknown_field(field)));
            }
        }
        Ok(())
    }

    /// The value that a field selector compares.
    pub fn field(&self, object: &Value, field: &str) -> String {
        let field = match (self.table().as_str(), field) {
            ("events", "reportingComponent") if is_empty(&object["reportingComponent"]) => "source.component",
            ("events", "source") if is_empty(&object["source"]["component"]) => "reportingComponent",
            ("events", "source") => "source.component",
            ("events", "reportingController") => "reportingComponent",
            _ => field,
        };
        if let ("events", Some(rest)) = (self.table().as_str(), field.strip_prefix("regarding.")) {
            return text(&object["involvedObject"][rest]);
        }
        let value = field.split('.').fold(object, |value, key| &value[key]);
        match (value, field) {
            // As the real server does: what it offers here, it never fills.
            (_, "status.podIPs") => String::new(),
            (Value::Null, "spec.hostNetwork" | "spec.unschedulable") => "false".to_owned(),
            (Value::Null, "status.successful" | "status.replicas") => "0".to_owned(),
            (value, _) => text(value),
        }
    }

    fn offers(&self, field: &str) -> bool {
        match field {
            "metadata.name" => true,
            "metadata.namespace" => self.namespaced || !matches!(self.kind.as_str(), "Node" | "Namespace"),
            _ => match &self.definition {
                Some(definition) => definition
                    .selectable(&self.version)
                    .iter()
                    .any(|path| path == field),
                None => self.own_fields().contains(&field),
            },
        }
    }

    fn own_fields(&self) -> &'static [&'static str] {
        match (self.group.as_str(), self.kind.as_str()) {
            ("", "Pod") => POD,
            ("", "Event") => EVENT,
            ("events.k8s.io", "Event") => EVENTS_GROUP,
            ("", "Node") => &["spec.unschedulable"],
            ("", "Namespace") => &["status.phase"],
            ("", "Secret") => &["type"],
            ("", "Service") => &["spec.clusterIP", "spec.type"],
            ("", "ReplicationController") => &["status.replicas"],
            ("batch", "Job") => &["status.successful"],
            _ => &[],
        }
    }

    /// Kinds with selectable fields of their own and kinds without refuse in different words.
    fn unknown_field(&self, field: &str) -> String {
        if self.definition.is_some() {
            format!("field label not supported: {field}")
        } else if (self.group.as_str(), self.kind.as_str()) == ("batch", "Job") {
            format!("field label {field:?} not supported for Job")
        } else if self.own_fields().is_empty() {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        } else {
            format!("field label not supported: {field}")
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_none_or(str::is_empty)
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
