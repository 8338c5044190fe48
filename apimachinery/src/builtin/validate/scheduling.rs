//! Validation of affinity and topology spread constraints.

use super::{Check, Constraint, FieldRule, array, fields, items, names, node_selector, text};
use serde_json::Value;

const WEIGHT: Constraint = Constraint::Number(1, 100, "must be in the range 1-100");
#[rustfmt::skip]
const POD_AFFINITY: Constraint = Constraint::Rules(&[
    ("requiredDuringSchedulingIgnoredDuringExecution[]", Constraint::Checked(validate_affinity_term)),
    ("preferredDuringSchedulingIgnoredDuringExecution[].weight", WEIGHT),
    ("preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm", Constraint::Checked(validate_affinity_term)),
]);
#[rustfmt::skip]
const AFFINITY: &[FieldRule] = &[
    ("nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?", Constraint::Checked(node_selector::validate_node_selector)),
    ("nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].weight", WEIGHT),
    ("nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference", Constraint::Checked(validate_preference)),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
];
const AFFINITY_TERM: &[FieldRule] = &[
    ("labelSelector", Constraint::LabelSelector),
    ("namespaceSelector", Constraint::LabelSelector),
    ("namespaces=namespace[*]", Constraint::Text(names::label_errors)),
    ("topologyKey", Constraint::Required("can not be empty")),
    ("topologyKey", Constraint::Text(names::qualified_name_errors)),
];
#[rustfmt::skip]
const TOPOLOGY_SPREAD: &[FieldRule] = &[
    ("maxSkew", Constraint::Number(1, i64::MAX, "must be greater than zero")),
    ("topologyKey", Constraint::Required("can not be empty")),
    ("whenUnsatisfiable", Constraint::Only(&["DoNotSchedule", "ScheduleAnyway"])),
    ("minDomains", Constraint::Within(1, i64::MAX, "must be greater than zero")),
    ("nodeAffinityPolicy", Constraint::OneOf(&["Honor", "Ignore"])),
    ("nodeTaintsPolicy", Constraint::OneOf(&["Honor", "Ignore"])),
    ("labelSelector", Constraint::LabelSelector),
];

pub(super) fn validate_affinity(check: &mut Check, spec: &Value, path: &str) {
    check.apply(AFFINITY, &spec["affinity"], None, &format!("{path}.affinity"));
}

fn validate_affinity_term(check: &mut Check, term: &Value, path: &str) {
    check.apply(AFFINITY_TERM, term, None, path);
    validate_label_keys(check, term, path);
}

/// Validates a preferred term. kube-apiserver accepts invalid label values in it: they only match no node.
fn validate_preference(check: &mut Check, preference: &Value, path: &str) {
    node_selector::validate_node_selector_term(check, preference, false, path);
}

/// Validates topology spread constraints.
pub(super) fn validate_topology_spread(check: &mut Check, spec: &Value, path: &str) {
    let all = spec["topologySpreadConstraints"].as_array();
    for (index, (constraint, path)) in items(spec, "topologySpreadConstraints", path).enumerate() {
        check.apply(TOPOLOGY_SPREAD, constraint, None, &path);
        let (key, action) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        let same =
            |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if all.into_iter().flatten().skip(index + 1).any(same) {
            let field = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            check.duplicate(&field, format!("{{{key}, {action}}}"));
        }
        if let (Some(domains), false) = (constraint["minDomains"].as_i64(), action == "DoNotSchedule") {
            let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            check.invalid(&format!("{path}.minDomains"), domains, detail);
        }
        validate_label_keys(check, constraint, &path);
    }
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys`.
fn validate_label_keys(check: &mut Check, term: &Value, path: &str) {
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let mut keys = items(term, list, path).peekable();
        if keys.peek().is_some() && term["labelSelector"].is_null() {
            let detail = "must not be specified when labelSelector is not set";
            check.forbidden(&format!("{path}.{list}"), detail);
            continue;
        }
        for (key, path) in keys {
            let key = key.as_str().unwrap_or_default();
            check.validate_format(&path, key, names::qualified_name_errors);
        }
    }
    let match_keys: Vec<&Value> = array(&term["matchLabelKeys"]).iter().collect();
    let selector = &term["labelSelector"];
    let mut selected: Vec<&str> = fields(&selector["matchLabels"])
        .map(|(key, _)| key.as_str())
        .collect();
    for (expression, _) in items(selector, "matchExpressions", "") {
        let key = text(expression, "key");
        if selected.contains(&key)
            && let Some(index) = match_keys.iter().rposition(|shared_key| *shared_key == key)
        {
            let detail = "exists in both matchLabelKeys and labelSelector";
            check.invalid(&format!("{path}[{index}]"), key, detail);
        }
        selected.push(key);
    }
    let mismatch_keys = term["mismatchLabelKeys"].as_array();
    for (index, key) in match_keys.into_iter().enumerate() {
        if mismatch_keys.is_some_and(|mismatch_keys| mismatch_keys.contains(key)) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            let field = format!("{path}.matchLabelKeys[{index}]");
            check.invalid(&field, key.clone(), detail);
        }
    }
}
