//! Which nodes a pod may run on: its node selector and its required node affinity, compiled to match many nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

use super::label_syntax::{is_label_key, is_label_value};

/// The only field of nodes that node affinity can match.
pub(crate) const NAME_FIELD: &str = "metadata.name";

/// A pod's node selector and required node affinity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequiredNodeAffinity<'p> {
    selector: Option<&'p BTreeMap<String, String>>,
    /// One of them must match; none: there is no affinity.
    terms: Option<Vec<Term<'p>>>,
}

/// Requirements that must all be met.
#[derive(Clone, Debug, PartialEq)]
struct Term<'p> {
    labels: Vec<LabelRequirement<'p>>,
    fields: Vec<FieldRequirement<'p>>,
}

#[derive(Clone, Debug, PartialEq)]
enum LabelRequirement<'p> {
    In(&'p str, &'p [String]),
    NotIn(&'p str, &'p [String]),
    Exists(&'p str),
    DoesNotExist(&'p str),
    GreaterThan(&'p str, i64),
    LessThan(&'p str, i64),
}

#[derive(Clone, Debug, PartialEq)]
struct FieldRequirement<'p> {
    key: &'p str,
    value: &'p str,
    is_equal: bool,
}

impl<'p> RequiredNodeAffinity<'p> {
    /// Compiles the requirements of a pod. A term that is empty or invalid matches no node; the other terms still count.
    pub(crate) fn of(pod: &'p PodSpec) -> Self {
        let affinity = pod.affinity.as_ref();
        let affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|affinity| {
            affinity
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        });
        let terms = required.map(|required| required.node_selector_terms.iter().filter_map(Term::new));
        Self {
            selector: pod.node_selector.as_ref(),
            terms: terms.map(Iterator::collect),
        }
    }

    /// Whether the pod may run on the node with this name and these labels; `label` looks up the value of a key.
    pub(crate) fn matches<'n>(&self, name: &str, label: impl Fn(&str) -> Option<&'n str>) -> bool {
        let mut selected = self.selector.into_iter().flatten();
        if !selected.all(|(key, value)| label(key) == Some(value)) {
            return false;
        }
        let terms = self.terms.as_ref();
        terms.is_none_or(|terms| terms.iter().any(|term| term.matches(name, &label)))
    }
}

impl<'p> Term<'p> {
    fn new(term: &'p NodeSelectorTerm) -> Option<Self> {
        let labels = term.match_expressions.iter().flatten();
        let fields = term.match_fields.iter().flatten();
        let term = Self {
            labels: labels.map(LabelRequirement::new).collect::<Option<_>>()?,
            fields: fields.map(FieldRequirement::new).collect::<Option<_>>()?,
        };
        let is_empty = term.labels.is_empty() && term.fields.is_empty();
        (!is_empty).then_some(term)
    }

    fn matches<'n>(&self, name: &str, label: &impl Fn(&str) -> Option<&'n str>) -> bool {
        let mut labels = self.labels.iter();
        labels.all(|requirement| requirement.matches(label))
            && self.fields.iter().all(|requirement| requirement.matches(name))
    }
}

impl<'p> LabelRequirement<'p> {
    fn new(requirement: &'p NodeSelectorRequirement) -> Option<Self> {
        let (key, values) = (
            requirement.key.as_str(),
            requirement.values.as_deref().unwrap_or_default(),
        );
        if !is_label_key(key) || !values.iter().all(|value| is_label_value(value)) {
            return None;
        }
        match (requirement.operator.as_str(), values) {
            ("In", [_, ..]) => Some(Self::In(key, values)),
            ("NotIn", [_, ..]) => Some(Self::NotIn(key, values)),
            ("Exists", []) => Some(Self::Exists(key)),
            ("DoesNotExist", []) => Some(Self::DoesNotExist(key)),
            ("Gt", [number]) => Some(Self::GreaterThan(key, number.parse().ok()?)),
            ("Lt", [number]) => Some(Self::LessThan(key, number.parse().ok()?)),
            _ => None,
        }
    }

    fn matches<'n>(&self, label: &impl Fn(&str) -> Option<&'n str>) -> bool {
        let number = |key: &str| label(key).and_then(|value| value.parse::<i64>().ok());
        let is_one_of = |value: &str, values: &[String]| values.iter().any(|one| one == value);
        match *self {
            Self::In(key, values) => label(key).is_some_and(|value| is_one_of(value, values)),
            Self::NotIn(key, values) => label(key).is_none_or(|value| !is_one_of(value, values)),
            Self::Exists(key) => label(key).is_some(),
            Self::DoesNotExist(key) => label(key).is_none(),
            Self::GreaterThan(key, bound) => number(key).is_some_and(|number| number > bound),
            Self::LessThan(key, bound) => number(key).is_some_and(|number| number < bound),
        }
    }
}

impl<'p> FieldRequirement<'p> {
    fn new(requirement: &'p NodeSelectorRequirement) -> Option<Self> {
        let [value] = requirement.values.as_deref()? else {
            return None;
        };
        Some(Self {
            key: &requirement.key,
            value,
            is_equal: match requirement.operator.as_str() {
                "In" => true,
                "NotIn" => false,
                _ => return None,
            },
        })
    }

    /// Nodes have no other fields: these are empty.
    fn matches(&self, name: &str) -> bool {
        let actual = if self.key == NAME_FIELD { name } else { "" };
        (actual == self.value) == self.is_equal
    }
}

#[cfg(test)]
#[path = "node_affinity_tests.rs"]
mod tests;
