use serde_json::{Value, json};

use super::{
    super::test_objects::{features, job, rules},
    *,
};

fn check(policy: &[Value], succeeded: &str) -> Option<usize> {
    let job =
        job(&json!({"completionMode": "Indexed", "completions": 10, "successPolicy": {"rules": policy}}));
    matched_rule(&rules(&job), &IndexSet::parse(succeeded, 10))
}

fn rule(indexes: Option<&str>, count: Option<i32>) -> Value {
    json!({"succeededIndexes": indexes, "succeededCount": count})
}

#[test]
fn rules_match_by_indexes_and_count() {
    for (policy, succeeded, expected) in [
        (vec![], "0-9", None),
        (vec![rule(None, Some(2))], "", None),
        (vec![rule(None, Some(2))], "7", None),
        (vec![rule(None, Some(2))], "3,7", Some(0)),
        (vec![rule(Some("0-2"), None)], "0,1", None),
        (vec![rule(Some("0-2"), None)], "0-3", Some(0)),
        (vec![rule(Some("0-4,6"), Some(3))], "0,1,7-9", None),
        (vec![rule(Some("0-4,6"), Some(3))], "0,1,6", Some(0)),
        (vec![rule(Some("0,5"), None), rule(None, Some(3))], "1-3", Some(1)),
        (vec![rule(Some("1"), None), rule(None, Some(1))], "1", Some(0)),
        // Beyond the completions, or no indexes at all.
        (vec![rule(Some("0,20"), None)], "0", Some(0)),
        (vec![rule(Some("20"), Some(0))], "0", None),
        (vec![rule(Some("a-b"), None)], "0-9", None),
        (vec![rule(None, None)], "0-9", None),
        (vec![rule(None, Some(-1))], "0-9", None),
    ] {
        assert_eq!(check(&policy, succeeded), expected, "{policy:?} {succeeded}");
    }
}

#[test]
fn nothing_matches_without_the_feature() {
    let job = job(&json!({
        "completionMode": "Indexed", "completions": 10, "successPolicy": {"rules": [rule(None, Some(1))]},
    }));
    let rules = JobRules::of(&job, features("JobSuccessPolicy=false")).unwrap();
    assert_eq!(matched_rule(&rules, &IndexSet::parse("0", 10)), None);
}
