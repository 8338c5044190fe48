//! The budgets of a schema's rules: how much evaluating them may cost at most, as estimated when a definition is written.

use crate::field::FieldError;
use serde_json::Value;

/// The budget of one rule, for all values that it applies to.
const RULE_BUDGET: u64 = 10_000_000;
/// The budget of all rules of a schema.
const SCHEMA_BUDGET: u64 = 100_000_000;
/// How many of the most expensive rules are named if all rules together exceed their budget.
const NAMED_RULES: usize = 4;

/// The estimated costs of a schema's rules and of their messages.
#[derive(Default)]
pub(super) struct RuleCosts(Vec<RuleCost>);

struct RuleCost {
    path: String,
    cost: u64,
}

impl RuleCosts {
    /// Adds the cost of a rule, or of the expression of its message, at this path. Returns an error about this subject if it exceeds its
    /// budget.
    pub(super) fn add(&mut self, path: String, subject: &str, cost: u64) -> Option<FieldError> {
        let error =
            (cost > RULE_BUDGET).then(|| FieldError::forbidden(&path, exceeded(subject, cost, RULE_BUDGET)));
        self.0.push(RuleCost { path, cost });
        error
    }

    /// Returns an error for the schema at this path if all its rules together exceed its budget, after errors for the most expensive ones.
    pub(super) fn total_errors(mut self, path: &str) -> Vec<FieldError> {
        let costs = self.0.iter().map(|rule| rule.cost);
        let total = costs.fold(0_u64, u64::saturating_add);
        if total <= SCHEMA_BUDGET {
            return vec![];
        }
        self.0.retain(|rule| rule.cost >= SCHEMA_BUDGET / 100);
        self.0.sort_by_key(|rule| std::cmp::Reverse(rule.cost));
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let most_expensive = self.0.iter().take(NAMED_RULES);
        let mut errors: Vec<FieldError> = most_expensive
            .map(|rule| FieldError::forbidden(&rule.path, detail))
            .collect();
        let subject = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(
            path,
            exceeded(subject, total, SCHEMA_BUDGET),
        ));
        errors
    }
}

fn exceeded(subject: &str, cost: u64, budget: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is rounded")]
    let factor = cost as f64 / budget as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{subject} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
         arrays, maps, and strings are declared)"
    )
}

/// Returns how many values of its items or fields a value of this schema has; None if the schema does not limit them.
pub(super) fn max_values(schema: &Value) -> Option<u64> {
    let limit = match schema["type"].as_str() {
        Some("array") => "maxItems",
        Some("object") if !schema["additionalProperties"].is_null() => "maxProperties",
        _ => return Some(1),
    };
    let limit = schema[limit].as_i64()?;
    Some(u64::try_from(limit).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(costs: &[u64]) -> Vec<String> {
        let mut all = RuleCosts::default();
        let rules = costs.iter().enumerate();
        let mut errors: Vec<FieldError> = rules
            .filter_map(|(index, cost)| all.add(format!("rule[{index}]"), "estimated rule cost", *cost))
            .collect();
        errors.extend(all.total_errors("schema"));
        errors
            .iter()
            .map(|error| format!("{} {}", error.field, error.detail.split(" (try").next().unwrap()))
            .collect()
    }

    #[test]
    fn factors_are_formatted_by_their_size() {
        for (cost, factor) in [
            (10_000_001, "1.000000x"),
            (14_999_999, "1.500000x"),
            (15_000_000, "1.5x"),
            (100_000_000, "10.0x"),
        ] {
            let expected = format!("rule[0] estimated rule cost exceeds budget by factor of {factor}");
            assert_eq!(errors(&[cost]), [expected], "{cost}");
        }
        assert_eq!(errors(&[10_000_000]), [] as [&str; 0]);
        assert!(errors(&[u64::MAX])[0].ends_with("more than 100x"));
    }

    #[test]
    fn the_most_expensive_rules_are_named() {
        let total = "exceeding cost limit for entire OpenAPIv3 schema";
        let mut costs = vec![9_000_000; 12];
        costs.extend([10_000_000, 999_999]);
        let found = errors(&costs);
        let named = ["rule[12]", "rule[0]", "rule[1]", "rule[2]"]
            .map(|rule| format!("{rule} contributed to estimated rule cost total {total}"));
        assert_eq!(found[..4], named);
        let subject = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        assert_eq!(
            found[4..],
            [format!("schema {subject} exceeds budget by factor of 1.190000x")]
        );
        assert_eq!(errors(&[9_000_000; 11]), [] as [&str; 0]);
    }
}
