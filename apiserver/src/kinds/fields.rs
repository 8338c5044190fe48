//! Field selectors that kinds support.

use super::Kind;
use crate::meta;
use crate::selectors::FieldSelector;
use crate::status::ApiError;
use serde_json::Value;

const POD_FIELDS: &[&str] = &[
    "spec.host",
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
const EVENT_FIELDS: &[&str] = &[
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
const EVENTS_V1_FIELDS: &[&str] = &[
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
    /// Returns an error if this kind does not support the fields of a selector.
    pub fn check_field_selector(&self, selector: &FieldSelector) -> Result<(), ApiError> {
        for field in selector.fields() {
            if !self.supports_field(field) {
                return Err(ApiError::bad_request(self.unsupported_field_message(field)));
            }
        }
        Ok(())
    }

    /// Returns the value that a field selector compares.
    pub fn field_value(&self, object: &Value, field: &str) -> String {
        let field = match (self.table().as_str(), field) {
            ("events", "source") if meta::text(&object["source"], "component").is_empty() => {
                "reportingComponent"
            }
            ("events", "source") => "source.component",
            ("events", "reportingController") => "reportingComponent",
            // The name in the first versions of Kubernetes.
            ("pods", "spec.host") => "spec.nodeName",
            _ => field,
        };
        if let ("events", Some(rest)) = (self.table().as_str(), field.strip_prefix("regarding.")) {
            return text(&object["involvedObject"][rest]);
        }
        let value = field.split('.').fold(object, |value, key| &value[key]);
        match (value, field) {
            // Like kube-apiserver, which supports this field but never fills it.
            (_, "status.podIPs") => String::new(),
            (Value::Null, "spec.hostNetwork" | "spec.unschedulable") => "false".to_owned(),
            (Value::Null, "status.successful" | "status.replicas") => "0".to_owned(),
            (value, _) => text(value),
        }
    }

    fn supports_field(&self, field: &str) -> bool {
        match field {
            "metadata.name" => true,
            "metadata.namespace" => {
                self.namespaced
                    || !matches!(
                        self.kind.as_str(),
                        "Node" | "Namespace" | "CertificateSigningRequest"
                    )
            }
            _ => match &self.definition {
                Some(definition) => definition
                    .selectable(&self.version)
                    .iter()
                    .any(|path| path == field),
                None => self.selectable_fields().contains(&field),
            },
        }
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        match (self.group.as_str(), self.kind.as_str()) {
            ("", "Pod") => POD_FIELDS,
            ("", "Event") => EVENT_FIELDS,
            ("events.k8s.io", "Event") => EVENTS_V1_FIELDS,
            ("", "Node") => &["spec.unschedulable"],
            ("", "Namespace") => &["status.phase"],
            ("", "Secret") => &["type"],
            ("", "Service") => &["spec.clusterIP", "spec.type"],
            ("", "ReplicationController") => &["status.replicas"],
            ("batch", "Job") => &["status.successful"],
            ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
            ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
            _ => &[],
        }
    }

    /// Kinds with and without selectable fields have different messages.
    fn unsupported_field_message(&self, field: &str) -> String {
        if self.definition.is_some() {
            format!("field label not supported: {field}")
        } else if (self.group.as_str(), self.kind.as_str()) == ("batch", "Job") {
            format!("field label {field:?} not supported for Job")
        } else if self.kind == "ResourceSlice" {
            format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}")
        } else if self.selectable_fields().is_empty() {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        } else {
            format!("field label not supported: {field}")
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
