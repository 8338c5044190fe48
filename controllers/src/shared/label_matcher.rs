//! Label selectors of built-in kinds, compiled to match many objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// A compiled [`LabelSelector`]. An empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelMatcher(Vec<Requirement>);

/// A selector that the API server would refuse, stored before it was validated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid label selector: key {key:?} has the operator {operator:?}, with {values} values")]
pub(crate) struct InvalidSelector {
    key: String,
    operator: String,
    values: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

impl LabelMatcher {
    /// Compiles a selector.
    pub(crate) fn new(selector: &LabelSelector) -> Result<Self, InvalidSelector> {
        let labels = selector.match_labels.iter().flatten();
        let mut requirements: Vec<_> = labels.map(equals).collect();
        for expression in selector.match_expressions.iter().flatten() {
            let (key, values) = (
                expression.key.clone(),
                expression.values.clone().unwrap_or_default(),
            );
            requirements.push(match (expression.operator.as_str(), values.is_empty()) {
                ("In", false) => Requirement::In(key, values),
                ("NotIn", false) => Requirement::NotIn(key, values),
                ("Exists", true) => Requirement::Exists(key),
                ("DoesNotExist", true) => Requirement::DoesNotExist(key),
                (operator, _) => {
                    return Err(InvalidSelector {
                        key,
                        operator: operator.to_owned(),
                        values: values.len(),
                    });
                }
            });
        }
        Ok(Self(requirements))
    }

    /// Compiles a selector of equal labels, as ReplicationControllers have it.
    pub(crate) fn of_labels(labels: &BTreeMap<String, String>) -> Self {
        Self(labels.iter().map(equals).collect())
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels match all requirements; `label` looks up the value of a key.
    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => label(key).is_some_and(|value| values.iter().any(|v| v == value)),
            Requirement::NotIn(key, values) => {
                label(key).is_none_or(|value| values.iter().all(|v| v != value))
            }
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::DoesNotExist(key) => label(key).is_none(),
        })
    }

    /// Whether these labels match all requirements.
    #[cfg(test)]
    pub(crate) fn matches_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches(|key| labels.get(key).map(String::as_str))
    }
}

/// Whether a selector has no requirement, and so selects everything.
pub(crate) fn selects_everything(selector: &LabelSelector) -> bool {
    let LabelSelector {
        match_labels,
        match_expressions,
    } = selector;
    match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && match_expressions.as_ref().is_none_or(Vec::is_empty)
}

fn equals((key, value): (&String, &String)) -> Requirement {
    Requirement::In(key.clone(), vec![value.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    fn selector(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: Some(values.iter().map(|&value| value.to_owned()).collect()),
            }]),
            match_labels: None,
        }
    }

    #[test]
    fn operators_match_as_in_kubernetes() {
        let labels = |texts: &[(&str, &str)]| -> BTreeMap<String, String> {
            texts
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        let objects = [labels(&[]), labels(&[("app", "a")]), labels(&[("app", "b")])];
        for (operator, values, expected) in [
            ("In", &["a"][..], [false, true, false]),
            ("In", &["a", "b"], [false, true, true]),
            ("NotIn", &["a"], [true, false, true]),
            ("Exists", &[], [false, true, true]),
            ("DoesNotExist", &[], [true, false, false]),
        ] {
            let matcher = LabelMatcher::new(&selector("app", operator, values)).unwrap();
            let found = objects.each_ref().map(|labels| matcher.matches_labels(labels));
            assert_eq!(found, expected, "{operator} {values:?}");
        }
        let everything = LabelMatcher::new(&LabelSelector::default()).unwrap();
        assert!(everything.is_empty() && everything.matches_labels(&objects[0]));
        assert!(selects_everything(&LabelSelector::default()));
        assert!(!selects_everything(&selector("app", "Exists", &[])));
        let equal = LabelMatcher::of_labels(&objects[1]);
        assert_eq!(
            objects.each_ref().map(|labels| equal.matches_labels(labels)),
            [false, true, false]
        );
    }

    #[test]
    fn invalid_requirements_are_refused() {
        for (operator, values) in [
            ("In", &[][..]),
            ("NotIn", &[]),
            ("Exists", &["a"]),
            ("Gt", &["1"]),
        ] {
            let error = LabelMatcher::new(&selector("app", operator, values)).unwrap_err();
            assert!(error.to_string().contains(operator), "{error}");
        }
    }
}
