//! Immutable fields.

use super::{Check, fields};
use crate::field::FieldError;
use serde_json::{Map, Value};

impl Check {
    /// Validates immutable fields that the validation of the kind does not cover.
    pub(super) fn validate_immutable_fields(&mut self, object: &Value, old: &Value) {
        const IMMUTABLE: &str = "field is immutable";
        const MUTABLE_STATEFUL_SET_FIELDS: [&str; 7] = [
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
                    IMMUTABLE,
                ));
            }
            "StatefulSet" => {
                let immutable_fields = |object: &Value| -> Map<String, Value> {
                    let fields = fields(&object["spec"])
                        .filter(|(name, _)| !MUTABLE_STATEFUL_SET_FIELDS.contains(&name.as_str()));
                    fields
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect()
                };
                if immutable_fields(object) != immutable_fields(old) {
                    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                                  'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                    self.push(FieldError::forbidden("spec", detail));
                }
            }
            "Pod" if object["status"]["qosClass"] != old["status"]["qosClass"] => {
                let class = object["status"]["qosClass"].clone();
                self.push(FieldError::invalid("status.qosClass", class, IMMUTABLE));
            }
            "ControllerRevision" if object["data"] != old["data"] => {
                self.push(FieldError::invalid("data", object["data"].clone(), IMMUTABLE));
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
