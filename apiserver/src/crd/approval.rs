//! Groups of Kubernetes itself need its approval: an annotation says where it was given, or why not, a condition what is to be made of it.

use super::set_condition;
use crate::quote::quoted;
use serde_json::Value;

/// Where it is said.
pub(crate) const ANNOTATION: &str = "api-approved.kubernetes.io";

const CONDITION: &str = "KubernetesAPIApprovalPolicyConformant";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What an annotation is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Given,
    /// It was not asked for, and the annotation says so.
    Waived,
    Missing,
    Invalid,
}

impl Approval {
    /// What a definition says; none where its group needs nobody's approval.
    pub(crate) fn of(definition: &Value) -> Option<Self> {
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let within = |domain: &str| {
            let host = group.strip_suffix(domain);
            host.is_some_and(|host| host.is_empty() || host.ends_with('.'))
        };
        if !within("k8s.io") && !within("kubernetes.io") {
            return None;
        }
        Some(match annotation(definition) {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Waived,
            text if is_url(text) => Self::Given,
            _ => Self::Invalid,
        })
    }

    /// What is said of it.
    pub(crate) fn message(self, definition: &Value) -> String {
        let said = annotation(definition);
        let must = format!("protected groups must have approval annotation {ANNOTATION:?}");
        match self {
            Self::Given => format!("approved in {said}"),
            Self::Waived => format!("not approved: {}", quoted(said)),
            Self::Missing => format!("{must}, {SEE}"),
            Self::Invalid => {
                format!("{must} with either a URL or a reason starting with \"unapproved\", {SEE}")
            }
        }
    }
}

/// Whether the condition says what the annotation says.
pub(super) fn is_noted(definition: &Value) -> bool {
    let Some(approval) = Approval::of(definition) else {
        return true;
    };
    let message = approval.message(definition);
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == CONDITION && condition["message"] == message)
}

/// Sets the condition, where there is one to be set.
pub(super) fn note(definition: &mut Value) {
    let Some(approval) = Approval::of(definition) else {
        return;
    };
    let (status, reason) = match approval {
        Approval::Given => ("True", "ApprovedAnnotation"),
        Approval::Waived => ("False", "UnapprovedAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    let message = approval.message(definition);
    set_condition(definition, CONDITION, status, reason, &message);
}

fn annotation(definition: &Value) -> &str {
    let annotations = &definition["metadata"]["annotations"];
    annotations[ANNOTATION].as_str().unwrap_or_default()
}

/// A scheme and a host.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let may_follow = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(may_follow)
        && !host.is_empty()
        && !host.contains(' ')
        && !text.contains(|c: char| c.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(group: &str, said: &str) -> Value {
        json!({ "metadata": { "annotations": { ANNOTATION: said } }, "spec": { "group": group } })
    }

    #[test]
    fn only_groups_of_kubernetes_need_it() {
        for group in ["k8s.io", "a.k8s.io", "kubernetes.io", "a.b.kubernetes.io"] {
            assert_eq!(
                Approval::of(&definition(group, "")),
                Some(Approval::Missing),
                "{group}"
            );
        }
        for group in ["notk8s.io", "k8s.io.dev", "demo.dev", ""] {
            assert_eq!(Approval::of(&definition(group, "")), None, "{group}");
        }
    }

    #[test]
    fn it_is_a_place_or_a_reason() {
        for (said, worth) in [
            ("https://a.dev/1", Approval::Given),
            ("x+y://a", Approval::Given),
            ("unapproved, https://a.dev/1", Approval::Waived),
            ("https://", Approval::Invalid),
            ("https:///1", Approval::Invalid),
            ("https://a b/1", Approval::Invalid),
            ("1s://a", Approval::Invalid),
            ("/pull/1", Approval::Invalid),
            ("yes", Approval::Invalid),
        ] {
            assert_eq!(Approval::of(&definition("k8s.io", said)), Some(worth), "{said}");
        }
    }

    #[test]
    fn the_condition_follows_the_annotation() {
        let mut object = definition("k8s.io", "https://a.dev/1");
        assert!(!is_noted(&object));
        note(&mut object);
        assert!(is_noted(&object));
        object["metadata"]["annotations"][ANNOTATION] = json!("unapproved");
        assert!(!is_noted(&object));
        note(&mut object);
        assert_eq!(object["status"]["conditions"].as_array().unwrap().len(), 1);
        assert_eq!(
            object["status"]["conditions"][0]["reason"],
            "UnapprovedAnnotation"
        );
        assert!(is_noted(&definition("demo.dev", "")));
    }
}
