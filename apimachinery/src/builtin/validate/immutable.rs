//! Immutable fields.

use super::{Check, Constraint, fields};
use serde_json::Value;

impl Check {
    /// Validates immutable fields that the validation of the kind does not cover.
    pub(super) fn validate_immutable_fields(&mut self, object: &Value, old: &Value) {
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
            "Deployment" | "ReplicaSet" | "DaemonSet" => {
                self.apply(&[("spec.selector", Constraint::Immutable)], object, Some(old), "");
            }
            "Pod" => self.apply(
                &[("status.qosClass", Constraint::Immutable)],
                object,
                Some(old),
                "",
            ),
            "ControllerRevision" => self.apply(&[("data", Constraint::Immutable)], object, Some(old), ""),
            "StatefulSet" => {
                let is_immutable =
                    |(name, _): &(&String, &Value)| !MUTABLE_STATEFUL_SET_FIELDS.contains(&name.as_str());
                let now = fields(&object["spec"]).filter(is_immutable);
                if !now.eq(fields(&old["spec"]).filter(is_immutable)) {
                    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                                  'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                    self.forbidden("spec", detail);
                }
            }
            "ConfigMap" | "Secret" if old["immutable"] == true => {
                let detail = "field is immutable when `immutable` is set";
                if object["immutable"] != true {
                    self.forbidden("immutable", detail);
                }
                for name in ["data", "binaryData"] {
                    if object[name] != old[name] {
                        self.forbidden(name, detail);
                    }
                }
            }
            _ => {}
        }
    }
}
