//! The success policy: an indexed Job may succeed before all of its indexes have.

use super::{index_set::IndexSet, rules::JobRules};

/// Returns the position of the first rule that the succeeded indexes match.
pub(super) fn matched_rule(rules: &JobRules<'_>, succeeded: &IndexSet) -> Option<usize> {
    let policy = rules.success_policy?;
    if succeeded.is_empty() {
        return None;
    }
    policy.rules.iter().position(|rule| {
        let count = rule.succeeded_count.and_then(|count| usize::try_from(count).ok());
        match &rule.succeeded_indexes {
            None => count.is_some_and(|count| succeeded.len() >= count),
            Some(text) => {
                let required = IndexSet::parse(text, rules.indexes.unwrap_or(0));
                let done = required.common(succeeded);
                // A rule whose text has no valid index matches nothing.
                !required.is_empty() && (done == required.len() || count.is_some_and(|count| done >= count))
            }
        }
    })
}

#[cfg(test)]
#[path = "success_policy_tests.rs"]
mod tests;
