//! Scopes: the objects that a quota counts.

use crate::builtin::qos_class;
use crate::meta;
use serde_json::Value;

/// One condition of a quota on the objects that it counts.
#[derive(Debug)]
pub(super) struct ScopeRequirement<'q> {
    scope: &'q str,
    operator: &'q str,
    values: Vec<&'q str>,
}

impl<'q> ScopeRequirement<'q> {
    /// Returns the conditions of a quota; all must be met.
    pub(super) fn of_quota(quota: &'q Value) -> Vec<Self> {
        let items = |list: &'q Value| list.as_array().into_iter().flatten();
        let scopes = items(&quota["spec"]["scopes"]).filter_map(Value::as_str);
        let scopes = scopes.map(|scope| Self {
            scope,
            operator: "Exists",
            values: vec![],
        });
        let selectors = items(&quota["spec"]["scopeSelector"]["matchExpressions"]);
        let selectors = selectors.map(|selector| Self {
            scope: meta::text(selector, "scopeName"),
            operator: meta::text(selector, "operator"),
            values: items(&selector["values"]).filter_map(Value::as_str).collect(),
        });
        scopes.chain(selectors).collect()
    }

    /// Whether a pod is in the scope.
    pub(super) fn matches_pod(&self, pod: &Value) -> bool {
        let is_best_effort = || match meta::text(&pod["status"], "qosClass") {
            "" => qos_class(&pod["spec"]) == "BestEffort",
            class => class == "BestEffort",
        };
        match self.scope {
            "Terminating" => is_terminating(pod),
            "NotTerminating" => !is_terminating(pod),
            "BestEffort" => is_best_effort(),
            "NotBestEffort" => !is_best_effort(),
            "PriorityClass" => self.selects(non_empty(&pod["spec"]["priorityClassName"])),
            "CrossNamespacePodAffinity" => has_cross_namespace_affinity(&pod["spec"]["affinity"]),
            _ => false,
        }
    }

    /// Whether a volume claim is in the scope. It counts for the class that it requests, the class that it has and the one that it changes to.
    pub(super) fn matches_volume_claim(&self, claim: &Value) -> bool {
        if self.scope != "VolumeAttributesClass" {
            return false;
        }
        let status = &claim["status"];
        let classes = [
            &claim["spec"]["volumeAttributesClassName"],
            &status["currentVolumeAttributesClassName"],
            &status["modifyVolumeStatus"]["targetVolumeAttributesClassName"],
        ];
        let mut classes = classes.into_iter().filter_map(non_empty).peekable();
        if classes.peek().is_none() {
            return self.selects(None);
        }
        classes.any(|class| self.selects(Some(class)))
    }

    /// Applies the operator to the object's value, as a label selector does.
    fn selects(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.contains(&value));
        match self.operator {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

/// Whether a pod has a deadline.
pub(super) fn is_terminating(pod: &Value) -> bool {
    let deadline = pod["spec"]["activeDeadlineSeconds"].as_i64();
    deadline.is_some_and(|deadline| deadline >= 0)
}

fn non_empty(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Whether a term of the affinity or anti-affinity to pods selects namespaces.
fn has_cross_namespace_affinity(affinity: &Value) -> bool {
    let items = |list: &'_ Value| list.as_array().cloned().unwrap_or_default();
    let selects_namespaces = |term: &Value| {
        let names = term["namespaces"].as_array();
        names.is_some_and(|names| !names.is_empty()) || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = &affinity[*kind];
        let required = items(&affinity["requiredDuringSchedulingIgnoredDuringExecution"]);
        let preferred = items(&affinity["preferredDuringSchedulingIgnoredDuringExecution"]);
        required.iter().any(selects_namespaces)
            || preferred
                .iter()
                .any(|term| selects_namespaces(&term["podAffinityTerm"]))
    })
}
