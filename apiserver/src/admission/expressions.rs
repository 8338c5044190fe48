//! The compiled expressions of webhooks and policies.

use crate::cel::Expression;
use crate::meta::text;
use serde_json::Value;
use std::collections::HashMap;

/// The compiled expressions of the newest webhooks and policies, by their texts. A change of one policy compiles its expressions alone.
#[derive(Debug, Default)]
#[cfg_attr(
    not(feature = "cel"),
    expect(
        clippy::zero_sized_map_values,
        reason = "without the feature, expressions are empty"
    )
)]
pub(super) struct Expressions {
    previous: HashMap<String, Expression>,
    current: HashMap<String, Expression>,
}

impl Expressions {
    /// Starts a load of all webhooks and policies. Drops the expressions that the last load did not use.
    pub(super) fn begin(&mut self) {
        self.previous = std::mem::take(&mut self.current);
    }

    /// Returns the compiled text.
    pub(super) fn get(&mut self, text: &str) -> Expression {
        if let Some(known) = self.current.get(text) {
            return known.clone();
        }
        let (text, expression) = self
            .previous
            .remove_entry(text)
            .unwrap_or_else(|| (text.to_owned(), Expression::compile(text)));
        self.current.insert(text, expression.clone());
        expression
    }

    /// Returns the compiled `expression` of each item.
    pub(super) fn of_items(&mut self, items: &Value) -> Vec<Expression> {
        let items = items.as_array().into_iter().flatten();
        items.map(|item| self.get(text(item, "expression"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Expressions;

    #[test]
    fn expressions_are_kept_while_they_are_asked_for() {
        let mut expressions = Expressions::default();
        let texts = |map: &std::collections::HashMap<_, _>| {
            let mut texts: Vec<String> = map.keys().cloned().collect();
            texts.sort_unstable();
            texts
        };
        for text in ["1", "2", "1"] {
            expressions.get(text);
        }
        assert_eq!(texts(&expressions.current), ["1", "2"]);
        expressions.begin();
        assert_eq!(format!("{:?}", expressions.get("1")), r#""1""#);
        expressions.get("3");
        // What was taken over is not compiled again.
        assert_eq!(texts(&expressions.previous), ["2"]);
        assert_eq!(texts(&expressions.current), ["1", "3"]);
        expressions.begin();
        assert_eq!(texts(&expressions.previous), ["1", "3"]);
    }
}
