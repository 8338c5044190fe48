//! API approval of CustomResourceDefinitions in Kubernetes' own groups: an annotation contains the approval, a condition reports it.

use crate::go_url::Url;
use crate::meta::set_condition;
use crate::quote::quoted;
use serde_json::Value;

/// The annotation with the URL of the approval.
pub(crate) const ANNOTATION: &str = "api-approved.kubernetes.io";

const CONDITION: &str = "KubernetesAPIApprovalPolicyConformant";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The state of the approval annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiApproval {
    Approved,
    /// The annotation states that the API is unapproved.
    Bypassed,
    Missing,
    Invalid,
}

impl ApiApproval {
    /// Returns the state for a definition; None if its group is not protected.
    pub(crate) fn of_definition(definition: &Value) -> Option<Self> {
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let is_within = |domain: &str| {
            let host = group.strip_suffix(domain);
            host.is_some_and(|host| host.is_empty() || host.ends_with('.'))
        };
        if !is_within("k8s.io") && !is_within("kubernetes.io") {
            return None;
        }
        Some(match annotation(definition) {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed,
            text if is_url(text) => Self::Approved,
            _ => Self::Invalid,
        })
    }

    /// The message of the condition.
    pub(crate) fn message(self, definition: &Value) -> String {
        let text = annotation(definition);
        let must = format!("protected groups must have approval annotation {ANNOTATION:?}");
        match self {
            Self::Approved => format!("approved in {text}"),
            Self::Bypassed => format!("not approved: {}", quoted(text)),
            Self::Missing => format!("{must}, {SEE}"),
            Self::Invalid => {
                format!("{must} with either a URL or a reason starting with \"unapproved\", {SEE}")
            }
        }
    }
}

/// True if the condition matches the annotation.
pub(crate) fn is_condition_current(definition: &Value) -> bool {
    let Some(approval) = ApiApproval::of_definition(definition) else {
        return true;
    };
    let message = approval.message(definition);
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == CONDITION && condition["message"] == message)
}

/// Sets the condition, if the group is protected.
pub(crate) fn set_approval_condition(definition: &mut Value) {
    let Some(approval) = ApiApproval::of_definition(definition) else {
        return;
    };
    let (status, reason) = match approval {
        ApiApproval::Approved => ("True", "ApprovedAnnotation"),
        ApiApproval::Bypassed => ("False", "UnapprovedAnnotation"),
        ApiApproval::Missing => ("False", "MissingAnnotation"),
        ApiApproval::Invalid => ("False", "InvalidAnnotation"),
    };
    let message = approval.message(definition);
    set_condition(definition, CONDITION, status, reason, &message);
}

fn annotation(definition: &Value) -> &str {
    let annotations = &definition["metadata"]["annotations"];
    annotations[ANNOTATION].as_str().unwrap_or_default()
}

/// True for a text with a URL scheme and a host.
fn is_url(text: &str) -> bool {
    Url::parse_request(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(group: &str, text: &str) -> Value {
        json!({ "metadata": { "annotations": { ANNOTATION: text } }, "spec": { "group": group } })
    }

    #[test]
    fn only_protected_groups_need_approval() {
        for group in ["k8s.io", "a.k8s.io", "kubernetes.io", "a.b.kubernetes.io"] {
            assert_eq!(
                ApiApproval::of_definition(&definition(group, "")),
                Some(ApiApproval::Missing),
                "{group}"
            );
        }
        for group in ["notk8s.io", "k8s.io.dev", "demo.dev", ""] {
            assert_eq!(
                ApiApproval::of_definition(&definition(group, "")),
                None,
                "{group}"
            );
        }
    }

    #[test]
    fn annotation_is_a_url_or_an_unapproved_reason() {
        for (text, expected) in [
            ("https://a.dev/1", ApiApproval::Approved),
            ("x+y://a", ApiApproval::Approved),
            ("unapproved, https://a.dev/1", ApiApproval::Bypassed),
            ("https://", ApiApproval::Invalid),
            ("https://%zz/", ApiApproval::Invalid),
            ("https://a#b", ApiApproval::Invalid),
            ("https:///1", ApiApproval::Invalid),
            ("https://a b/1", ApiApproval::Invalid),
            ("1s://a", ApiApproval::Invalid),
            ("/pull/1", ApiApproval::Invalid),
            ("yes", ApiApproval::Invalid),
        ] {
            assert_eq!(
                ApiApproval::of_definition(&definition("k8s.io", text)),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn condition_follows_the_annotation() {
        let mut object = definition("k8s.io", "https://a.dev/1");
        assert!(!is_condition_current(&object));
        set_approval_condition(&mut object);
        assert!(is_condition_current(&object));
        object["metadata"]["annotations"][ANNOTATION] = json!("unapproved");
        assert!(!is_condition_current(&object));
        set_approval_condition(&mut object);
        assert_eq!(object["status"]["conditions"].as_array().unwrap().len(), 1);
        assert_eq!(
            object["status"]["conditions"][0]["reason"],
            "UnapprovedAnnotation"
        );
        assert!(is_condition_current(&definition("demo.dev", "")));
    }
}
