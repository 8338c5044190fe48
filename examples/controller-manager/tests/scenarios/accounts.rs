//! The namespace's service account and CA, and the token of an account.

use serde_json::json;

use crate::workloads::{Scenarios, named};

impl Scenarios<'_> {
    pub(crate) fn accounts(&mut self) {
        let mut secret = named("v1", "Secret", "token");
        secret["type"] = json!("kubernetes.io/service-account-token");
        secret["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "default"});
        self.cluster.apply(&secret).unwrap();
        self.wait(&secret, |secret| !secret["data"]["token"].is_null());
        self.record("accounts", "v1", &["ConfigMap", "Secret", "ServiceAccount"]);
    }
}
