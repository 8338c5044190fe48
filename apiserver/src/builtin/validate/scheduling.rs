//! Where a pod may run, and what it shares with its host.

use super::{Check, items, names, network, security, text};
use crate::field::FieldError;
use serde_json::Value;
use std::net::IpAddr;

pub(super) fn scheduling(check: &mut Check, spec: &Value, path: &str) {
    node_affinity(
        check,
        &spec["affinity"]["nodeAffinity"],
        &format!("{path}.affinity.nodeAffinity"),
    );
    for kind in ["podAffinity", "podAntiAffinity"] {
        pod_affinity(check, &spec["affinity"][kind], &format!("{path}.affinity.{kind}"));
    }
    spread(check, spec, path);
    for (alias, path) in items(spec, "hostAliases", path) {
        let address = text(alias, "ip");
        if address.parse::<IpAddr>().is_err() {
            check.push(FieldError::invalid(
                &format!("{path}.ip"),
                address,
                network::ADDRESS,
            ));
        }
        for (name, path) in items(alias, "hostnames", &path) {
            let name = name.as_str().unwrap_or_default();
            check.messages(&path, name, &names::subdomain(name));
        }
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        let field = format!("{path}.securityContext.shareProcessNamespace");
        check.push(FieldError::invalid(&field, true, detail));
    }
    security::context(
        check,
        &spec["securityContext"],
        &format!("{path}.securityContext"),
    );
}

fn node_affinity(check: &mut Check, affinity: &Value, path: &str) {
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
    let path = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution");
    if !required.is_object() {
        return;
    }
    let has_terms = required["nodeSelectorTerms"]
        .as_array()
        .is_some_and(|terms| !terms.is_empty());
    if !has_terms {
        let detail = "must have at least one node selector term";
        check.push(FieldError::required(&format!("{path}.nodeSelectorTerms"), detail));
    }
    for (term, path) in items(required, "nodeSelectorTerms", &path) {
        for (requirement, path) in items(term, "matchExpressions", &path) {
            requirement_of(check, requirement, &path);
        }
    }
}

/// Near which other pods it may run.
fn pod_affinity(check: &mut Check, affinity: &Value, path: &str) {
    for (term, path) in items(affinity, "requiredDuringSchedulingIgnoredDuringExecution", path) {
        affinity_term(check, term, &path);
    }
    for (weighted, path) in items(affinity, "preferredDuringSchedulingIgnoredDuringExecution", path) {
        let weight = weighted["weight"].as_i64().unwrap_or(0);
        if !(1..=100).contains(&weight) {
            let detail = "must be in the range 1-100";
            check.push(FieldError::invalid(&format!("{path}.weight"), weight, detail));
        }
        affinity_term(
            check,
            &weighted["podAffinityTerm"],
            &format!("{path}.podAffinityTerm"),
        );
    }
}

fn affinity_term(check: &mut Check, term: &Value, path: &str) {
    for selector in ["labelSelector", "namespaceSelector"] {
        check.selector(&term[selector], &format!("{path}.{selector}"));
    }
    for namespace in term["namespaces"].as_array().into_iter().flatten() {
        let namespace = namespace.as_str().unwrap_or_default();
        // Without its index: so the real server says it.
        check.messages(&format!("{path}.namespace"), namespace, &names::label(namespace));
    }
    let (key, path) = (text(term, "topologyKey"), format!("{path}.topologyKey"));
    if key.is_empty() {
        check.push(FieldError::required(&path, "can not be empty"));
    }
    check.messages(&path, key, &names::qualified(key));
}

fn requirement_of(check: &mut Check, requirement: &Value, path: &str) {
    let count = requirement["values"].as_array().map_or(0, Vec::len);
    let field = format!("{path}.values");
    match text(requirement, "operator") {
        "In" | "NotIn" if count == 0 => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            check.push(FieldError::required(&field, detail));
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            check.push(FieldError::forbidden(&field, detail));
        }
        "Gt" | "Lt" if count != 1 => {
            let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            check.push(FieldError::required(&field, detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            let detail = "not a valid selector operator";
            check.push(FieldError::invalid(&format!("{path}.operator"), other, detail));
        }
    }
    let key = text(requirement, "key");
    check.messages(&format!("{path}.key"), key, &names::qualified(key));
}

fn spread(check: &mut Check, spec: &Value, path: &str) {
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
        } else {
            check.messages(&format!("{path}.topologyKey"), key, &names::qualified(key));
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
            let mut refuse = |detail: &str| {
                check.push(FieldError::invalid(&field, domains, detail));
            };
            if domains <= 0 {
                refuse("must be greater than zero");
            }
            if action != known[0] {
                refuse(&format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                ));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            check.one_of(constraint, policy, &path, &["Honor", "Ignore"]);
        }
        match_label_keys(check, constraint, &path);
        check.selector(&constraint["labelSelector"], &format!("{path}.labelSelector"));
    }
}

/// Labels of the pod itself that it is told apart by.
fn match_label_keys(check: &mut Check, constraint: &Value, path: &str) {
    let mut keys = items(constraint, "matchLabelKeys", path).peekable();
    if keys.peek().is_some() && constraint["labelSelector"].is_null() {
        let detail = "must not be specified when labelSelector is not set";
        check.push(FieldError::forbidden(&format!("{path}.matchLabelKeys"), detail));
        return;
    }
    for (key, path) in keys {
        let key = key.as_str().unwrap_or_default();
        check.messages(&path, key, &names::qualified(key));
    }
}
