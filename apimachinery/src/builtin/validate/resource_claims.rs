//! Validation of resource claims of pods and containers.

use super::{Check, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// Validates the resource claims of a pod.
pub(super) fn validate_pod_resource_claims(check: &mut Check, spec: &Value, is_mirror: bool, path: &str) {
    let mut seen = BTreeSet::new();
    for (claim, path) in items(spec, "resourceClaims", path) {
        if is_mirror {
            check.push(FieldError::forbidden(
                "[]",
                "static pods do not support resource claims",
            ));
            continue;
        }
        let (name, field) = (text(claim, "name"), format!("{path}.name"));
        if check.require(&claim["name"], &field) {
            if seen.insert(name) {
                check.push_messages(&field, name, &names::label_errors(name));
            } else {
                check.push(FieldError::duplicate(&field, name));
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
            check.push(FieldError::invalid(&path, claim.clone(), detail));
        }
        for source in sources {
            if let Some(name) = claim[source].as_str() {
                check.push_messages(&format!("{path}.{source}"), name, &names::subdomain_errors(name));
            }
        }
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
            check.push(FieldError::required(&path, ""));
            continue;
        }
        if seen.contains(&(name, "")) {
            check.push(FieldError::duplicate(&path, name));
        } else {
            if !request.is_empty() {
                check.push_messages(&format!("{path}.request"), request, &names::label_errors(request));
                if seen.contains(&(name, request)) {
                    check.push(FieldError::duplicate(&path, format!("{name}/{request}")));
                }
            } else if seen.iter().any(|(other, _)| *other == name) {
                check.push(FieldError::duplicate(&path, name));
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
