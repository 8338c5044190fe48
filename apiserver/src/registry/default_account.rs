//! New pods wait for the default account of their namespace, which a controller creates after the namespace.

use super::{Registry, Target};
use crate::admission::{AdmissionPlugin, DEFAULT_ACCOUNT, is_mirror};
use crate::meta;
use serde_json::Value;
use std::time::Duration;

/// The longest wait, about that of kube-apiserver.
const DEFAULT_ACCOUNT_TIMEOUT: Duration = Duration::from_millis(1500);

impl Registry {
    /// Waits until the default account exists, if this is a pod that gets it by admission; at most 1.5 seconds.
    pub(crate) async fn wait_for_default_account(&self, target: &Target, pod: &Value) {
        let is_pod = target.kind.kind == "Pod" && target.kind.group.is_empty();
        let account = meta::text(&pod["spec"], "serviceAccountName");
        if !is_pod
            || !self.admission.contains(&AdmissionPlugin::ServiceAccount)
            || !matches!(account, "" | DEFAULT_ACCOUNT)
            || is_mirror(pod)
            || self.store.get("namespaces", &target.namespace).is_none()
        {
            return;
        }
        let Ok(accounts) = self.resource("", "serviceaccounts") else {
            return;
        };
        let mut changes = self.store.subscribe_table(&accounts.table());
        let account = Target::new(&accounts, &target.namespace, DEFAULT_ACCOUNT);
        let created = async { while self.get(&account).is_err() && changes.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(DEFAULT_ACCOUNT_TIMEOUT, created).await;
    }
}

#[cfg(test)]
#[path = "default_account_tests.rs"]
mod tests;
