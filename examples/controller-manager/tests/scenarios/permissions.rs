//! The manager has exactly the permissions that it prints: its own, and those of each controller's service account.

use std::{collections::BTreeMap, process::Command};

use kubewright_controllers::catalog::CONTROLLERS;
use kubewright_testkit::{AuditLog, Cluster, Identity, PermissionUnit};
use serde_json::{Value, json};

use crate::program::PROGRAM;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Component (empty: the manager), verbs and resource.
type PrintedPermission = (&'static str, &'static str, &'static str);

/// Printed permissions that the API server's log does not show, and the proof that they are needed.
const UNUSED: &[(&str, &[PrintedPermission])] = &[(
    "admission asks for it where the owners of a claim change, which the log does not show; without it claims get no owners: \
     `claims_get_no_owners_without_the_permission_to_delete_them` in the tests of kubewright-controllers",
    &[("statefulset-controller", "delete", "persistentvolumeclaims")],
)];

/// The printed permissions. Those of the manager itself have an empty component.
pub(crate) struct Permissions(BTreeMap<String, Vec<PermissionUnit>>);

impl Permissions {
    /// Returns what the program prints with these flags.
    pub(crate) fn printed(flags: &[String]) -> Self {
        let output = Command::new(PROGRAM)
            .args(flags)
            .arg("manifests")
            .output()
            .unwrap();
        let manifests: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut by_component: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for permission in manifests["permissions"].as_array().unwrap() {
            let component = permission["component"].as_str().unwrap_or_default();
            by_component
                .entry(component.to_owned())
                .or_default()
                .push(permission);
        }
        let units = by_component.into_iter().map(|(component, permissions)| {
            let manifests = json!({ "permissions": permissions }).to_string();
            let units = PermissionUnit::from_manifests(&manifests, "kube-system").unwrap();
            (component, units)
        });
        Self(units.collect())
    }

    /// Grants them, and nothing else: upstream's roles of the service accounts get the printed rules. Returns the manager's identity.
    pub(crate) fn grant(&self, cluster: &Cluster) -> Identity {
        for (component, units) in &self.0 {
            let Some(account) = account(component) else {
                continue;
            };
            let rules = units.iter().map(|unit| {
                assert_eq!(unit.namespace, None, "{component}: {unit}");
                let mut rule =
                    json!({"apiGroups": [unit.group], "resources": [unit.resource], "verbs": unit.verbs});
                if !unit.names.is_empty() {
                    rule["resourceNames"] = json!(unit.names);
                }
                rule
            });
            let rules: Vec<_> = rules.collect();
            let role = json!({
                "apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": format!("system:controller:{account}")},
            });
            cluster.merge_patch(&role, &json!({ "rules": rules })).unwrap();
        }
        cluster.operator("controller-manager", &self.0[""]).unwrap()
    }

    /// Checks that no request was forbidden, and that each permission was used, or is listed with the reason why not.
    pub(crate) fn check(&self, cluster: &Cluster, manager: &Identity) {
        let audit = cluster.audit().unwrap();
        let mut problems = Vec::new();
        for (component, units) in &self.0 {
            let user = account(component).map_or(manager.user().to_owned(), |account| {
                format!("system:serviceaccount:kube-system:{account}")
            });
            let requests = audit.by_user(&user);
            let forbidden = requests.forbidden();
            // A client that deletes a namespace cannot notify all controllers before.
            let forbidden = forbidden.filter(|event| !event.message.contains("being terminated"));
            problems.extend(forbidden.iter().map(|event| format!("{component}: {event}")));
            for (verb, resource, is_used) in uses(&audit, units, &user) {
                let permission = (component.as_str(), verb.as_str(), resource.as_str());
                let reason = UNUSED.iter().find(|(_, unused)| unused.contains(&permission));
                match (is_used, reason) {
                    (false, None) => problems.push(format!("{component}: {verb} {resource} is never used")),
                    (true, Some((reason, _))) => {
                        problems.push(format!(
                            "{component}: {verb} {resource} is used: {reason:?} is wrong"
                        ));
                    }
                    _ => {}
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

/// Returns the service account of a component. The token controller acts as the manager.
fn account(component: &str) -> Option<&'static str> {
    let mut controllers = CONTROLLERS.iter();
    controllers
        .find(|controller| controller.name == component)?
        .service_account
}

/// Returns the verb and resource of each unit, and whether the user has used it. A unit of all resources is used by any, with each of its verbs.
fn uses(audit: &AuditLog, units: &[PermissionUnit], user: &str) -> Vec<(String, String, bool)> {
    let requests = audit.by_user(user);
    let mut found = Vec::new();
    for unit in units {
        if unit.resource == "*" {
            found.extend(unit.verbs.iter().map(|verb| {
                let is_used = requests
                    .iter()
                    .any(|event| event.verb == *verb && !event.resource.is_empty());
                (verb.clone(), "*".to_owned(), is_used)
            }));
        } else {
            let is_used = audit.unused_units(std::slice::from_ref(unit), user).is_empty();
            let namespace = unit.namespace.iter().map(|name| format!(" in {name}"));
            let resource = unit.resource.clone() + &namespace.collect::<String>();
            found.push((unit.verbs.join(","), resource, is_used));
        }
    }
    found
}
