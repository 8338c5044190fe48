//! Identities under test: service accounts with exactly the given permissions.

use super::{Backend, Cluster, ClusterError};
use crate::audit::PermissionUnit;
use crate::eventually::until;
use crate::plane::Identity;
use http::Method;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

impl Cluster {
    /// Creates the service account `name` in the namespace `<name>-system`, and the namespace, unless they exist, and grants exactly these
    /// permissions: a list of [`PermissionUnit`], or what kubewright's `TestOperator::permissions(register)` returns. Its requests are
    /// subject to the [faults](Cluster::faults).
    ///
    /// ```no_run
    /// # use kubewright_testkit::{Cluster, PermissionUnit};
    /// # let cluster = Cluster::embedded().unwrap();
    /// let permissions = [PermissionUnit::new("", "configmaps", ["list", "watch"])];
    /// let operator = cluster.operator("shop", &permissions).unwrap();
    /// // … it runs …
    /// cluster.audit().unwrap().assert_exact(&permissions, operator.user());
    /// ```
    pub fn operator(
        &self,
        name: &str,
        permissions: &(impl Serialize + ?Sized),
    ) -> Result<Identity, ClusterError> {
        let namespace = format!("{name}-system");
        let permissions = PermissionUnit::from_list(permissions, &namespace)
            .map_err(|error| ClusterError::Object(format!("the permissions of {name}: {error}")))?;
        self.create_namespace(&namespace)?;
        let identity = self.service_account(&namespace, name)?;
        let mut scopes: Vec<Option<&str>> = vec![];
        for unit in &permissions {
            let scope = unit.namespace.as_deref();
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        for scope in scopes {
            let in_scope = permissions
                .iter()
                .filter(|unit| unit.namespace.as_deref() == scope);
            let rules: Value = in_scope
                .map(|unit| {
                    let mut rule = json!({ "apiGroups": [unit.group], "resources": [unit.resource], "verbs": unit.verbs });
                    if !unit.names.is_empty() {
                        rule["resourceNames"] = json!(unit.names);
                    }
                    rule
                })
                .collect();
            let role = if scope.is_some() { "Role" } else { "ClusterRole" };
            let metadata = json!({ "name": name, "namespace": scope });
            let subject = json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace });
            self.apply(&json!({ "apiVersion": RBAC, "kind": role, "metadata": metadata, "rules": rules }))?;
            self.apply(&json!({
                "apiVersion": RBAC, "kind": format!("{role}Binding"), "metadata": metadata, "subjects": [subject],
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name },
            }))?;
        }
        lock(&self.granted).insert(identity.user().to_owned(), permissions);
        Ok(identity)
    }

    /// Waits until an [`operator`](Self::operator) has used each of its permissions, and no request of it was forbidden; see
    /// [`AuditLog::check_exact`](crate::AuditLog::check_exact).
    ///
    /// # Panics
    ///
    /// Panics after 30 seconds, with the forbidden requests and the unused permissions; also if `operator` did not make the identity.
    pub async fn assert_exact_permissions(&self, operator: &Identity) {
        let user = operator.user();
        let granted = lock(&self.granted).get(user).cloned();
        let Some(permissions) = granted else {
            panic!("`{user}` was not made by `Cluster::operator`: its permissions are unknown");
        };
        until("every permission is used", async || {
            let audit = self.audit().map_err(|error| error.to_string())?;
            let checked = audit.check_exact(&permissions, user);
            checked.map_err(|error| error.to_string())
        })
        .await;
    }

    /// Creates a service account unless it exists, and a new token for it. It has the permissions that are bound to it. Its requests are
    /// subject to the [faults](Cluster::faults).
    pub fn service_account(&self, namespace: &str, name: &str) -> Result<Identity, ClusterError> {
        match &self.backend {
            Backend::Real { plane, proxy } => {
                let identity = plane.service_account(namespace, name)?;
                proxy.redirected(&identity)
            }
            Backend::Embedded { folder, server, .. } => {
                let metadata = json!({ "name": name, "namespace": namespace });
                self.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }))?;
                let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
                let token_request = json!({ "spec": { "expirationSeconds": 86400 } });
                let response = self.request(Method::POST, &path, "application/json", Some(&token_request))?;
                let token = response["status"]["token"].as_str().unwrap_or_default();
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
