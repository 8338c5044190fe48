//! What may not change.

use super::{Check, fields};
use crate::field::FieldError;
use serde_json::{Map, Value};

impl Check {
    /// What may not change, beyond what a kind's own check says.
    pub(super) fn immutable(&mut self, object: &Value, old: &Value) {
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
