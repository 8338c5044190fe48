//! Validation of resource claims of pods and containers.

use super::{Check, Constraint, FieldRule, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

#[rustfmt::skip]
const SOURCES: &[FieldRule] = &[
    ("resourceClaimName", Constraint::Format(names::subdomain_errors)),
    ("resourceClaimTemplateName", Constraint::Format(names::subdomain_errors)),
];

/// Validates the resource claims of a pod.
pub(super) fn validate_pod_resource_claims(check: &mut Check, spec: &Value, is_mirror: bool, path: &str) {
    let mut seen = BTreeSet::new();
    for (claim, path) in items(spec, "resourceClaims", path) {
        if is_mirror {
            check.forbidden("[]", "static pods do not support resource claims");
            continue;
        }
        let (name, field) = (text(claim, "name"), format!("{path}.name"));
        if check.require(&claim["name"], &field) {
            if seen.insert(name) {
                check.validate_format(&field, name, names::label_errors);
            } else {
                check.duplicate(&field, name);
            }
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let detail = match sources.map(|source| claim[source].is_string()) {
            [true, true] => {
                Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
            }
            [false, false] => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            _ => None,
        };
        if let Some(detail) = detail {
            check.invalid(&path, claim.clone(), detail);
        }
        check.apply(SOURCES, claim, None, &path);
    }
}

/// Validates that a container's claims are among those of the pod, without duplicates.
pub(super) fn validate_container_claims(check: &mut Check, resources: &Value, spec: &Value, path: &str) {
    let claims = items(spec, "resourceClaims", "").map(|(claim, _)| text(claim, "name"));
    let claims: BTreeSet<&str> = claims.filter(|name| !name.is_empty()).collect();
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (claim, path) in items(resources, "claims", path) {
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            check.required(&path, "");
            continue;
        }
        if seen.contains(&(name, "")) {
            check.duplicate(&path, name);
        } else {
            if !request.is_empty() {
                check.validate_format(&format!("{path}.request"), request, names::label_errors);
                if seen.contains(&(name, request)) {
                    check.duplicate(&path, format!("{name}/{request}"));
                }
            } else if seen.iter().any(|(other, _)| *other == name) {
                check.duplicate(&path, name);
            }
            seen.insert((name, request));
        }
        if !claims.contains(name) {
            let known = claims.iter().copied().collect::<Vec<_>>().join(", ");
            let suffix = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {known}")
            };
            let mut error = FieldError::not_found(&path, name);
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{suffix}");
            check.push(error);
        }
    }
}
