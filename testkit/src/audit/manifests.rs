//! The rights that an operator asks for by its own words: what its command `manifests` prints.

use super::Unit;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Manifests {
    permissions: Vec<Permission>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    place: String,
    #[serde(default)]
    api_groups: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    verbs: Vec<String>,
}

impl Unit {
    /// Reads the JSON that an operator's `manifests` prints: a unit for each resource of each permission. Those that
    /// hold in the operator's own namespace hold in that one, the others in every one.
    pub fn from_manifests(json: &str, operator_namespace: &str) -> Result<Vec<Self>, serde_json::Error> {
        let manifests: Manifests = serde_json::from_str(json)?;
        Ok(units(&manifests.permissions, operator_namespace))
    }

    /// The same of the permissions that a setup records: `Harness::new(register).setup().permissions()`.
    pub fn from_permissions(
        permissions: &impl Serialize,
        operator_namespace: &str,
    ) -> Result<Vec<Self>, serde_json::Error> {
        let permissions: Vec<Permission> = serde_json::from_value(serde_json::to_value(permissions)?)?;
        Ok(units(&permissions, operator_namespace))
    }
}

fn units(permissions: &[Permission], operator_namespace: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    for permission in permissions {
        for group in &permission.api_groups {
            for resource in &permission.resources {
                let unit = Unit::new(group, resource, &permission.verbs);
                units.push(match permission.place.as_str() {
                    "operator" => unit.in_namespace(operator_namespace),
                    "default" => unit.in_namespace("default"),
                    _ => unit,
                });
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_resource_is_a_unit_in_its_place() {
        let manifests = json!({ "crds": [], "permissions": [
            { "unit": "a", "place": "operator", "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"] },
            { "unit": "b", "place": "watched", "apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "watch"] },
            { "unit": "c", "place": "cluster", "nonResourceURLs": ["/metrics"], "verbs": ["get"] },
            { "unit": "d", "place": "default", "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"] },
        ]});
        let units = Unit::from_manifests(&manifests.to_string(), "shop-system").unwrap();
        assert_eq!(
            units,
            [
                Unit::new("coordination.k8s.io", "leases", ["get"]).in_namespace("shop-system"),
                Unit::new("", "pods", ["list", "watch"]),
                Unit::new("", "secrets", ["list", "watch"]),
                Unit::new("events.k8s.io", "events", ["create"]).in_namespace("default"),
            ]
        );
    }

    #[test]
    fn what_is_no_manifests_is_an_error() {
        assert!(Unit::from_manifests(r#"{"permissions": [{"place": "watched"}]}"#, "").is_err());
        assert!(Unit::from_manifests("{}", "").is_err());
    }
}
