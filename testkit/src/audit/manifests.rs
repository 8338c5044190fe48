//! Permissions declared by an operator: the output of its command `manifests`.

use super::PermissionUnit;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Manifests {
    permissions: Vec<Permission>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    scope: String,
    #[serde(default)]
    api_groups: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
    #[serde(default)]
    why: String,
}

impl PermissionUnit {
    /// Parses the JSON output of an operator's `manifests`: one unit per resource of each permission. Permissions in the operator's own
    /// namespace apply to `operator_namespace`, the others to all namespaces.
    pub fn from_manifests(json: &str, operator_namespace: &str) -> Result<Vec<Self>, serde_json::Error> {
        let manifests: Manifests = serde_json::from_str(json)?;
        Ok(units(&manifests.permissions, operator_namespace))
    }

    /// Like [`PermissionUnit::from_manifests`], from a list: of permissions as in the output of `manifests`, or of units.
    pub(crate) fn from_list(
        permissions: &(impl Serialize + ?Sized),
        operator_namespace: &str,
    ) -> Result<Vec<Self>, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum List {
            Units(Vec<PermissionUnit>),
            Permissions(Vec<Permission>),
        }
        let list = serde_json::from_value(serde_json::to_value(permissions)?)?;
        Ok(match list {
            List::Units(units) => units,
            List::Permissions(permissions) => units(&permissions, operator_namespace),
        })
    }
}

fn units(permissions: &[Permission], operator_namespace: &str) -> Vec<PermissionUnit> {
    let mut units = Vec::new();
    for permission in permissions {
        for group in &permission.api_groups {
            for resource in &permission.resources {
                let mut unit = PermissionUnit::new(group, resource, &permission.verbs)
                    .of_names(&permission.resource_names);
                unit.is_never_requested =
                    permission.why == "owner references" && permission.verbs == ["delete"];
                units.push(match permission.scope.as_str() {
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
    use super::super::AuditLog;
    use super::*;
    use serde_json::json;

    #[test]
    fn list_has_permissions_or_units() {
        let permissions = json!([
            { "unit": "a", "scope": "operator", "apiGroups": [""], "resources": ["pods"], "verbs": ["list"], "why": "informer" },
        ]);
        let units = [PermissionUnit::new("", "pods", ["list"]).in_namespace("shop-system")];
        assert_eq!(
            PermissionUnit::from_list(&permissions, "shop-system").unwrap(),
            units
        );
        assert_eq!(PermissionUnit::from_list(&units, "elsewhere").unwrap(), units);
        assert!(PermissionUnit::from_list("pods", "shop-system").is_err());
    }

    #[test]
    fn delete_for_owner_references_is_never_requested() {
        let permission = |verb: &str, why: &str| json!({"scope": "watched", "apiGroups": [""], "resources": ["pods"], "verbs": [verb], "why": why});
        let permissions = [
            permission("delete", "owner references"),
            permission("update", "owner references"),
            permission("delete", "client"),
        ];
        let units = PermissionUnit::from_list(&permissions, "shop-system").unwrap();
        let flags: Vec<bool> = units.iter().map(|unit| unit.is_never_requested).collect();
        assert_eq!(flags, [true, false, false]);
        // Units keep it when they are written and read.
        assert_eq!(PermissionUnit::from_list(&units, "shop-system").unwrap(), units);
        let unused = AuditLog::parse("").unwrap();
        assert_eq!(unused.unused_units(&units, "op"), [&units[1], &units[2]]);
    }

    #[test]
    fn each_resource_becomes_a_unit_with_its_namespace() {
        let manifests = json!({ "crds": [], "permissions": [
            { "unit": "a", "scope": "operator", "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"] },
            { "unit": "b", "scope": "watched", "apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "watch"] },
            { "unit": "c", "scope": "cluster", "nonResourceURLs": ["/metrics"], "verbs": ["get"] },
            { "unit": "d", "scope": "default", "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"] },
        ]});
        let units = PermissionUnit::from_manifests(&manifests.to_string(), "shop-system").unwrap();
        assert_eq!(
            units,
            [
                PermissionUnit::new("coordination.k8s.io", "leases", ["get"]).in_namespace("shop-system"),
                PermissionUnit::new("", "pods", ["list", "watch"]),
                PermissionUnit::new("", "secrets", ["list", "watch"]),
                PermissionUnit::new("events.k8s.io", "events", ["create"]).in_namespace("default"),
            ]
        );
    }

    #[test]
    fn malformed_manifests_are_an_error() {
        assert!(PermissionUnit::from_manifests(r#"{"permissions": [{"scope": "watched"}]}"#, "").is_err());
        assert!(PermissionUnit::from_manifests("{}", "").is_err());
    }
}
