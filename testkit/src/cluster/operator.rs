//! Who runs under test: a service account with exactly the rights that it is to have.

use super::{Cluster, ClusterError, Side};
use crate::audit::Unit;
use crate::plane::Identity;
use http::Method;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

impl Cluster {
    /// A service account `name` in the namespace `<name>-system`, both made if need be, that has these rights and no others. Its requests
    /// meet the [faults](Cluster::faults).
    ///
    /// ```no_run
    /// # use kubewright_testkit::{Cluster, Unit};
    /// # let cluster = Cluster::embedded().unwrap();
    /// let rights = [Unit::new("", "configmaps", ["list", "watch"])];
    /// let operator = cluster.operator("shop", &rights).unwrap();
    /// // … it does its work …
    /// cluster.audit().unwrap().assert_exact(&rights, operator.user());
    /// ```
    pub fn operator(&self, name: &str, units: &[Unit]) -> Result<Identity, ClusterError> {
        let namespace = format!("{name}-system");
        self.namespace(&namespace)?;
        let identity = self.service_account(&namespace, name)?;
        let mut places: Vec<Option<&str>> = vec![];
        for unit in units {
            let place = unit.namespace.as_deref();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        for place in places {
            let here = units.iter().filter(|unit| unit.namespace.as_deref() == place);
            let rules: Value = here
                .map(|unit| json!({ "apiGroups": [unit.group], "resources": [unit.resource], "verbs": unit.verbs }))
                .collect();
            let role = if place.is_some() { "Role" } else { "ClusterRole" };
            let metadata = json!({ "name": name, "namespace": place });
            let subject = json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace });
            self.apply(&json!({ "apiVersion": RBAC, "kind": role, "metadata": metadata, "rules": rules }))?;
            self.apply(&json!({
                "apiVersion": RBAC, "kind": format!("{role}Binding"), "metadata": metadata, "subjects": [subject],
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name },
            }))?;
        }
        Ok(identity)
    }

    /// A service account, which is made if it does not exist, with a fresh token; it has the rights that are bound to it. Its requests
    /// meet the [faults](Cluster::faults).
    pub fn service_account(&self, namespace: &str, name: &str) -> Result<Identity, ClusterError> {
        match &self.side {
            Side::Real { plane, front } => {
                let identity = plane.service_account(namespace, name)?;
                front.lead(&identity)
            }
            Side::Embedded { folder, server, .. } => {
                let metadata = json!({ "name": name, "namespace": namespace });
                self.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }))?;
                let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
                let wanted = json!({ "spec": { "expirationSeconds": 86400 } });
                let answer = self.request(Method::POST, &path, "application/json", Some(&wanted))?;
                let token = answer["status"]["token"].as_str().unwrap_or_default();
                let user = format!("system:serviceaccount:{namespace}:{name}");
                let file = folder
                    .kubeconfigs()
                    .join(format!("{namespace}-{name}-{}.json", self.next()));
                let (server, token) = (super::server(server, folder), token.to_owned());
                Ok(Identity::write(&server, user, token, Some(namespace), file)?)
            }
        }
    }
}
