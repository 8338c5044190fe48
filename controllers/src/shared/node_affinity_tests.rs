//! Cases of upstream's tests of node affinity, and what its selectors refuse.

use serde_json::{Value, from_value, json};

use super::*;

/// Whether a pod with this spec may run on the node `host-1` with these labels.
fn matches(pod: &Value, labels: &[(&str, &str)]) -> bool {
    let mut pod = pod.clone();
    pod["containers"] = json!([]);
    let pod: PodSpec = from_value(pod).unwrap();
    let label = |key: &str| labels.iter().find_map(|(k, value)| (*k == key).then_some(*value));
    RequiredNodeAffinity::of(&pod).matches("host-1", label)
}

fn affinity(terms: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

/// A term with one expression about labels.
fn labels(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [requirement(key, operator, values)]})
}

/// A term with one expression about fields.
fn fields(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchFields": [requirement(key, operator, values)]})
}

#[test]
fn node_selector_needs_all_labels() {
    for (selector, labels, expected) in [
        (json!({}), &[][..], true),
        (json!({"foo": "bar"}), &[], false),
        (json!({"foo": "bar"}), &[("foo", "bar")], true),
        (json!({"foo": "bar"}), &[("foo", "bar"), ("baz", "blah")], true),
        (json!({"foo": "bar", "baz": "blah"}), &[("foo", "bar")], false),
    ] {
        assert_eq!(
            matches(&json!({"nodeSelector": selector}), labels),
            expected,
            "{selector}"
        );
    }
}

#[test]
fn operators_match_labels() {
    let kernel = [
        ("kernel", "0206"),
        ("memory", "DDR3"),
        ("gpu", "K1"),
        ("zone", ""),
    ];
    for (key, operator, values, expected) in [
        ("memory", "In", &["DDR2", "DDR3"][..], true),
        ("memory", "In", &["DDR", "DDR2"], false),
        ("missing", "In", &["DDR"], false),
        ("zone", "In", &[""], true),
        ("memory", "NotIn", &["DDR", "DDR2"], true),
        ("memory", "NotIn", &["DDR3"], false),
        ("missing", "NotIn", &["DDR"], true),
        ("gpu", "Exists", &[], true),
        ("missing", "Exists", &[], false),
        ("gpu", "DoesNotExist", &[], false),
        ("missing", "DoesNotExist", &[], true),
        ("kernel", "Gt", &["0204"], true),
        ("kernel", "Gt", &["206"], false),
        ("kernel", "Lt", &["207"], true),
        ("kernel", "Lt", &["206"], false),
        ("gpu", "Gt", &["1"], false),
        ("missing", "Lt", &["1"], false),
    ] {
        let pod = affinity(&json!([labels(key, operator, values)]));
        assert_eq!(matches(&pod, &kernel), expected, "{key} {operator} {values:?}");
    }
}

#[test]
fn only_the_name_is_a_field() {
    for (key, operator, value, expected) in [
        (NAME_FIELD, "In", "host-1", true),
        (NAME_FIELD, "In", "host-2", false),
        (NAME_FIELD, "NotIn", "host-1", false),
        (NAME_FIELD, "NotIn", "host-2", true),
        ("metadata.namespace", "In", "host-1", false),
        ("metadata.namespace", "NotIn", "host-1", true),
    ] {
        let pod = affinity(&json!([fields(key, operator, &[value])]));
        assert_eq!(matches(&pod, &[]), expected, "{key} {operator} {value}");
    }
}

#[test]
fn one_term_must_match_with_all_its_requirements() {
    let gpu = [("gpu", "K1")];
    let both = |key: &str, host: &str| {
        json!({
            "matchExpressions": [requirement(key, "Exists", &[])],
            "matchFields": [requirement(NAME_FIELD, "In", &[host])],
        })
    };
    let expressions = |values: &[&str]| json!({"matchExpressions": [requirement("gpu", "Exists", &[]), requirement("gpu", "NotIn", values)]});
    for (terms, expected) in [
        (json!([both("gpu", "host-1")]), true),
        (json!([both("gpu", "host-2")]), false),
        (json!([both("cpu", "host-1")]), false),
        (json!([expressions(&["AMD"])]), true),
        (json!([expressions(&["AMD", "K1"])]), false),
        (
            json!([
                labels("cpu", "Exists", &[]),
                fields(NAME_FIELD, "In", &["host-1"])
            ]),
            true,
        ),
        (
            json!([
                labels("cpu", "Exists", &[]),
                fields(NAME_FIELD, "In", &["host-2"])
            ]),
            false,
        ),
    ] {
        assert_eq!(matches(&affinity(&terms), &gpu), expected, "{terms}");
    }
}

#[test]
fn node_selector_and_affinity_must_both_match() {
    let mut pod = affinity(&json!([labels("gpu", "Exists", &[])]));
    pod["nodeSelector"] = json!({"zone": "a"});
    assert!(matches(&pod, &[("gpu", "K1"), ("zone", "a")]));
    assert!(!matches(&pod, &[("gpu", "K1")]));
    assert!(!matches(&pod, &[("zone", "a")]));
}

#[test]
fn affinity_without_terms_matches_nothing() {
    for terms in [
        json!([]),
        json!([{}]),
        json!([{"matchExpressions": []}]),
        json!([{"matchFields": []}]),
    ] {
        assert!(!matches(&affinity(&terms), &[("foo", "bar")]), "{terms}");
    }
    // Without requirements there is nothing to match.
    for pod in [
        json!({"affinity": {}}),
        json!({"affinity": {"nodeAffinity": {}}}),
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}),
    ] {
        assert!(matches(&pod, &[]), "{pod}");
    }
}

#[test]
fn invalid_terms_match_nothing_and_do_not_spoil_the_others() {
    let valid = fields(NAME_FIELD, "In", &["host-1"]);
    for invalid in [
        labels("not a key", "DoesNotExist", &[]),
        labels("foo", "NotIn", &[]),
        labels("foo", "NotIn", &["not a value"]),
        labels("foo", "DoesNotExist", &["bar"]),
        labels("foo", "Near", &["bar"]),
        labels("foo", "Gt", &["one"]),
        labels("foo", "Gt", &["1", "2"]),
        fields(NAME_FIELD, "In", &["host-1", "host-2"]),
        fields(NAME_FIELD, "NotIn", &[]),
        fields(NAME_FIELD, "Exists", &[]),
    ] {
        assert!(!matches(&affinity(&json!([invalid])), &[]), "{invalid}");
        assert!(matches(&affinity(&json!([invalid, valid])), &[]), "{invalid}");
        let mut both = invalid.clone();
        both["matchFields"] = valid["matchFields"].clone();
        if both != valid {
            assert!(!matches(&affinity(&json!([both])), &[("foo", "2")]), "{both}");
        }
    }
}
