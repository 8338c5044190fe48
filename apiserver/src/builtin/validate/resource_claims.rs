//! Claims of resources, which a pod names for its containers.

use super::{Check, items, names, text};
use crate::field::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// What is claimed at a place is among what the pod names, each part once.
pub(super) fn claims(check: &mut Check, resources: &Value, spec: &Value, path: &str) {
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
                check.messages(&format!("{path}.request"), request, &names::label(request));
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
            let which = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {known}")
            };
            let mut error = FieldError::not_found(&path, name);
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{which}");
            check.push(error);
        }
    }
}
