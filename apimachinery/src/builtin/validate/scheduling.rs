//! Validation of affinity and topology spread constraints.

use super::{Check, fields, items, names, node_selector, text};
use crate::field::FieldError;
use serde_json::Value;

pub(super) fn validate_affinity(check: &mut Check, spec: &Value, path: &str) {
    let path = format!("{path}.affinity");
    validate_node_affinity(
        check,
        &spec["affinity"]["nodeAffinity"],
        &format!("{path}.nodeAffinity"),
    );
    for kind in ["podAffinity", "podAntiAffinity"] {
        validate_pod_affinity(check, &spec["affinity"][kind], &format!("{path}.{kind}"));
    }
}

fn validate_node_affinity(check: &mut Check, affinity: &Value, path: &str) {
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_object() {
        let path = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution");
        node_selector::validate_node_selector(check, required, &path);
    }
    for (term, path) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path) {
        validate_weight(check, term, &path);
        let preference = &term["preference"];
        // kube-apiserver accepts invalid label values in preferences: they only match no node.
        node_selector::validate_node_selector_term(check, preference, false, &format!("{path}.preference"));
    }
}

fn validate_weight(check: &mut Check, term: &Value, path: &str) {
    let weight = term["weight"].as_i64().unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        check.push(FieldError::invalid(&format!("{path}.weight"), weight, detail));
    }
}

/// Validates pod affinity or anti-affinity.
fn validate_pod_affinity(check: &mut Check, affinity: &Value, path: &str) {
    for (term, path) in items(affinity, "requiredDuringSchedulingIgnoredDuringExecution", path) {
        validate_affinity_term(check, term, &path);
    }
    for (weighted, path) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path) {
        validate_weight(check, weighted, &path);
        validate_affinity_term(
            check,
            &weighted["podAffinityTerm"],
            &format!("{path}.podAffinityTerm"),
        );
    }
}

fn validate_affinity_term(check: &mut Check, term: &Value, path: &str) {
    for selector in ["labelSelector", "namespaceSelector"] {
        check.validate_label_selector(&term[selector], &format!("{path}.{selector}"));
    }
    for namespace in term["namespaces"].as_array().into_iter().flatten() {
        let namespace = namespace.as_str().unwrap_or_default();
        // kube-apiserver's path lacks the index.
        check.push_messages(
            &format!("{path}.namespace"),
            namespace,
            &names::label_errors(namespace),
        );
    }
    validate_label_keys(check, term, path);
    let (key, path) = (text(term, "topologyKey"), format!("{path}.topologyKey"));
    if key.is_empty() {
        check.push(FieldError::required(&path, "can not be empty"));
    }
    check.push_messages(&path, key, &names::qualified_name_errors(key));
}

/// Validates topology spread constraints.
pub(super) fn validate_topology_spread(check: &mut Check, spec: &Value, path: &str) {
    let all = spec["topologySpreadConstraints"].as_array();
    for (index, (constraint, path)) in items(spec, "topologySpreadConstraints", path).enumerate() {
        let skew = constraint["maxSkew"].as_i64().unwrap_or(0);
        if skew <= 0 {
            let detail = "must be greater than zero";
            check.push(FieldError::invalid(&format!("{path}.maxSkew"), skew, detail));
        }
        let key = text(constraint, "topologyKey");
        if key.is_empty() {
            check.push(FieldError::required(
                &format!("{path}.topologyKey"),
                "can not be empty",
            ));
        }
        let known = ["DoNotSchedule", "ScheduleAnyway"];
        let action = text(constraint, "whenUnsatisfiable");
        if !known.contains(&action) {
            let field = format!("{path}.whenUnsatisfiable");
            check.push(FieldError::not_supported(&field, action, known));
        }
        let same =
            |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if all.into_iter().flatten().skip(index + 1).any(same) {
            let field = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            check.push(FieldError::duplicate(&field, format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = constraint["minDomains"].as_i64() {
            let field = format!("{path}.minDomains");
            let mut reject = |detail: &str| {
                check.push(FieldError::invalid(&field, domains, detail));
            };
            if domains <= 0 {
                reject("must be greater than zero");
            }
            if action != known[0] {
                reject(&format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                ));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            check.require_supported(constraint, policy, &path, &["Honor", "Ignore"]);
        }
        validate_label_keys(check, constraint, &path);
        check.validate_label_selector(&constraint["labelSelector"], &format!("{path}.labelSelector"));
    }
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys`.
fn validate_label_keys(check: &mut Check, term: &Value, path: &str) {
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let mut keys = items(term, list, path).peekable();
        if keys.peek().is_some() && term["labelSelector"].is_null() {
            let detail = "must not be specified when labelSelector is not set";
            check.push(FieldError::forbidden(&format!("{path}.{list}"), detail));
            continue;
        }
        for (key, path) in keys {
            let key = key.as_str().unwrap_or_default();
            check.push_messages(&path, key, &names::qualified_name_errors(key));
        }
    }
    let match_keys: Vec<&Value> = term["matchLabelKeys"].as_array().into_iter().flatten().collect();
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
            check.push(FieldError::invalid(&format!("{path}[{index}]"), key, detail));
        }
        selected.push(key);
    }
    let mismatch_keys = term["mismatchLabelKeys"].as_array();
    for (index, key) in match_keys.into_iter().enumerate() {
        if mismatch_keys.is_some_and(|mismatch_keys| mismatch_keys.contains(key)) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            let field = format!("{path}.matchLabelKeys[{index}]");
            check.push(FieldError::invalid(&field, key.clone(), detail));
        }
    }
}
