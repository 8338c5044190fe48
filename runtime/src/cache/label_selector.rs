//! Label selectors: parsed from kubectl's syntax and matched against extracted labels.

use kube::core::{Expression, Selector};

use super::Metadata;

/// The requirements of a label selector, prepared for matching many objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelRequirements(Vec<Expression>);

impl LabelRequirements {
    pub(super) fn of(selector: &Selector) -> Self {
        Self(selector.clone().into_iter().collect())
    }

    /// Parses the syntax of kubectl's `-l`: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Returns none on a syntax error.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let expressions = split(text)?;
        let expressions = expressions
            .into_iter()
            .filter(|expression| !expression.is_empty());
        expressions.map(expression).collect::<Option<_>>().map(Self)
    }

    /// Whether the labels of an object match all requirements.
    pub(super) fn match_labels(&self, metadata: &Metadata) -> bool {
        self.matches(|key| metadata.label(key))
    }

    /// Whether labels match all requirements; `label` looks up the value of a key.
    pub(super) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|expression| match expression {
            Expression::In(key, values) => label(key).is_some_and(|value| values.contains(value)),
            Expression::NotIn(key, values) => label(key).is_none_or(|value| !values.contains(value)),
            Expression::Equal(key, expected) => label(key) == Some(expected),
            Expression::NotEqual(key, expected) => label(key) != Some(expected),
            Expression::Exists(key) => label(key).is_some(),
            Expression::DoesNotExist(key) => label(key).is_none(),
        })
    }
}

/// Splits at commas outside parentheses. Returns none if the parentheses are not balanced.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' if !inside => inside = true,
            b')' if inside => inside = false,
            b'(' | b')' => return None,
            b',' if !inside => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    (!inside).then_some(parts)
}

/// Parses one requirement.
fn expression(text: &str) -> Option<Expression> {
    let word = |text: &str| {
        let text = text.trim();
        let good = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
        text.bytes().all(good).then(|| text.to_owned())
    };
    let key = |text: &str| word(text).filter(|key| !key.is_empty());
    if let Some(text) = text.strip_prefix('!') {
        return key(text).map(Expression::DoesNotExist);
    }
    if let Some((before, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (name, operator) = before.trim_end().rsplit_once(char::is_whitespace)?;
        let values = values.split(',').map(word).collect::<Option<_>>()?;
        return match operator {
            "in" => key(name).map(|key| Expression::In(key, values)),
            "notin" => key(name).map(|key| Expression::NotIn(key, values)),
            _ => None,
        };
    }
    if let Some((name, value)) = text.split_once("!=") {
        return Some(Expression::NotEqual(key(name)?, word(value)?));
    }
    if let Some((name, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Expression::Equal(key(name)?, word(value)?));
    }
    key(text).map(Expression::Exists)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kube::core::SelectorExt as _;
    use serde_json::json;

    use super::*;
    use crate::{Kind as _, cache::scan::Scanner};

    fn labelled(labels: &BTreeMap<&str, &str>) -> Metadata {
        let json = json!({"metadata": {"name": "a", "namespace": "b", "labels": labels}}).to_string();
        Scanner::new(&k8s_openapi::api::core::v1::Pod::info())
            .object(json.as_bytes(), &[])
            .unwrap()
            .metadata
    }

    #[test]
    fn every_operator_is_parsed_and_matches_as_in_kube() {
        let objects = [
            BTreeMap::from([]),
            BTreeMap::from([("app", "web"), ("example.com/tier", "front")]),
            BTreeMap::from([("app", "db"), ("old", "")]),
        ];
        for (text, expected) in [
            ("", vec![]),
            ("app=web", vec![Expression::Equal("app".into(), "web".into())]),
            (
                "app == web , !old",
                vec![
                    Expression::Equal("app".into(), "web".into()),
                    Expression::DoesNotExist("old".into()),
                ],
            ),
            ("app!=web", vec![Expression::NotEqual("app".into(), "web".into())]),
            (
                "app in (web, db),old",
                vec![
                    Expression::In("app".into(), ["web".into(), "db".into()].into()),
                    Expression::Exists("old".into()),
                ],
            ),
            (
                "example.com/tier notin (front)",
                vec![Expression::NotIn(
                    "example.com/tier".into(),
                    ["front".into()].into(),
                )],
            ),
        ] {
            let requirements = LabelRequirements::parse(text).unwrap();
            assert_eq!(requirements, LabelRequirements(expected.clone()), "{text}");
            let selector: Selector = expected.into_iter().collect();
            for labels in &objects {
                let owned = labels
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                    .collect();
                assert_eq!(
                    LabelRequirements::of(&selector).match_labels(&labelled(labels)),
                    selector.matches(&owned),
                    "{text} {labels:?}"
                );
            }
        }
    }

    #[test]
    fn syntax_errors_are_refused() {
        for text in ["=a", "a=b c", "a in b", "a in (b", "a)(", "a near (b)", "!"] {
            assert_eq!(LabelRequirements::parse(text), None, "{text}");
        }
    }
}
