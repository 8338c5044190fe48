//! Permissions for parts of ResourceClaims: admin access, the binding to devices and pods, and the status of each driver's devices.

use super::Registry;
use super::write::Write;
use crate::auth::{NODE_NAME_EXTRA, ResourceAttributes, User};
use crate::meta::{array, text};
use crate::status::Cause;
use serde_json::Value;
use std::collections::BTreeSet;

/// The label of namespaces whose claims may have admin access to devices.
const ADMIN_LABEL: &str = "resource.kubernetes.io/admin-access";

impl Registry {
    /// Returns why the user may not write a claim or a template of claims like this.
    pub(super) fn check_claim_access(&self, write: &Write<'_>, new: &Value) -> Vec<Cause> {
        let kind = &write.target.kind;
        if kind.group != "resource.k8s.io" {
            return vec![];
        }
        match (kind.kind.as_str(), write.before(), write.subresource) {
            ("ResourceClaim", None, "") => self.check_admin_requests(write, &new["spec"]),
            ("ResourceClaimTemplate", None, "") => self.check_admin_requests(write, &new["spec"]["spec"]),
            ("ResourceClaim", Some(before), "status") => {
                self.check_status_access(write, &new["status"], &before["status"])
            }
            _ => vec![],
        }
    }

    fn check_admin_requests(&self, write: &Write<'_>, spec: &Value) -> Vec<Cause> {
        let requests = array(&spec["devices"]["requests"]);
        // Old versions have the fields of `exactly` in the request itself.
        let is_admin =
            |request: &Value| request["exactly"]["adminAccess"] == true || request["adminAccess"] == true;
        let at = requests.iter().position(is_admin);
        let cause = at.and_then(|at| {
            self.check_admin_namespace(write, &format!("spec.devices.requests[{at}].adminAccess"))
        });
        cause.into_iter().collect()
    }

    fn check_status_access(&self, write: &Write<'_>, new: &Value, old: &Value) -> Vec<Cause> {
        let admin = |status: &Value| {
            let results = array(&status["allocation"]["devices"]["results"]);
            results.iter().position(|result| result["adminAccess"] == true)
        };
        let mut causes = vec![];
        if let (Some(at), None) = (admin(new), admin(old)) {
            let field = format!("status.allocation.devices.results[{at}].adminAccess");
            causes.extend(self.check_admin_namespace(write, &field));
        }
        let verb = if write.context.options.is_patch {
            "patch"
        } else {
            "update"
        };
        if new["allocation"] != old["allocation"] || new["reservedFor"] != old["reservedFor"] {
            let why = self.denial(write, verb, "binding", ("", ""));
            causes.extend(why.map(|why| {
                let what = "changing status.allocation or status.reservedFor requires";
                let why =
                    format!("{what} resource=\"resourceclaims/binding\", verb=\"{verb}\" permission: {why}");
                Cause::forbidden("status.allocation", why)
            }));
        }
        if new["allocation"].is_null() {
            return causes;
        }
        let mut verbs = vec![format!("arbitrary-node:{verb}")];
        if is_on_node(write.context.user, node_of_allocation(&new["allocation"])) {
            verbs.insert(0, format!("associated-node:{verb}"));
        }
        for driver in modified_drivers(new, old) {
            let scope = (write.target.namespace.as_str(), driver);
            let mut denials = verbs.iter().map(|verb| self.denial(write, verb, "driver", scope));
            let first = denials.next().flatten();
            if let Some(why) = first.filter(|_| denials.all(|denial| denial.is_some())) {
                let why = format!(
                    "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
                    verbs.join(" ")
                );
                causes.push(Cause::forbidden("status.devices", why));
            }
        }
        causes
    }

    fn check_admin_namespace(&self, write: &Write<'_>, field: &str) -> Option<Cause> {
        let namespace = self.store.get("namespaces", &write.target.namespace);
        let labels = namespace.map(|namespace| namespace.value()["metadata"]["labels"].clone());
        if labels.is_some_and(|labels| labels[ADMIN_LABEL] == "true") {
            return None;
        }
        let why = format!(
            "admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        );
        Some(Cause::forbidden(field, why))
    }

    /// Returns why the user lacks a permission for a part of claims.
    fn denial(
        &self,
        write: &Write<'_>,
        verb: &str,
        subresource: &str,
        (namespace, name): (&str, &str),
    ) -> Option<String> {
        let access = ResourceAttributes {
            verb,
            group: &write.target.kind.group,
            resource: &write.target.kind.plural,
            subresource,
            namespace,
            name,
        };
        let required = self.authorizer.require(&self.store, write.context.user, &access);
        required.err().map(|error| error.message)
    }
}

/// Returns the drivers of devices with an added, changed or removed status.
fn modified_drivers<'a>(new: &'a Value, old: &'a Value) -> BTreeSet<&'a str> {
    let modified = |devices: &'a Value, others: &'a Value| {
        array(devices)
            .iter()
            .filter(move |device| !array(others).contains(device))
            .map(|device| text(device, "driver"))
    };
    modified(&new["devices"], &old["devices"])
        .chain(modified(&old["devices"], &new["devices"]))
        .collect()
}

/// Returns the only node on which the devices of an allocation are available, or an empty text.
fn node_of_allocation(allocation: &Value) -> &str {
    let [term] = array(&allocation["nodeSelector"]["nodeSelectorTerms"]) else {
        return "";
    };
    let ([], [field]) = (array(&term["matchExpressions"]), array(&term["matchFields"])) else {
        return "";
    };
    match array(&field["values"]) {
        [node] if field["key"] == "metadata.name" && field["operator"] == "In" => {
            node.as_str().unwrap_or_default()
        }
        _ => "",
    }
}

/// Whether a user is a service account whose token is bound to a pod or node there.
fn is_on_node(user: &User, node: &str) -> bool {
    let nodes = user.extra.get(NODE_NAME_EXTRA).map(Vec::as_slice);
    !node.is_empty()
        && user.name.starts_with("system:serviceaccount:")
        && nodes.is_some_and(|nodes| nodes == [node])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn drivers_with_changed_devices_are_found() {
        let device =
            |driver: &str, name: &str, data: u8| json!({ "driver": driver, "device": name, "data": data });
        let status = |devices: &[Value]| json!({ "devices": devices });
        let old = status(&[device("a", "1", 0), device("b", "1", 0), device("c", "1", 0)]);
        let new = status(&[device("c", "1", 0), device("b", "1", 1), device("d", "1", 0)]);
        let modified: Vec<&str> = modified_drivers(&new, &old).into_iter().collect();
        assert_eq!(modified, ["a", "b", "d"]);
        assert!(modified_drivers(&old, &old).is_empty());
    }

    #[test]
    fn nodes_of_allocations_are_those_that_a_single_term_names() {
        let allocation = |terms: Value| json!({ "nodeSelector": { "nodeSelectorTerms": terms } });
        let term = json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] });
        assert_eq!(node_of_allocation(&allocation(json!([term]))), "n");
        assert_eq!(node_of_allocation(&allocation(json!([term, term]))), "");
        assert_eq!(node_of_allocation(&json!({})), "");
    }
}
